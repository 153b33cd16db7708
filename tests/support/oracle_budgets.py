"""Budgets of a tiny case with one kind of replica: what each way through the slots spends."""

import math
from dataclasses import dataclass

from oracle_fleets import INFEASIBLE, SLACK, Fleet, Gang, Tiny, Way, weights_usd_per_hour
from oracle_joins import breakeven, brought, full, rising_slots

from broker.domain.budget import Budget
from broker.domain.offer import Offer, PriceKind

_MONTH_H = 730
Spent = tuple[float, ...]
"""Dollars by budget that is for the whole horizon, and by month of one that is for each."""


@dataclass(frozen=True)
class Budgets:
    """What a choice of commitments and a gang spend, and fleets beside them."""

    tiny: Tiny
    commitments: list[tuple[Offer, int]]
    gang: Gang
    apart: int | None

    @property
    def all(self) -> tuple[Budget, ...]:
        return self.tiny.case.workloads.policy.budgets

    @property
    def totals(self) -> list[tuple[Budget, int | None]]:
        """List what is added up: budgets of the horizon, and those by month for each month."""
        found: list[tuple[Budget, int | None]] = []
        for budget in self.all:
            if budget.usd_per_calendar_month is not None:
                found += [(budget, month) for month in sorted(set(self.months))]
            elif budget.usd_per_hour is None:
                found.append((budget, None))
        return found

    @property
    def months(self) -> list[int]:
        """Number the month of each slot, January to December as 1 to 12."""
        return [slot.start_at.month for slot in self.tiny.case.workloads.horizon.slots()]

    def in_slot(self, slot: int, fleets: tuple[Fleet, ...]) -> tuple[float, Spent]:
        """Give what being over hourly budgets counts as in a slot, and what others spend in it."""
        penalty, spent = 0.0, []
        for budget in self.all:
            if budget.usd_per_hour is not None:
                an_hour = self._usd_per_hour(budget, slot, fleets)
                over = max(an_hour - float(budget.usd_per_hour), 0.0) * self.tiny.slot_h
                penalty += _price(budget, over)
        for budget, month in self.totals:
            an_hour = 0.0
            if month in (None, self.months[slot]):
                an_hour = self._usd_per_hour(budget, slot, fleets, is_cash=month is not None)
                an_hour += weights_usd_per_hour(fleets) if budget.scope == "the plan" else 0.0
            spent.append(an_hour * self.tiny.slot_h)
        return penalty, tuple(spent)

    def penalty(self, spent: Spent, brought_usd: float) -> float:
        """Give what being over the budgets of the horizon counts as; infinity where it may not."""
        horizon_h = self.tiny.case.workloads.horizon.hours
        total = 0.0
        for (budget, month), usd in zip(self.totals, spent, strict=True):
            limit = float(budget.usd_per_month or 0) * horizon_h / _MONTH_H
            limit = limit if budget.usd is None else float(budget.usd)
            limit = limit if month is None else float(budget.usd_per_calendar_month or 0)
            once = 0.0
            if month is not None:
                once = self._once_in(budget, month, brought_usd)
            elif budget.scope == "the plan":
                once = brought_usd + (float(self.gang[0].data_usd) if self.gang else 0.0)
            elif self.gang and self._is_for("tune", budget):
                once = float(self.gang[0].egress_usd)
            total += _price(budget, max(usd + once - limit, 0.0))
        return total

    def _once_in(self, budget: Budget, month: int, brought_usd: float) -> float:
        """Add up what is paid once in a month: cash for commitments, and data."""
        is_first = month == self.months[0]
        once = 0.0
        if budget.team is None and budget.workload is None and is_first:
            for offer, count in self.commitments:
                if budget.provider in (None, offer.provider) and offer.commitment:
                    once += count * float(offer.commitment.upfront_usd)
        if budget.scope == "the plan" and is_first:
            once += brought_usd
        is_payer = budget.scope == "the plan" or self._is_for("tune", budget)
        if self.gang and is_payer and month == self._window()[0]:
            once += float(self.gang[0].egress_usd)
        if self.gang and budget.scope == "the plan" and month == self._window()[-1]:
            once += float(self.gang[0].result_egress_usd) + float(self.gang[0].storage_usd)
        return once

    def _window(self) -> list[int]:
        """Give the months of the slots in which the run may work."""
        (run,) = self.tiny.case.workloads.runs
        return [
            slot.start_at.month
            for slot in self.tiny.case.workloads.horizon.slots()
            if run.window.earliest <= slot.start_at and slot.end_at <= run.window.deadline
        ]

    def _is_for(self, name: str, budget: Budget) -> bool:
        workloads = self.tiny.case.workloads
        teams = {one.name: one.team for one in (*workloads.services, *workloads.training)}
        return budget.workload == name or (
            budget.team is not None and budget.team == teams.get(name)
        )

    def _usd_per_hour(
        self, budget: Budget, slot: int, fleets: tuple[Fleet, ...], *, is_cash: bool = False
    ) -> float:
        works = self.gang is not None and slot in self.gang[1]
        if budget.team is None and budget.workload is None:
            return self._by_node(budget, works=works, fleets=fleets, is_cash=is_cash)
        usd = 0.0
        if self._is_for("chat", budget):
            for option, count in fleets[0]:
                gpus = count * float(option.candidate.gpus) / self.tiny.gpus(option.machine)
                usd += gpus * self._listed(option.machine, on_spot=option.on_spot)
        if works and self.gang and self._is_for("tune", budget):
            one = self.gang[0]
            usd += one.candidate.nodes * self._listed(one.machine, on_spot=one.candidate.on_spot)
        return usd

    def _listed(self, machine: str, *, on_spot: bool) -> float:
        kind = PriceKind.SPOT if on_spot else PriceKind.ON_DEMAND
        return self.tiny.price(machine, kind) or 0.0

    def _by_node(
        self, budget: Budget, *, works: bool, fleets: tuple[Fleet, ...], is_cash: bool
    ) -> float:
        usd = 0.0
        machines = self.tiny.case.machines
        for machine in machines:
            if budget.provider not in (None, machines[machine].provider):
                continue
            held = [(offer, count) for offer, count in self.commitments if offer.machine == machine]
            for offer, count in held:
                assert offer.commitment is not None
                term_h = offer.commitment.term_months * _MONTH_H
                upfront = float(offer.commitment.upfront_usd) / term_h
                usd += count * (float(offer.usd_per_hour) + (0.0 if is_cash else upfront))
            fixed = sum(count for _, count in held)
            fixed += sum(one.nodes for one in self.tiny.case.owned if one.machine == machine)
            for on_spot, kind in ((False, PriceKind.ON_DEMAND), (True, PriceKind.SPOT)):
                gpus = sum(
                    count * float(option.candidate.gpus)
                    for option, count in fleets[0]
                    if option.machine == machine and option.on_spot is on_spot
                )
                serving = math.ceil(gpus / self.tiny.gpus(machine) - SLACK)
                is_here = self.gang is not None and self.gang[0].machine == machine
                gang = 0
                if works and self.gang and is_here and self.gang[0].candidate.on_spot is on_spot:
                    gang = self.gang[0].candidate.nodes
                rented = max(serving + gang - (0 if on_spot else fixed), 0)
                if self.apart is not None and is_here and not on_spot:
                    rented = max(serving - (fixed - self.apart), 0) + max(gang - self.apart, 0)
                usd += rented * (self.tiny.price(machine, kind) or 0.0)
        return usd


def join_within(
    tiny: Tiny,
    frontiers: list[list[Way]],
    outliving: list[tuple[Offer, int]],
    *,
    budgets: Budgets,
    usd: float,
) -> float:
    """Add up the cheapest rising fleets, what being over budgets counts as included."""
    nodes = {offer.machine: count for offer, count in outliving}
    count = len(budgets.totals)
    states: dict[tuple[tuple[int, ...], tuple[int, ...], Spent], float] = {
        ((), (0,) * len(nodes), (0.0,) * count): usd
    }
    egress: dict[tuple[int, ...], float] = {}
    for slot in rising_slots(tiny, frontiers):
        following: dict[tuple[tuple[int, ...], tuple[int, ...], Spent], float] = {}
        for cost_here, served, fleets in frontiers[slot]:
            over_usd, spent = budgets.in_slot(slot, fleets)
            filled_here = full(tiny, served, nodes)
            larger = tuple(replicas for _, replicas in fleets[0])
            egress[larger] = sum(brought(fleets[0]))
            for (smaller, filled, before), cost in states.items():
                if all(few <= many for few, many in zip(smaller, larger, strict=False)):
                    so_far = tuple(a + b for a, b in zip(filled, filled_here, strict=True))
                    state = (larger, so_far, _added(before, spent))
                    best = following.get(state, INFEASIBLE)
                    following[state] = min(best, cost + cost_here + over_usd)
        states = following
    needed = [breakeven(tiny, offer) * tiny.slots for offer, _ in outliving]
    return min(
        (
            cost + egress[largest] + budgets.penalty(spent, egress[largest])
            for (largest, filled, spent), cost in states.items()
            if all(have >= need - 1e-7 for have, need in zip(filled, needed, strict=True))
        ),
        default=INFEASIBLE,
    )


def _added(before: Spent, spent: Spent) -> Spent:
    return tuple(round(one + more, 9) for one, more in zip(before, spent, strict=True))


def _price(budget: Budget, over_usd: float) -> float:
    if over_usd <= 1e-7:
        return 0.0
    price = budget.over_usd_per_usd
    return INFEASIBLE if price is None else float(price) * over_usd
