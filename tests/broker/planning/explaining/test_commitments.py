from decimal import Decimal

import pytest
from solving import assembled, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.explanation import CommitmentReason
from broker.domain.offer import PriceKind
from broker.planning.explaining.commitments import commitment_reasons

BOX = offer("2", name="box")
YEAR = offer("1.2", name="box", kind=PriceKind.RESERVED, term_months=12)


def steady(*, mean: float = 2, trend: float = 0.0, **service: object) -> Case:
    """Serve so many requests/s all day; a node carries one, and costs 2 $/h or 1.2 $ for a year."""
    file = workloads(
        services=[service_entry(mean, mean, **service)],
        policy={"price_trend_per_year": trend},
    )
    return case(file, [BOX, YEAR], serving=[serving(BOX, [1.0])])


def only(of: Case) -> CommitmentReason:
    (reason,) = commitment_reasons(assembled(of, solved(of)), of)
    return reason


def test_a_commitment_breaks_even_where_its_price_is_that_of_the_rented_hours() -> None:
    """1.2 $ of 2 $ is 60 %: of 8,760 h a node, 5,256."""
    reason = only(steady())
    assert reason.line == YEAR.key
    assert reason.breakeven_utilization_fraction == pytest.approx(0.6)
    assert reason.breakeven_hours == Decimal("5256.0")
    assert reason.planned_utilization_fraction == 1.0


def test_it_loses_money_below_the_load_that_fills_too_few_nodes() -> None:
    """Ten nodes must be used at 60 %, so by six: that takes more than 5 requests/s."""
    reason = only(steady(mean=10, min_replicas=0))
    assert reason.loses_below_load_share == pytest.approx(0.5, abs=1e-6)
    (load,) = reason.loses_below
    assert (load.service, load.mean_requests_per_s) == ("chat", pytest.approx(5.0, abs=1e-4))


def test_its_value_is_what_renting_its_used_hours_would_cost_more() -> None:
    """Two nodes for 8,760 h: 2 · 8,760 · (2 − 1.2) = 14,016 $."""
    reason = only(steady())
    assert reason.value_usd == reason.value_at_todays_prices_usd == Decimal("14016.00")


def test_falling_prices_take_from_its_value_and_raise_the_break_even() -> None:
    """At −25 % a year the mean price of the year is 0.25 / −ln 0.75 = 0.869 of today's."""
    reason = only(steady(trend=-0.25))
    mean = 0.8690149
    assert reason.breakeven_utilization_fraction == pytest.approx(0.6 / mean, rel=1e-6)
    assert reason.value_usd is not None
    assert float(reason.value_usd) == pytest.approx(2 * 8760 * (2 * mean - 1.2), rel=1e-6)
    assert reason.value_at_todays_prices_usd == Decimal("14016.00")


def test_least_replicas_and_spares_may_use_it_at_any_load() -> None:
    reason = only(steady(mean=2, min_replicas=2))
    assert reason.loses_below_load_share is None
    assert reason.loses_below == ()


def test_without_an_on_demand_price_it_must_always_be_used_and_its_worth_is_unknown() -> None:
    of = steady()
    alone = case(of.workloads, [YEAR], serving=of.serving)
    reason = only(alone)
    assert reason.breakeven_utilization_fraction == 1.0
    assert reason.value_usd is None


def test_hours_of_a_run_count_as_use_inside_the_horizon() -> None:
    """Of a month of 730 h a run uses two days, and nothing else uses any."""
    month = offer("0.1", name="box", kind=PriceKind.RESERVED, term_months=1)
    file = workloads(
        training=[
            run_entry(48 * 3600, window={"earliest": "2026-12-01", "deadline": "2026-12-29"})
        ],
        days=31,
        slot="24 h",
    )
    reason = only(case(file, [BOX, month], training=[training(BOX)]))
    assert reason.planned_utilization_fraction == pytest.approx(48 / 730)
    assert reason.loses_below_load_share is None
