"""Nodes of a commitment that were bought and stand in the inventory since are the same nodes.

The old plan has them on a line of its own, to the new one they are owned: nothing moves there. So
much as the inventory has grown by is taken for what the old plan committed to; what the new plan
commits to beside it is bought anew.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from broker.domain.offer import PriceKind
from broker.domain.plan import NodeStep, Plan, Purchase

_COMMITTED = frozenset({PriceKind.RESERVED, PriceKind.CONTRACT, PriceKind.CAPACITY_BLOCK})

Steps = Sequence[NodeStep]


def handed_over(old: Plan, new: Plan) -> Plan:
    """Give the old plan with such nodes on the line that the new plan has them on."""
    machines = {offer.key: offer.machine for offer in (*old.offers, *new.offers)}
    before = {one.id: one for one in old.purchases}
    for owned in new.purchases:
        if owned.price_kind is PriceKind.OWNED:
            for line in old.purchases:
                if _may_be(line, owned, machines):
                    had = _steps(before.get(owned.id))
                    same = tuple(_joined(_less(owned.steps, had), before[line.id].steps, min))
                    held = tuple(_joined(had, same, int.__add__))
                    left = _less(before[line.id].steps, same)
                    before[owned.id] = owned.model_copy(update={"steps": held})
                    before[line.id] = line.model_copy(update={"steps": left})
    known = {offer.key for offer in old.offers}
    offers = (*old.offers, *(offer for offer in new.offers if offer.key not in known))
    kept = tuple(one for one in before.values() if one.steps or one.savings is not None)
    return old.model_copy(update={"purchases": kept, "offers": offers})


def _may_be(line: Purchase, owned: Purchase, machines: Mapping[str, str]) -> bool:
    """Tell whether nodes of a line may be those that are owned later."""
    return (
        line.price_kind in _COMMITTED
        and machines[line.offer] == machines[owned.offer]
        and line.isolated_for == owned.isolated_for
    )


def _steps(one: Purchase | None) -> Steps:
    return one.steps if one is not None else ()


def _less(steps: Steps, others: Steps) -> tuple[NodeStep, ...]:
    return tuple(_joined(steps, others, lambda ours, theirs: ours - theirs))


def _joined(ours: Steps, theirs: Steps, join: Callable[[int, int], int]) -> Iterator[NodeStep]:
    """Join two counts over time, where more than none is left; equal neighbours are one step."""
    last: NodeStep | None = None
    instants = sorted({at for one in (*ours, *theirs) for at in (one.from_at, one.to_at)})
    for start, end in pairwise(instants):
        nodes = join(_at(ours, start), _at(theirs, start))
        if last is not None and last.to_at == start and last.nodes == nodes:
            last = last.model_copy(update={"to_at": end})
            continue
        if last is not None:
            yield last
        last = NodeStep(from_at=start, to_at=end, nodes=nodes) if nodes > 0 else None
    if last is not None:
        yield last


def _at(steps: Steps, at: datetime) -> int:
    return sum(one.nodes for one in steps if one.from_at <= at < one.to_at)
