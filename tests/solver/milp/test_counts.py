"""How many replicas, and how many slots: exact fits take no more, the smallest load takes one."""

import pytest
from solving import EXACT, assembled, program_of, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.verification.check import check
from solver.milp.optimize import optimize

KINDS = pytest.mark.parametrize("max_groups", [1, 2])


@KINDS
@pytest.mark.parametrize("replicas", [1, 2, 3, 5, 7, 40])
def test_a_load_that_fills_whole_replicas_takes_no_other(replicas: int, max_groups: int) -> None:
    # One box is 24 a day.
    of = _served(4.0 * replicas, rate=4.0, max_groups=max_groups)
    assert solved(of).total_usd == 24 * replicas
    assert _rules_broken(of) == set()


@KINDS
@pytest.mark.parametrize("replicas", [1, 3, 40])
def test_a_load_that_is_a_little_larger_takes_one_more(replicas: int, max_groups: int) -> None:
    of = _served(4.0 * replicas * (1 + 1e-4), rate=4.0, max_groups=max_groups)
    assert solved(of).total_usd == 24 * (replicas + 1)
    assert _rules_broken(of) == set()


@KINDS
def test_loads_that_are_noisy_in_the_last_digit_fill_whole_replicas(max_groups: int) -> None:
    # 0.1 × 3 is 0.30000000000000004.
    of = _served(0.1 * 3, rate=0.1, max_groups=max_groups)
    assert solved(of).total_usd == 24 * 3
    assert _rules_broken(of) == set()


@KINDS
@pytest.mark.parametrize("rate", [0.01, 50.0, 2000.0])
@pytest.mark.parametrize("max_share", [0.0, 0.3])
def test_the_smallest_load_takes_a_firm_replica(
    max_groups: int, rate: float, max_share: float
) -> None:
    # At night a ten thousandth of the peak is left, and that is a part of a replica.
    peak = rate * 0.002
    of = _served(peak / 5, peak, rate=rate, max_groups=max_groups, max_share=max_share)
    for optimum in (solved(of), optimize(of, EXACT)):
        assert optimum.total_usd == 24
        assert check(assembled(of, optimum), of) == ()


@pytest.mark.parametrize("max_share", [0.0, 0.3])
def test_small_loads_of_large_services_keep_their_share_of_firm_replicas(max_share: float) -> None:
    of = _served(20.0, 400.0, rate=1.0, max_groups=2, max_share=max_share)
    assert _rules_broken(of) == set()


@pytest.mark.parametrize(
    ("hours", "slots"), [(8, 1), (16, 2), (24, 3), (16.001, 3), (0.001, 1)], ids=str
)
def test_a_run_takes_the_slots_that_it_fills(hours: float, slots: int) -> None:
    box = offer("1")
    file = workloads(training=[run_entry(hours * 3600)])
    of = case(file, [box], training=[training(box)])
    assert solved(of).total_usd == 8 * slots
    assert _rules_broken(of) == set()


def test_a_start_that_takes_a_slot_leaves_the_others_to_the_work() -> None:
    box = offer("1")
    file = workloads(training=[run_entry(16 * 3600, restartable=True)])
    of = case(file, [box], training=[training(box, startup_s=8 * 3600)])
    assert solved(of).total_usd == 24
    assert _rules_broken(of) == set()


def test_periods_of_equal_data_are_planned_alike() -> None:
    # Load from Tuesday to Friday, and none at the weekend: two periods of all 14 slots.
    curve = {"requests_per_s": {"mean": 1, "peak": 1, "weekend_factor": 0.5}}
    file = workloads(services=[service_entry(1, 1, traffic=curve)], slot="12 h", days=7)
    box = offer("1")
    periods = program_of(case(file, [box], serving=[serving(box, [1])])).sets.periods
    assert [len(one.slots) for one in periods] == [10, 4]


def _served(
    mean: float,
    peak: float | None = None,
    *,
    rate: float,
    max_groups: int,
    max_share: float = 0.0,
) -> Case:
    box = offer("1")
    spot = offer("0.5", kind=PriceKind.SPOT)
    file = workloads(
        services=[service_entry(mean, peak or mean, min_replicas=0, spot={"max_share": max_share})],
        policy={"max_groups": max_groups},
        slot="2 h",
    )
    options = [serving(box, [rate])]
    if max_share:
        options.append(serving(box, [rate], on_spot=True))
    return case(file, [box, spot], serving=options)


def _rules_broken(of: Case) -> set[str]:
    plans = [assembled(of, optimum) for optimum in (solved(of), optimize(of, EXACT))]
    return {one.rule for plan in plans for one in check(plan, of)}
