"""From a solution to purchases and cost lines: nodes as whole numbers, money as decimals.

No figure of money is read off the solver: prices come from the offers, counts are rounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Self

import numpy as np

from broker.domain.case import committed_hours
from broker.domain.horizon import Slot
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import BookedBlock, CostLine, NodeStep, Purchase, Term
from broker.domain.policy import Sharing
from broker.domain.quantities import quantize_usd
from broker.domain.savings import upfront_share
from solver.milp.blocks import BlockWindow
from solver.milp.extract_savings import covered_node_hours, promised, savings_purchases
from solver.milp.extract_work import Work, by_slot
from solver.milp.program import Program
from solver.milp.sets import Committed, Floats, Sets
from solver.milp.variables import Block, Ints

_SECOND = timedelta(seconds=1)
_MICRO = 1_000_000
_PACKING_SLACK = 1e-9


def purchases(
    program: Program, values: Floats, work: Work, committed: Ints
) -> tuple[Purchase, ...]:
    """Buy what the assignments need: owned nodes first, then committed ones, then by the hour."""
    sets = program.sets
    apart = _whole(values, program.columns.run_nodes)
    found: list[Purchase] = []
    by_hour: dict[int, Ints] = {}
    for number, machine in enumerate(sets.machines):
        fixed = np.array(machine.owned) + _active_nodes(sets, committed, number)
        firm = _Needed.of(sets, work, number, on_spot=False)
        for_runs = apart[number] + _active_nodes(sets, committed, number, for_runs=True)
        rented = firm.rented(fixed, for_runs, sets.case.workloads.policy.sharing)
        owned = np.minimum(firm.nodes, np.array(machine.owned))
        spot = _Needed.of(sets, work, number, on_spot=True).nodes
        if owned.any():
            found.append(_owned(sets, sets.case.machines[machine.key], owned))
        if rented.any() and machine.on_demand is not None:
            by_hour[number] = rented
        if spot.any() and machine.spot is not None:
            found.append(_hourly(sets, machine.spot, spot))
    plans = promised(program, values, by_hour)
    for number, rented in by_hour.items():
        offer = sets.machines[number].on_demand
        if offer is not None:
            covered = covered_node_hours(sets, plans, number)
            found.append(_hourly(sets, offer, rented, covered=covered))
    found.extend(savings_purchases(program, values, plans))
    found.extend(
        _commitment(sets, one, int(nodes))
        for one, nodes in zip(sets.committed, committed, strict=True)
        if nodes and one.block is None
    )
    found.extend(_blocks(sets, committed))
    return tuple(sorted(found, key=lambda purchase: purchase.id))


def needed_commitments(solved: Sequence[tuple[Program, Floats]], work: Sequence[Work]) -> Ints:
    """Leave out committed nodes that no work needs at any time; a plan within a gap may have some.

    The programs have the same commitments, and none of them may need a node that is left out.
    Under `sharing: split` all stay, as either side keeps its own.
    """
    first, values = solved[0]
    needed = _whole(values, first.columns.committed_nodes)
    if first.sets.case.workloads.policy.sharing is Sharing.SPLIT:
        return needed
    for number in np.flatnonzero(needed).tolist():
        spare = min(
            _spare_nodes(program.sets, own, needed, number)
            for (program, _), own in zip(solved, work, strict=True)
        )
        needed[number] -= min(int(needed[number]), max(0, spare))
    return needed


def _spare_nodes(sets: Sets, work: Work, committed: Ints, number: int) -> int:
    """Count the nodes beyond what work needs in every period of a commitment."""
    one = sets.committed[number]
    firm = _Needed.of(sets, work, one.machine, on_spot=False).nodes
    fixed = np.array(sets.machines[one.machine].owned)
    fixed = fixed + _active_nodes(sets, committed, one.machine)
    spare = (fixed - firm)[np.array(one.active, dtype=bool)]
    return int(spare.min(initial=committed[number]))


@dataclass(frozen=True, slots=True)
class _Needed:
    """What the assignments fill of a machine in each period: nodes of services, and gangs."""

    serving: Floats
    gangs: Ints

    @classmethod
    def of(cls, sets: Sets, work: Work, machine: int, *, on_spot: bool) -> Self:
        gpus = np.zeros(len(sets.periods))
        gangs = np.zeros(len(sets.periods), dtype=np.int64)
        for number, group in enumerate(sets.groups):
            if group.machine == machine and group.on_spot is on_spot:
                gpus += group.gpus * work.replicas[number]
        for number, option in enumerate(sets.run_options):
            if option.machine == machine and option.option.candidate.on_spot is on_spot:
                gangs += option.nodes * work.gang_up[number]
        return cls(gpus / sets.machines[machine].gpus, gangs)

    @property
    def nodes(self) -> Ints:
        return _whole_nodes(self.serving) + self.gangs

    def rented(self, fixed: Ints, apart: Ints, sharing: Sharing) -> Ints:
        """Count the nodes to rent beside the fixed ones, of which `apart` are kept for runs."""
        if sharing is Sharing.CONVERGED:
            return np.asarray(np.maximum(self.nodes - fixed, 0), dtype=np.int64)
        for_serving = np.maximum(_whole_nodes(self.serving) - np.maximum(fixed - apart, 0), 0)
        for_runs = np.maximum(self.gangs - apart, 0)
        return np.asarray(for_serving + for_runs, dtype=np.int64)


def _whole_nodes(nodes: Floats) -> Ints:
    return np.asarray(np.ceil(nodes - _PACKING_SLACK), dtype=np.int64)


def _whole(values: Floats, block: Block) -> Ints:
    return np.rint(values[block.start : block.start + block.size]).astype(np.int64)


def cost_lines(bought: Sequence[Purchase], offers: dict[str, Offer]) -> tuple[CostLine, ...]:
    """Write what is bought as dollars: one line a purchase and term of the objective.

    `offers` are as they are sold; what is paid beside that is a line of its own.
    """
    lines: list[CostLine] = []
    for purchase in bought:
        own = tuple(_lines_of(purchase, offers[purchase.offer]))
        beside = purchase.usd - sum((line.usd for line in own), Decimal(0))
        lines += (*own, CostLine(term=Term.SURCHARGE, subject=purchase.id, usd=beside))
    return tuple(line for line in lines if line.usd)


def _lines_of(purchase: Purchase, offer: Offer) -> Iterator[CostLine]:
    if purchase.savings is not None:
        rest = _usd(Fraction(purchase.usd) * upfront_share(offer))
        yield CostLine(term=Term.SAVINGS_PLAN, subject=purchase.id, usd=purchase.usd - rest)
        yield CostLine(term=Term.UPFRONT, subject=purchase.id, usd=rest)
        return
    sold_usd = _sold_usd(purchase, offer)
    if purchase.price_kind in (PriceKind.RESERVED, PriceKind.CONTRACT):
        hourly = _usd(Fraction(offer.usd_per_hour) * _node_hours(purchase.steps))
        rest = sold_usd - hourly
        yield CostLine(term=Term.COMMITMENT_HOURS, subject=purchase.id, usd=hourly)
        yield CostLine(term=Term.UPFRONT, subject=purchase.id, usd=rest)
        return
    terms = {
        PriceKind.ON_DEMAND: Term.ON_DEMAND,
        PriceKind.SPOT: Term.SPOT,
        PriceKind.CAPACITY_BLOCK: Term.CAPACITY_BLOCK,
        PriceKind.OWNED: Term.OWNED,
    }
    yield CostLine(term=terms[purchase.price_kind], subject=purchase.id, usd=sold_usd)


def _sold_usd(purchase: Purchase, offer: Offer) -> Decimal:
    """Charge a purchase at the price of its offer."""
    if purchase.price_kind is PriceKind.OWNED:
        return Decimal(0)
    nodes = max(step.nodes for step in purchase.steps)
    if purchase.block is not None:
        return quantize_usd(offer.usd_per_hour * purchase.block.length_h * nodes)
    if offer.commitment is not None:
        return _usd(_all_in_usd(offer) * _node_hours(purchase.steps))
    return _rented_usd(offer, purchase.steps, purchase.covered_node_hours)


def _rented_usd(offer: Offer, steps: Sequence[NodeStep], covered: Decimal) -> Decimal:
    """Charge rented nodes for the hours that no savings plan covers."""
    return _usd(Fraction(offer.usd_per_hour) * (_node_hours(steps) - Fraction(covered)))


def _all_in_usd(offer: Offer) -> Fraction:
    """Give what an hour of a committed node costs, its share of the upfront part included."""
    upfront = Fraction(offer.commitment.upfront_usd if offer.commitment else 0)
    return Fraction(offer.usd_per_hour) + upfront / Fraction(committed_hours(offer))


def _usd(exact: Fraction) -> Decimal:
    """Round to the micro-dollar: decimals of hours are not exact, as of a slot of ten minutes."""
    return Decimal(round(exact * _MICRO)).scaleb(-6)


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / exact.denominator


def _active_nodes(sets: Sets, committed: Ints, machine: int, *, for_runs: bool = False) -> Ints:
    """Count committed nodes by period; `for_runs` only those of blocks that are kept for runs."""
    active = np.zeros(len(sets.periods), dtype=np.int64)
    for one, nodes in zip(sets.committed, committed, strict=True):
        is_kept = one.block is not None and one.block.for_runs is True
        if one.machine == machine and (is_kept or not for_runs):
            active += nodes * np.array(one.active, dtype=np.int64)
    return active


def _hourly(sets: Sets, offer: Offer, nodes: Ints, *, covered: Decimal = Decimal(0)) -> Purchase:
    steps = tuple(_steps(sets, nodes))
    return Purchase(
        id=offer.key,
        offer=offer.key,
        price_kind=offer.price_kind,
        steps=steps,
        node_hours=_decimal(_node_hours(steps)),
        usd=_rented_usd(offer, steps, covered),
        covered_node_hours=covered,
    )


def _owned(sets: Sets, offer: Offer, nodes: Ints) -> Purchase:
    steps = tuple(_steps(sets, nodes))
    return Purchase(
        id=f"{offer.machine}@owned",
        offer=offer.key,
        price_kind=PriceKind.OWNED,
        steps=steps,
        node_hours=_decimal(_node_hours(steps)),
        usd=Decimal(0),
    )


def _commitment(sets: Sets, one: Committed, nodes: int) -> Purchase:
    offer = one.offer
    upfront = (offer.commitment.upfront_usd if offer.commitment else Decimal(0)) * nodes
    start_at, term_h = sets.case.workloads.horizon.start, committed_hours(offer)
    ends_at = start_at + timedelta(hours=one.charged_h)
    steps = (NodeStep(from_at=start_at, to_at=ends_at, nodes=nodes),)
    hours = _node_hours(steps)
    return Purchase(
        id=offer.key,
        offer=offer.key,
        price_kind=offer.price_kind,
        steps=steps,
        node_hours=_decimal(hours),
        usd=_usd(_all_in_usd(offer) * hours),
        upfront_usd=quantize_usd(upfront),
        later_usd=_usd(_all_in_usd(offer) * (nodes * Fraction(term_h) - hours)),
        breakeven_utilization=one.breakeven_utilization,
    )


def _blocks(sets: Sets, committed: Ints) -> Iterator[Purchase]:
    """Book capacity blocks: one purchase for each window, whichever side it is for."""
    booked: dict[str, tuple[Committed, int]] = {}
    for one, nodes in zip(sets.committed, committed, strict=True):
        if one.block is not None and nodes:
            booked[one.id] = (one, int(nodes) + booked.get(one.id, (one, 0))[1])
    for one, nodes in booked.values():
        if one.block is not None:
            yield _block(sets, one, one.block, nodes)


def _block(sets: Sets, one: Committed, window: BlockWindow, nodes: int) -> Purchase:
    steps = tuple(_steps(sets, nodes * np.array(one.active, dtype=np.int64)))
    usd = quantize_usd(one.offer.usd_per_hour * window.length_h * nodes)
    return Purchase(
        id=one.id,
        offer=one.offer.key,
        price_kind=one.offer.price_kind,
        steps=steps,
        node_hours=_decimal(_node_hours(steps)),
        usd=usd,
        upfront_usd=usd,
        breakeven_utilization=one.breakeven_utilization,
        block=BookedBlock(starts_at=window.starts_at, length_h=window.length_h),
    )


def _steps(sets: Sets, nodes: Ints) -> Iterator[NodeStep]:
    def count(entry: tuple[Slot, int]) -> int:
        return int(nodes[entry[1]])

    for number, same in groupby(by_slot(sets), key=count):
        slots = [slot for slot, _ in same]
        if number:
            yield NodeStep(from_at=slots[0].start_at, to_at=slots[-1].end_at, nodes=number)


def _node_hours(steps: Sequence[NodeStep]) -> Fraction:
    seconds = sum(step.nodes * ((step.to_at - step.from_at) // _SECOND) for step in steps)
    return Fraction(seconds, 3600)
