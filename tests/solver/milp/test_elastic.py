from collections.abc import Sequence

import pytest
from solving import EXACT, solved
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import Status
from solver.milp.elastic import Raisable, least_raise

BOX = offer("2", name="box")
OTHER = offer("1", name="other", provider="zeta")


def five_nodes(quotas: Sequence[dict[str, object]] = (), **policy: object) -> Case:
    """Serve 5 requests/s all day on nodes that carry one each: 5 · 24 h · 2 $ = 240 $ a day."""
    file = workloads(services=[service_entry(5, 5)], quotas=list(quotas), policy=policy)
    return case(file, [BOX], serving=[serving(BOX, [1.0])])


def test_a_quota_is_raised_by_the_gpus_that_are_missing() -> None:
    of = five_nodes([{"provider": "acme", "gpus": 2}])
    assert solved(of).status is Status.INFEASIBLE
    raised = least_raise(of, Raisable(quotas=(0,)), EXACT)
    assert raised is not None
    assert (raised.quota_gpus, raised.is_least) == ({0: 3}, True)


def test_a_budget_is_raised_to_the_cheapest_plan() -> None:
    """240 $ a day are 7,300 $ in a month of 730 h."""
    raised = least_raise(five_nodes(budget_usd_per_month=1000), Raisable(budget=True), EXACT)
    assert raised is not None
    assert raised.budget_usd_per_month == pytest.approx(6300)


def test_the_cap_on_cash_is_raised_where_only_a_commitment_is_on_sale() -> None:
    committed = offer("1", name="box", kind=PriceKind.RESERVED, term_months=1, upfront_usd="100")
    file = workloads(
        services=[service_entry(5, 5)],
        policy={"commitments": {"max_upfront_usd": 150}},
        slot="24 h",
        days=28,
    )
    of = case(file, [committed], serving=[serving(committed, [1.0])])
    raised = least_raise(of, Raisable(upfront=True), EXACT)
    assert raised is not None
    assert raised.upfront_usd == pytest.approx(350)


def test_budgets_are_raised_in_the_unit_that_they_are_written_in() -> None:
    """Five nodes cost 10 $ an hour, 240 $ a day, 7,300 $ a month; each is 2.5 times too much."""
    of_horizon = (("usd", 96), ("usd_per_calendar_month", 96), ("usd_per_month", 2920))
    for key, usd in (("usd_per_hour", 4), *of_horizon):
        of = five_nodes(budgets=[{key: usd}])
        assert solved(of).status is Status.INFEASIBLE
        raised = least_raise(of, Raisable(budgets=(0,)), EXACT)
        assert raised is not None
        assert raised.budgets_usd == {0: pytest.approx(1.5 * usd)}


def test_rules_that_clash_are_raised_together() -> None:
    of = five_nodes([{"provider": "acme", "gpus": 2}], budget_usd_per_month=1000)
    assert least_raise(of, Raisable(quotas=(0,)), EXACT) is None
    assert least_raise(of, Raisable(budget=True), EXACT) is None
    raised = least_raise(of, Raisable(quotas=(0,), budget=True), EXACT)
    assert raised is not None
    assert raised.quota_gpus == {0: 3}
    assert raised.budget_usd_per_month == pytest.approx(6300)


def test_of_two_quotas_the_one_is_raised_that_grows_by_the_smaller_part() -> None:
    """Three GPUs more are three quarters of a quota of 4, and a whole lot more than one of 0."""
    file = workloads(
        services=[service_entry(7, 7)],
        quotas=[{"provider": "acme", "gpus": 0}, {"provider": "zeta", "gpus": 4}],
    )
    of = case(file, [BOX, OTHER], serving=[serving(BOX, [1.0]), serving(OTHER, [1.0])])
    raised = least_raise(of, Raisable(quotas=(0, 1)), EXACT)
    assert raised is not None
    assert raised.quota_gpus == {0: 0, 1: 3}


def test_a_plan_that_exists_needs_nothing() -> None:
    raised = least_raise(
        five_nodes([{"provider": "acme", "gpus": 5}]), Raisable(quotas=(0,)), EXACT
    )
    assert raised is not None
    assert raised.quota_gpus == {0: 0}
