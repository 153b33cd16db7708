"""No family may be left out: without it an optimal cost changes, or the check refuses the plan.

Four families are cuts that the others imply: they only make the relaxation tighter. One keeps
columns in line that no plan gains by, and is tested with a reward on them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from burst_cases import three_sizes
from churn_cases import BOLT, replicas
from pool_cases import large_and_small
from random_cases import handover_case, month_case, random_case
from savings_cases import rate, two_thirds
from solving import EXACT, assembled, objective_usd, program_of, same_cost, solution_of
from target_cases import target_case
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads
from two_by_two import two_by_two

from broker.domain.case import Case
from broker.domain.offer import Block, Limits, PriceKind
from broker.verification.check import check
from solver.milp.constraints import CONSTRAINTS
from solver.milp.objective.terms import TermCost
from solver.milp.optimum import optimum_of
from solver.milp.program import Program

FAMILIES = [one.__name__ for one in CONSTRAINTS]
IMPLIED_CUTS = ["fewest_replicas", "run_slots", "steady_whole", "whole_nodes"]
NEVER_GAINED_BY = "run_link"
SEEDS = range(30)
_WEEK_FROM_SUNDAY = {"start": "2026-12-06", "days": 7, "slot": "24 h"}


@pytest.mark.parametrize(
    "family", [name for name in FAMILIES if name not in {*IMPLIED_CUTS, NEVER_GAINED_BY}]
)
def test_a_plan_without_the_family_costs_less_or_is_refused(family: str) -> None:
    assert any(_is_noticed(family, one) for one in _cases(family))


@pytest.mark.parametrize("family", IMPLIED_CUTS)
def test_an_implied_cut_never_changes_the_optimal_cost(family: str) -> None:
    noticed = [seed for seed in SEEDS if _is_noticed(family, random_case(seed))]
    assert noticed == []
    assert not _is_noticed(family, two_by_two())


def test_a_gang_of_an_option_that_is_not_used_stays_down_even_if_that_is_rewarded() -> None:
    box, other = offer("1", name="box"), offer("1", name="other")
    file = workloads(training=[run_entry(8 * 3600, restartable=True)])
    runs = [training(box), training(other)]
    of = case(file, [box, other], training=runs, owned=[(box, 1), (other, 1)])
    assert _refused_with_reward(of, program_of(of)) == set()
    assert "runs" in _refused_with_reward(of, program_of(of, without=NEVER_GAINED_BY))


def _cases(family: str) -> Iterator[Case]:
    if family in BY_HAND:
        yield BY_HAND[family]()
    if family.startswith("handover"):
        yield from (handover_case(seed) for seed in SEEDS)
    yield two_by_two(max_groups=1 if family == "one_kind" else 2)
    yield from (random_case(seed) for seed in SEEDS)


def _is_noticed(family: str, of: Case) -> bool:
    whole, without = program_of(of), program_of(of, without=family)
    solution = solution_of(without)
    usd, least_usd = objective_usd(without, solution), objective_usd(whole, solution_of(whole))
    if usd != least_usd and not same_cost(usd, least_usd):
        return True
    optimum = optimum_of(without, solution, EXACT)
    return bool(check(assembled(of, optimum), of))


def _refused_with_reward(of: Case, program: Program) -> set[str]:
    """Reward each slot of each gang with a cent, and name the rules that the plan breaks."""
    gang_up = program.columns.gang_up
    column = np.arange(gang_up.start, gang_up.start + gang_up.size)
    reward = TermCost("reward", column, -0.01 * gang_up.upper.ravel())
    rewarded = replace(program, terms=(*program.terms, reward))
    optimum = optimum_of(program, solution_of(rewarded), EXACT)
    plan = assembled(of, optimum).model_copy(
        update={"bound_usd": optimum.total_usd, "gap_fraction": 0.0}
    )
    return {one.rule for one in check(plan, of)}


def _idle_weekend() -> Case:
    """Load on weekdays alone, and one replica to keep."""
    box = offer("1")
    curve = {"requests_per_s": {"mean": 1, "peak": 1, "weekend_factor": 0}}
    file = workloads(
        services=[service_entry(1, 1, traffic=curve, min_replicas=1)],
        horizon=_WEEK_FROM_SUNDAY,
        policy={"max_groups": 2},
    )
    return case(file, [box], serving=[serving(box, [1])])


def _free_on_sunday_and_saturday(
    *, restartable: bool, startup_s: float, sharing: str = "converged"
) -> Case:
    """An owned node that serves from Monday to Friday; a run of 40 h takes two days at least.

    In two pieces, on the Sunday and the Saturday, it would cost nothing; in one it takes a day on a
    rented node. With 6 h to start, two pieces in two days do 36 h. Where pools are split, the node
    is the service's at the weekend too.
    """
    box = offer("1")
    curve = {"requests_per_s": {"mean": 1, "peak": 1, "weekend_factor": 0}}
    run = run_entry(
        40 * 3600,
        restartable=restartable,
        window={"earliest": "2026-12-06", "deadline": "2026-12-13"},
    )
    file = workloads(
        services=[service_entry(1, 1, traffic=curve, min_replicas=0)],
        training=[run],
        horizon=_WEEK_FROM_SUNDAY,
        policy={"sharing": sharing},
    )
    return case(
        file,
        [box],
        serving=[serving(box, [1])],
        training=[training(box, startup_s=startup_s)],
        owned=[(box, 1)],
    )


def _no_longer_than_two_days() -> Case:
    """As above in two pieces, were it not for the days between them."""
    of = _free_on_sunday_and_saturday(restartable=True, startup_s=0)
    (run,) = of.workloads.training
    limited = run.model_copy(update={"max_duration": timedelta(days=2)})
    return replace(of, workloads=of.workloads.model_copy(update={"training": (limited,)}))


def _one_node_in_stock() -> Case:
    """Two replicas, one of them on spot; of the cheap machine there is one node in all."""
    limits = {"limits": Limits(stock_nodes=1)}
    firm, spot = offer("2").model_copy(update=limits), offer("1", kind=PriceKind.SPOT)
    other = offer("9", name="other")
    file = workloads(services=[service_entry(2, 2, spot={"max_share": 0.5})])
    return case(
        file,
        [firm, spot.model_copy(update=limits), other],
        serving=[serving(firm, [1]), serving(firm, [1], on_spot=True), serving(other, [1])],
    )


def _no_cash_upfront(**commitments: object) -> Case:
    """A node for a year costs 1 USD an hour and as much upfront, or 4 by the hour."""
    box = offer("4")
    year = offer("1", kind=PriceKind.RESERVED, term_months=12, upfront_usd="8760")
    policy = {"commitments": commitments or {"max_upfront_usd": 8759}}
    file = workloads(services=[service_entry(1, 1)], policy=policy)
    return case(file, [box, year], serving=[serving(box, [1])])


def _too_little_money() -> Case:
    """A day costs 24, and 700 a month are 23.01 a day."""
    box = offer("1")
    file = workloads(services=[service_entry(1, 1)], policy={"budget_usd_per_month": 700})
    return case(file, [box], serving=[serving(box, [1])])


def _too_little_money_for_acme() -> Case:
    """Of two replicas at acme's 1 USD an hour only one is within its budget."""
    boxes = [offer("1", provider="acme"), offer("3", provider="bolt")]
    policy = {"budgets": [{"provider": "acme", "usd_per_hour": 1.5}]}
    file = workloads(services=[service_entry(2, 2)], policy=policy)
    return case(file, boxes, serving=[serving(one, [1]) for one in boxes])


def _two_providers() -> Case:
    """Five replicas, of which one provider may have four: one is rented at the dearer other one."""
    boxes = [offer("1", provider="acme"), offer("3", provider="bolt")]
    availability = {"max_provider_share": 0.7}
    file = workloads(services=[service_entry(5, 5, availability=availability)])
    return case(file, boxes, serving=[serving(one, [1]) for one in boxes])


def _two_zones(*, spare_zone: bool = False) -> Case:
    """Two replicas in two zones: one is rented in the dearer one, or two where one may be lost."""
    here, there = offer("1"), offer("3", name="other")
    place = there.place.model_copy(update={"region": "there"})
    boxes = [here, there.model_copy(update={"place": place})]
    entry = service_entry(
        2, 2, availability={"min_zones": 2, "spare_zone": spare_zone}, min_replicas=2
    )
    file = workloads(services=[entry])
    return case(file, boxes, serving=[serving(one, [1]) for one in boxes])


def _blocks_that_overlap() -> Case:
    """One node at a time is sold for two days, from either day: two overlap on the second day."""
    box = offer("4")
    block = offer("2", kind=PriceKind.CAPACITY_BLOCK).model_copy(
        update={"block": Block(lengths_h=(48,)), "limits": Limits(max_nodes=1)}
    )
    load = {"requests_per_s": {"step": "24 h", "by_size": [[1.0, 2.0, 1.0]]}}
    run = run_entry(24 * 3600, window={"earliest": "2026-12-02", "deadline": "2026-12-04"})
    file = workloads(
        services=[service_entry(1, 1, traffic=load)], training=[run], days=3, slot="24 h"
    )
    return case(file, [box, block], serving=[serving(box, [1])], training=[training(box)])


def _one_node_for_two_tenants() -> Case:
    """One cheap node, which an isolated service and another one would each have."""
    few, other = offer("1", max_nodes=1), offer("9", name="other")
    names = ("chat", "embed")
    file = workloads(
        services=[service_entry(1, 1, name=name) for name in names],
        policy={"isolated": ["chat"]},
    )
    options = [serving(box, [1], service=name) for box in (few, other) for name in names]
    return case(file, [few, other], serving=options)


def _two_providers_of_a_plan() -> Case:
    """Four replicas, of which one provider may have three."""
    boxes = [offer("1", provider="acme"), offer("3", provider="bolt")]
    file = workloads(services=[service_entry(4, 4)], policy={"max_share_per_provider": 0.75})
    return case(file, boxes, serving=[serving(one, [1]) for one in boxes])


def _dear_targets() -> Case:
    """A month of commitments that must be used whole, and that most of the work must be under."""
    return target_case(2)


def _weights_from_far_away() -> Case:
    """Bringing the weights to the cheaper machine costs more than its nodes save in a day."""
    near, far = offer("2", name="near"), offer("1", name="far")
    brought = replace(serving(far, [1]), egress_usd=Decimal(30))
    file = workloads(services=[service_entry(1, 1)], policy={"max_groups": 2})
    return case(file, [near, far], serving=[serving(near, [1]), brought])


BY_HAND: Mapping[str, Callable[[], Case]] = {
    "min_replicas": _idle_weekend,
    "run_start": lambda: _free_on_sunday_and_saturday(restartable=True, startup_s=6 * 3600),
    "run_work": lambda: _free_on_sunday_and_saturday(restartable=True, startup_s=6 * 3600),
    "run_contiguous": lambda: _free_on_sunday_and_saturday(restartable=False, startup_s=0),
    "run_duration": _no_longer_than_two_days,
    "split_pools": lambda: _free_on_sunday_and_saturday(
        restartable=True, startup_s=0, sharing="split"
    ),
    "shared_stock": _one_node_in_stock,
    "provider_share": _two_providers,
    "burst_limit": lambda: three_sizes(burst={}),
    "pools_together": lambda: large_and_small(2),
    "min_zones": _two_zones,
    "zone_loss": lambda: _two_zones(spare_zone=True),
    "block_limit": _blocks_that_overlap,
    "tenant_limit": _one_node_for_two_tenants,
    "plan_share": _two_providers_of_a_plan,
    "savings_nodes": lambda: two_thirds(rate("2")),
    "savings_promise": lambda: two_thirds(rate("2")),
    "savings_steady": lambda: two_thirds(rate("3")),
    **dict.fromkeys(["committed_share", "idle_nodes", "commitment_use"], _dear_targets),
    "peak_replicas": _weights_from_far_away,
    "upfront_cap": _no_cash_upfront,
    "new_commitments": lambda: _no_cash_upfront(max_new_usd_per_hour=1.99),
    "budget": _too_little_money,
    "budgets": _too_little_money_for_acme,
    "month_budgets": lambda: month_case(7),
    "moved_nodes": lambda: replicas(5, {BOLT.key: 5}, usd=49),
}
