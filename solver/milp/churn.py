"""Lines of nodes beside those of the plan in force: what is counted as moved.

Pruning moves nodes from a line to another one. Where the plan in force has none of the first, each
of them counts as moved already: so it may, if no more nodes are needed there. What is in force
stays, and smaller nodes stand for no larger one, as they are more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from broker.domain.case import Case
from broker.domain.offer import Offer
from solver.milp.sets import Sets
from solver.milp.tenants import id_sold, sold_as


@dataclass(frozen=True, slots=True)
class ChurnLine:
    """A line that a plan may have: its id as it is sold, and the nodes in force of it.

    Nodes are those of a machine by the hour, firm or on spot, or those of commitments.
    """

    id: str
    in_force: int
    machine: int
    on_spot: bool = False
    committed: tuple[int, ...] = ()


def weighs_churn(case: Case) -> bool:
    """Say whether nodes that the plan in force does not have count as something."""
    return case.in_force is not None


def nodes_in_force(case: Case) -> dict[str, int]:
    """Give the nodes of the plan in force by line."""
    return {one.line: one.nodes for one in case.in_force or ()}


def staying(case: Case) -> set[str]:
    """Name the machines of which the plan in force has nodes, those of isolated workloads too."""
    sold = {one.line.partition("@")[0] for one in case.in_force or ()}
    return {machine for machine in case.machines if sold and sold_as(case, machine) in sold}


def with_offers(case: Case, offers: Sequence[Offer]) -> Case:
    """Keep some offers of a case, and all of machines of which the plan in force has nodes."""
    stays, kept = staying(case), {one.key for one in offers}
    if not stays:
        return replace(case, offers=tuple(offers))
    return replace(
        case,
        offers=tuple(one for one in case.offers if one.key in kept or one.machine in stays),
    )


def churn_lines(sets: Sets) -> tuple[ChurnLine, ...]:
    """List the lines of a program, those by the hour first; none where churn is not weighed."""
    if not weighs_churn(sets.case):
        return ()
    return (*_by_hour(sets), *_committed(sets))


def _by_hour(sets: Sets) -> Iterator[ChurnLine]:
    known = nodes_in_force(sets.case)
    for number, machine in enumerate(sets.machines):
        for offer, on_spot in ((machine.on_demand, False), (machine.spot, True)):
            if offer is not None:
                line = id_sold(sets.case, offer.key)
                yield ChurnLine(line, known.get(line, 0), number, on_spot)


def _committed(sets: Sets) -> Iterator[ChurnLine]:
    """Give the lines of commitments; the blocks of one window are one, whichever side it is for."""
    known = nodes_in_force(sets.case)
    found: dict[str, list[int]] = {}
    for number, one in enumerate(sets.committed):
        found.setdefault(id_sold(sets.case, one.id), []).append(number)
    for line, numbers in found.items():
        machine = sets.committed[numbers[0]].machine
        yield ChurnLine(line, known.get(line, 0), machine, committed=tuple(numbers))
