"""The cheapest plan that uses one offer, whether that pays or not.

*Use* is at least one node in one period that the work needs: a node that stands idle beside nodes
that are there anyway is none. A commitment is used where one node of it is bought.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Status
from broker.domain.policy import Sharing
from solver.milp.optimum import Optimum, over_scenarios, proven
from solver.milp.program import Program, build_program
from solver.milp.prune import Pruned, prune_alike
from solver.milp.rows import Entries, Key, Rows, entries, rows_of
from solver.milp.scenarios.used import Use, used_somewhere
from solver.milp.search import search
from solver.milp.sets import Committed, Sets
from solver.milp.solve import Limits
from solver.milp.tenants import keys_of, prepared
from solver.milp.variables import Block, Columns, Ints, replicas_at

FAMILY = "forced_use"
_COUNTED = frozenset({("worked",), ("needed",), ("bought",), ("covered",)})
"""Rows that ask for a use; the others say when a node is needed."""


@dataclass(frozen=True, slots=True)
class ForcedColumns(Columns):
    """All blocks, and needed_at[i,t]: whether the work needs a rented node in period t.

    i is 0 where nodes are shared; where they are split, 0 is for services and 1 for runs.
    """

    needed_at: Block

    def blocks(self) -> tuple[Block, ...]:
        """List the blocks in column order."""
        return (*Columns.blocks(self), self.needed_at)


def forced_optimum(case: Case, key: str, limits: Limits) -> Optimum:
    """Plan a case so that the offer with this key is used; infeasible where no plan can use it."""
    case = prepared(case)
    keys = {offer.key for offer in case.offers}
    found = [_forced(case, one, limits) for one in keys_of(case, key) if one in keys]
    return _cheapest(found, limits)


def _forced(case: Case, key: str, limits: Limits) -> Optimum:
    robust = case.workloads.policy.robust
    if robust is not None:
        use = Use(partial(cases_for, key=key), partial(_with_use, key=key), FAMILY, _COUNTED)
        return over_scenarios(used_somewhere(case, robust, limits, use), limits)
    (kept,) = cases_for([case], key)
    keep = machine_of(case, key)
    return search(kept.case, lambda some: forced_program(some, key), limits, keep=keep)


def _cheapest(found: Sequence[Optimum], limits: Limits) -> Optimum:
    """Take the best plan, whoever the offer is bought for; each way has its own bound."""
    if len(found) == 1:
        return found[0]
    open_ones = [one for one in found if one.status is not Status.INFEASIBLE or one.gap_fraction]
    if not open_ones:
        return found[0]
    plans = [one for one in open_ones if one.status is not Status.INFEASIBLE]
    bound = min(one.bound_usd for one in open_ones)
    if not plans:
        return replace(open_ones[0], bound_usd=bound)
    return proven(min(plans, key=lambda one: one.objective_usd), bound, limits)


def cases_for(cases: Sequence[Case], key: str) -> tuple[Pruned, ...]:
    """Prune the other machines among themselves and keep all of the one that is to be used.

    So it is in each of several cases that differ in loads and prices.

    That is exact: what pruning moves from one machine to another leaves this one's work alone.
    With this machine among those that others may move to, work that is moved there could make its
    replicas idle, which no plan may have.
    """
    machine = machine_of(cases[0], key)
    others = [
        replace(
            case,
            offers=tuple(one for one in case.offers if one.machine != machine),
            serving=tuple(one for one in case.serving if one.machine != machine),
            training=tuple(one for one in case.training if one.machine != machine),
        )
        for case in cases
    ]
    pairs = zip(prune_alike(others), cases, strict=True)
    return tuple(replace(one, case=_with_machine(one.case, whole, key)) for one, whole in pairs)


def machine_of(case: Case, key: str) -> str:
    """Name the machine of an offer of the case."""
    return next(offer.machine for offer in case.offers if offer.key == key)


def forced_program(sets: Sets, key: str) -> Program | None:
    """Build the program with the rows that force the offer's use; None where nothing can use it."""
    offer = next(one for one in sets.case.offers if one.key == key)
    number = next((at for at, one in enumerate(sets.machines) if one.key == offer.machine), None)
    if number is None:
        return None
    program = build_program(sets)
    columns = _columns(sets, program.columns, sides=_sides(sets, offer, number))
    return replace(
        program,
        columns=columns,
        families=(*program.families, forced_use(sets, columns, offer, number)),
    )


def _with_use(sets: Sets, key: str) -> Program:
    """Build a scenario's program with those rows; one without the machine has none."""
    return forced_program(sets, key) or build_program(sets)


def forced_use(sets: Sets, columns: ForcedColumns, offer: Offer, machine: int) -> Rows:
    """Ask for at least one node of an offer that the work needs.

        committed  Σ committed_nodes[p] ≥ 1, over the windows of a capacity block
        promised   Σ_t covered_nodes[r,t] ≥ 1, of the rate r of a savings plan
        spot       Σ_{g,t} replicas[g,t] + Σ_{a,t} gang_up[a,t] ≥ 1, over spot groups and options
        rented     the same over firm ones, and where nodes of the machine may be fixed, too:
                   Σ_{i,t} needed_at[i,t] ≥ 1 and, in nodes, for each i and t
                   fixed[i,t] + least[i] ≤ work[i,t] + most · (1 − needed_at[i,t])

    Fixed are owned and committed nodes; under `sharing: split` those for services (without
    run_nodes) and those for runs (run_nodes). Services need one more from 1/G of a node on, runs
    from a whole one. `most` bounds what can be fixed in a plan that is not needlessly dear.
    """
    if offer.price_kind is PriceKind.SAVINGS_PLAN:
        rate = [at for at, one in enumerate(sets.plan_rates) if one.offer.key == offer.key]
        periods = np.arange(len(sets.periods))[None, :]
        covered = columns.covered_nodes.at(np.array(rate, dtype=np.int64)[:, None], periods)
        return rows_of(FAMILY, [("covered",)], [entries(0, covered.ravel(), 1.0)], lower=1.0)
    if _is_committed(offer):
        windows = [at for at, one in enumerate(sets.committed) if one.offer.key == offer.key]
        part = entries(0, columns.committed_nodes.at(np.array(windows, dtype=np.int64)), 1.0)
        return rows_of(FAMILY, [("bought",)], [part], lower=1.0)
    on_spot = offer.price_kind is PriceKind.SPOT
    keys: list[Key] = [("worked",)]
    parts = [entries(0, column, 1.0) for column in _work(sets, columns, machine, on_spot=on_spot)]
    lower, upper = [1.0], [np.inf]
    if columns.needed_at.size:
        keys.append(("needed",))
        parts.append(entries(1, np.arange(columns.needed_at.size) + columns.needed_at.start, 1.0))
        lower.append(1.0)
        upper.append(np.inf)
        more = _needed(sets, columns, machine)
        keys.extend(key for key, _, _ in more)
        for row, (_, own, _) in enumerate(more, start=2):
            parts.extend(replace(one, row=np.full_like(one.row, row)) for one in own)
        lower.extend([-np.inf] * len(more))
        upper.extend(bound for _, _, bound in more)
    return rows_of(FAMILY, keys, parts, lower=np.array(lower), upper=np.array(upper))


def _with_machine(case: Case, whole: Case, key: str) -> Case:
    """Put back all offers and options of the machine that the whole case has."""
    machine = machine_of(whole, key)
    offers = {one.key: one for one in (*case.offers, *whole.offers)}
    kept = {one.key for one in case.offers}
    return replace(
        case,
        offers=tuple(
            offers[name] for name in sorted(offers) if name in kept or _is_on(offers[name], machine)
        ),
        serving=(
            *(one for one in case.serving if one.machine != machine),
            *(one for one in whole.serving if one.machine == machine),
        ),
        training=(
            *(one for one in case.training if one.machine != machine),
            *(one for one in whole.training if one.machine == machine),
        ),
    )


def _is_on(offer: Offer, machine: str) -> bool:
    return offer.machine == machine


def _is_committed(offer: Offer) -> bool:
    return offer.commitment is not None or offer.block is not None


def _sides(sets: Sets, offer: Offer, machine: int) -> int:
    """Count the kinds of work whose need must be told from what fixed nodes carry anyway."""
    is_rented = not _is_committed(offer) and offer.price_kind is not PriceKind.SPOT
    has_fixed = any(sets.machines[machine].owned) or any(
        one.machine == machine for one in sets.committed
    )
    if not (is_rented and has_fixed):
        return 0
    return 2 if sets.case.workloads.policy.sharing is Sharing.SPLIT else 1


def _columns(sets: Sets, columns: Columns, *, sides: int) -> ForcedColumns:
    upper = np.ones((sides, len(sets.periods)))
    block = Block("needed_at", columns.size, np.zeros_like(upper), upper, integer=True)
    parts = {name: getattr(columns, name) for name in Columns.__slots__}
    return ForcedColumns(**parts, needed_at=block)


def _work(sets: Sets, columns: Columns, machine: int, *, on_spot: bool) -> list[Ints]:
    replicas = [
        columns.replicas.at(at, np.arange(sets.kinds[group.kind].blocks))
        for at, group in enumerate(sets.groups)
        if group.machine == machine and group.on_spot is on_spot
    ]
    gangs = [
        columns.gang_up.at(at, np.array(option.window))
        for at, option in enumerate(sets.run_options)
        if option.machine == machine and option.option.candidate.on_spot is on_spot
    ]
    return [*replicas, *gangs]


def _needed(
    sets: Sets, columns: ForcedColumns, machine: int
) -> list[tuple[Key, list[Entries], float]]:
    """Write the row of each side and period: its key, entries and upper bound."""
    sides, periods = columns.needed_at.upper.shape
    owned = sets.machines[machine].owned
    most = _most_fixed(sets, machine)
    part = sets.least_gpus(machine) / sets.machines[machine].gpus
    found: list[tuple[Key, list[Entries], float]] = []
    for side in range(sides):
        for period in range(periods):
            parts = [
                *_fixed(sets, columns, machine, (side, period)),
                *_filled(sets, columns, machine, (side, period)),
                entries(0, columns.needed_at.at(np.array([side]), np.array([period])), most),
            ]
            is_for_runs = side == 1
            least = 1.0 if is_for_runs else part
            fixed = 0 if is_for_runs else owned[period]
            found.append(((side, period), parts, most - least - fixed))
    return found


def _fixed(sets: Sets, columns: ForcedColumns, machine: int, at: tuple[int, int]) -> list[Entries]:
    side, period = at
    is_split = columns.needed_at.upper.shape[0] > 1
    run_nodes = [entries(0, columns.run_nodes.at(np.array([machine])), 1.0 if side else -1.0)]
    committed = [
        entries(0, columns.committed_nodes.at(np.array([number])), 1.0)
        for number, one in enumerate(sets.committed)
        if one.machine == machine and one.active[period] and _is_for(one, side)
    ]
    if side:
        return [*run_nodes, *committed]
    return [*committed, *(run_nodes if is_split else [])]


def _is_for(one: Committed, side: int) -> bool:
    """Say whether nodes count for a side: a block for runs for 1, all else for 0."""
    is_for_runs = one.block is not None and one.block.for_runs is True
    return is_for_runs == bool(side)


def _filled(sets: Sets, columns: ForcedColumns, machine: int, at: tuple[int, int]) -> list[Entries]:
    side, period = at
    is_split = columns.needed_at.upper.shape[0] > 1
    gpus = sets.machines[machine].gpus
    serving = []
    for number, group in enumerate(sets.groups):
        if group.machine == machine and not group.on_spot:
            _, column, up = replicas_at(sets, columns, number, np.array([period]))
            serving.append(entries(0, column, -group.gpus / gpus * up))
    gangs = [
        entries(0, columns.gang_up.at(np.array([number]), np.array([period])), -float(option.nodes))
        for number, option in enumerate(sets.run_options)
        if option.machine == machine
        and not option.option.candidate.on_spot
        and period in option.window
    ]
    if not is_split:
        return [*serving, *gangs]
    return gangs if side else serving


def _most_fixed(sets: Sets, machine: int) -> float:
    """Bound the fixed nodes: what is owned, and commitments for all that could ever run here."""
    largest: dict[int, float] = {}
    for group in sets.groups:
        if group.machine == machine and not group.on_spot:
            nodes = max(sets.kinds[group.kind].replicas_alone) * group.gpus
            largest[group.demand] = max(largest.get(group.demand, 0.0), nodes)
    gangs: dict[int, int] = {}
    for option in sets.run_options:
        if option.machine == machine:
            gangs[option.run] = max(gangs.get(option.run, 0), option.nodes)
    served = np.ceil(sum(largest.values()) / sets.machines[machine].gpus)
    return float(served) + sum(gangs.values()) + max(sets.machines[machine].owned, default=0) + 1.0


def is_used(optimum: Optimum, keys: Sequence[str]) -> bool:
    """Say whether a plan buys one of some offers, in any scenario."""
    told = optimum.scenarios.scenarios if optimum.scenarios else ()
    every = (*optimum.purchases, *(one for course in told for one in course.purchases))
    bought = {one.offer for one in every if one.price_kind is not PriceKind.OWNED}
    return bool(bought & set(keys))
