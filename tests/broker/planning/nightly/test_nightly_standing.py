"""Whether the plan in force can go on tonight: every way in which it cannot, and none too many."""

from dataclasses import replace

import pytest
from changed_cases import with_workloads
from pool_cases import large_and_small
from solving import assembled, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import Limits, Offer, PriceKind
from broker.domain.plan import Plan
from broker.domain.workload import Workloads
from broker.planning.nightly.standing import why_not_on
from broker.planning.nightly.window import window_from

BOX = offer("4.00", max_nodes=9)
LINE = BOX.key


def demand(mean: float = 2, peak: float = 3.7, **more: object) -> Workloads:
    """Ask for 2 requests/s on average, 3.7 at noon."""
    return workloads(services=[service_entry(mean, peak)], **more)


def tonight(of: Workloads, *offers: Offer, rate: float = 1.0) -> Case:
    """Let a replica on the box answer so many requests/s; five nodes carry five."""
    return case(of, offers or [BOX], serving=[serving(BOX, [rate])])


@pytest.fixture(scope="module")
def in_force() -> Plan:
    given = tonight(demand())
    return assembled(given, solved(given))


def reasons(plan: Plan, given: Case, *known: Offer, bought: str = "") -> tuple[str, ...]:
    return why_not_on(
        plan,
        given,
        window_from(plan.workloads.horizon.start, given.workloads.horizon),
        known=frozenset(one.key for one in (*given.offers, *known)),
        bought=frozenset({bought} - {""}),
    )


def test_with_the_same_demand_and_offers_it_goes_on(in_force: Plan) -> None:
    assert reasons(in_force, tonight(demand())) == ()


def test_another_price_does_not_stop_it(in_force: Plan) -> None:
    dear = BOX.model_copy(update={"usd_per_hour": offer("400").usd_per_hour})
    assert reasons(in_force, tonight(demand(), dear)) == ()


def test_a_price_that_breaks_the_budget_stops_it(in_force: Plan) -> None:
    dear = BOX.model_copy(update={"usd_per_hour": offer("400").usd_per_hour})
    poor = demand(policy={"budget_usd_per_month": 20_000})
    assert reasons(in_force, tonight(poor)) == ()
    (why,) = reasons(in_force, tonight(poor, dear))
    assert why.startswith("budget")


def test_a_commitment_that_was_bought_keeps_its_price_in_the_budget() -> None:
    box = offer("4.00", kind=PriceKind.RESERVED, term_months=12)
    dear = box.model_copy(update={"usd_per_hour": offer("400").usd_per_hour})
    poor = demand(policy={"budget_usd_per_month": 20_000, "commitments": {"max_term_months": 12}})
    rented = BOX.model_copy(update={"usd_per_hour": offer("9").usd_per_hour})
    given = tonight(poor, box, rented)
    plan = assembled(given, solved(given))
    (why,) = reasons(plan, tonight(poor, dear, rented))
    assert why.startswith("budget")
    assert reasons(plan, tonight(poor, dear, rented), bought=box.key) == ()


@pytest.mark.parametrize(
    ("budget", "rule"),
    [({"usd": 1}, "budgets"), ({"usd_per_calendar_month": 1}, "month budgets")],
    ids=["horizon", "month"],
)
def test_a_budget_of_a_part_stops_it(in_force: Plan, budget: dict[str, object], rule: str) -> None:
    poor = demand(policy={"budgets": [budget]})
    (why,) = reasons(in_force, tonight(poor))
    assert why.startswith(rule)


def test_replicas_that_have_to_stay_up_longer_stop_it(in_force: Plan) -> None:
    steady = workloads(services=[service_entry(2, 3.7, min_up_time="24 h")])
    assert any(why.startswith("min up time") for why in reasons(in_force, tonight(steady)))


def test_an_offer_that_is_gone_stops_it_and_one_that_is_held_back_too(in_force: Plan) -> None:
    elsewhere = offer("9", name="other")
    given = tonight(demand(), elsewhere)
    assert reasons(in_force, given) == (f"{LINE} is not offered any more",)
    (held,) = reasons(in_force, given, BOX)
    assert held == f"{LINE} cannot be planned with: held back, too old, or not allowed"


def test_what_is_bought_needs_no_offer_and_no_stock_any_more(in_force: Plan) -> None:
    sold_out = BOX.model_copy(update={"limits": Limits(stock_nodes=0)})
    assert reasons(in_force, tonight(demand(), sold_out)) != ()
    assert reasons(in_force, tonight(demand(), sold_out), bought=LINE) == ()


def test_less_load_goes_on_and_more_goes_on_as_far_as_replicas_carry_it(in_force: Plan) -> None:
    assert reasons(in_force, tonight(demand(1, 2))) == ()
    full = tonight(demand())
    replicas = [step.replicas for one in in_force.serving for step in one.steps]
    loads = [sum(step.requests_per_s) for one in in_force.serving for step in one.steps]
    room = min(count / load for count, load in zip(replicas, loads, strict=True))
    assert room > 1
    within = demand(2 * room * 0.999, 3.7 * room * 0.999)
    assert reasons(in_force, replace(full, workloads=within)) == ()
    (why,) = reasons(in_force, replace(full, workloads=demand(2 * room * 1.01, 3.7 * room * 1.01)))
    assert why.startswith("replica rate of chat")


def test_a_rate_that_is_estimated_anew_matters_if_it_no_longer_carries_the_load(
    in_force: Plan,
) -> None:
    assert reasons(in_force, tonight(demand(), rate=1.1)) == ()
    (why,) = reasons(in_force, tonight(demand(), rate=0.5))
    assert "replicas are busy" in why


def test_a_new_workload_stops_it_and_one_that_is_gone_does_not(in_force: Plan) -> None:
    tune = workloads(services=[service_entry(2, 3.7)], training=[run_entry(1000)])
    (why,) = reasons(in_force, tonight(tune))
    assert why == "runs of tune: has 0 assignments; 1 is right"
    both = case(
        tune, [BOX], serving=[serving(BOX, [1.0])], training=[training(BOX, tokens_per_s=1)]
    )
    plan = assembled(both, solved(both))
    assert reasons(plan, tonight(demand())) == ()


def test_a_horizon_that_goes_on_after_it_stops_it(in_force: Plan) -> None:
    (why,) = reasons(in_force, tonight(demand(days=2)))
    assert why == "it is for 2026-12-01 to 2026-12-02, the workloads file for longer"


def test_a_rule_that_was_made_stricter_stops_it(in_force: Plan) -> None:
    given = tonight(demand(policy={"providers": {"deny": ["acme"]}}))
    (why, *_) = reasons(in_force, given)
    assert why.startswith("places")


def test_a_commitment_that_was_bought_carries_on_when_nobody_sells_it_any_more() -> None:
    reserved = offer("1.00", kind=PriceKind.RESERVED, term_months=1)
    given = case(demand(), [BOX, reserved], serving=[serving(BOX, [1.0])])
    plan = assembled(given, solved(given))
    (line,) = [one.id for one in plan.purchases if one.offer == reserved.key]
    left = tonight(demand())
    assert reasons(plan, left) == (f"{reserved.key} is not offered any more",)
    assert reasons(plan, left, bought=line) == ()


def test_pools_go_on_as_far_as_the_lesser_of_them_carries_the_load() -> None:
    """One replica reads 4 requests/s and two write 2 each; the day asks for 4 all along."""
    given = large_and_small(2)
    in_force = assembled(given, solved(given))

    def asked(mean: float) -> Case:
        more = {"services.0.traffic.requests_per_s.mean": mean}
        return with_workloads(given, more | {"services.0.traffic.requests_per_s.peak": mean})

    def told(of: Case) -> tuple[str, ...]:
        window = window_from(in_force.workloads.horizon.start, of.workloads.horizon)
        known = frozenset(one.key for one in of.offers)
        return why_not_on(in_force, of, window, known=known, bought=frozenset())

    assert told(given) == ()
    assert told(asked(3.5)) == ()
    assert told(asked(4.5)) != ()
