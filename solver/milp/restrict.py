"""The sets of a program with only some of its groups and run options."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from broker.domain.case import ServingOption
from solver.milp.fills import Fill
from solver.milp.sets import Sets

_Item = TypeVar("_Item")


def restricted(sets: Sets, groups: Collection[int], options: Collection[int]) -> Sets:
    """Keep these groups and run options, by position, and what they need.

    Kinds without a group, machines that nothing may use and nobody owns, their commitments and
    their levels go. Kinds keep their blocks, periods and demands stay: every plan of the smaller
    program is one of the larger.
    """
    kept_groups = [sets.groups[number] for number in sorted(groups)]
    kept_options = [sets.run_options[number] for number in sorted(options)]
    used = {one.machine for one in kept_groups} | {one.machine for one in kept_options}
    used |= {number for number, machine in enumerate(sets.machines) if any(machine.owned)}
    kind_at, machine_at = _positions({group.kind for group in kept_groups}), _positions(used)
    serving: dict[int, ServingOption] = {id(one.option): one.option for one in kept_groups}
    whole = _on_machines(sets, machine_at)
    return replace(
        whole,
        case=replace(
            sets.case,
            serving=tuple(serving.values()),
            training=tuple(one.option for one in kept_options),
        ),
        kinds=tuple(_at(sets.kinds, kind_at)),
        fills=tuple(_fills(sets.fills, kind_at, machine_at)),
        groups=tuple(
            replace(one, kind=kind_at[one.kind], machine=machine_at[one.machine])
            for one in kept_groups
        ),
        run_options=tuple(replace(one, machine=machine_at[one.machine]) for one in kept_options),
    )


def _fills(
    fills: Sequence[Fill],
    kind_at: Mapping[int, int],
    machine_at: Mapping[int, int],
) -> Iterator[Fill]:
    """Keep of each fill what is still there."""
    for one in fills:
        moved = one.moved(machine_at, kind_at)
        if not moved.is_empty:
            yield moved


def _on_machines(sets: Sets, machine_at: Mapping[int, int]) -> Sets:
    """Keep machines, and what is bought of them, at new positions."""
    committed_at = _positions(
        {number for number, one in enumerate(sets.committed) if one.machine in machine_at}
    )
    rate_at = _positions(
        {number for number, one in enumerate(sets.plan_rates) if one.machine in machine_at}
    )
    plan_at = _positions({sets.plan_rates[number].plan for number in rate_at})
    machines = tuple(_at(sets.machines, machine_at))
    keys = {machine.key for machine in machines}
    pools = {one.stock[0] for one in sets.case.offers if one.machine in keys and one.stock}
    return replace(
        sets,
        machines=machines,
        committed=tuple(
            replace(one, machine=machine_at[one.machine])
            for one in _at(sets.committed, committed_at)
        ),
        levels=tuple(
            replace(
                one,
                machine=machine_at[one.machine],
                members=tuple(committed_at[member] for member in one.members),
                plan_rates=tuple(rate_at[rate] for rate in one.plan_rates),
            )
            for one in sets.levels
            if one.machine in machine_at
        ),
        stocks=tuple(one for one in sets.stocks if one.pool in pools),
        plans=tuple(_at(sets.plans, plan_at)),
        plan_rates=tuple(
            replace(one, plan=plan_at[one.plan], machine=machine_at[one.machine])
            for one in _at(sets.plan_rates, rate_at)
        ),
    )


def _positions(kept: Collection[int]) -> dict[int, int]:
    return {old: new for new, old in enumerate(sorted(kept))}


def _at(items: Sequence[_Item], positions: Mapping[int, int]) -> list[_Item]:
    return [items[number] for number in positions]
