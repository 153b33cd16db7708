"""Savings plans in the relaxed program: machines at their least price, and nothing promised.

The relaxed program that bounds a case (`relaxed_over_all`) does without plans: there each machine
is rented at the least of its on-demand price and its rates, in any hour and without a promise. Any
plan of the case costs no less than that, as what is covered is paid for at its rate at least; so
the bound and all penalties hold. Where several kinds may serve a demand, plans are in it as they
are.
"""

from dataclasses import replace

from broker.domain.offer import Offer
from solver.milp.sets import Sets


def at_floor(sets: Sets) -> Sets:
    """Rent each machine at its least rate, and promise nothing: no plan of the case costs less."""
    if not sets.plan_rates:
        return sets
    least: dict[int, Offer] = {}
    for rate in sets.plan_rates:
        known = least.get(rate.machine, rate.offer)
        least[rate.machine] = min(known, rate.offer, key=lambda one: one.effective_usd_per_hour)
    machines = list(sets.machines)
    for number, offer in least.items():
        rented = machines[number].on_demand
        if rented is not None and offer.effective_usd_per_hour < rented.usd_per_hour:
            price = {"usd_per_hour": offer.effective_usd_per_hour}
            cheaper = rented.model_copy(update=price)
            machines[number] = replace(machines[number], on_demand=cheaper)
    return replace(
        sets,
        machines=tuple(machines),
        levels=tuple(replace(one, plan_rates=()) for one in sets.levels if one.members),
        plans=(),
        plan_rates=(),
    )
