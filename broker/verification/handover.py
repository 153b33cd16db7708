"""While new replicas start, those that were in place before carry the load."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from ortools.math_opt.python import mathopt

from broker.domain.pool import Role
from broker.domain.workload import Service
from broker.verification.facts import TOLERANCE, Facts, Finding, Group
from broker.verification.timeline import Array

_NEGLIGIBLE_PER_S = 1e-8


def start_up(facts: Facts) -> Iterator[Finding]:
    """Keep enough replicas in place from one slot to the next for what both ask for.

    A replica answers from `start_up` after its first slot has begun. Until then the replicas that
    were in place throughout the start-up before carry, class by class, the least load of the slots
    that it touches: the load of a slot counts `start_up` ahead, so no more can come. So it is for
    each pool.
    """
    slot = facts.timeline.slot
    for service in facts.case.workloads.services:
        before = math.ceil(service.start_up / slot)
        for region, share in service.users.items():
            if share > 0 and before:
                groups = facts.groups_of(service.name, region)
                for role in Role if service.disaggregated else (Role.DECODE,):
                    own = [one for one in groups if one.assignment.candidate.does(role)]
                    yield from _handovers(facts, (service, region), own, before)


def _handovers(
    facts: Facts, demand: tuple[Service, str], groups: Sequence[Group], before: int
) -> Iterator[Finding]:
    service, region = demand
    if not groups:
        return
    needed = facts.needed_requests_per_s(service, region)
    replicas = np.array([group.replicas for group in groups])
    known: dict[tuple[object, ...], bool] = {}
    for slot in range(1, facts.timeline.count):
        first = max(0, slot - before)
        staying = replicas[:, first : slot + 1].min(axis=1)
        load = needed[first : slot + 1].min(axis=0)
        if (staying == replicas[:, slot]).all() or not load.any():
            continue
        case = (tuple(staying), tuple(load))
        if case not in known:
            known[case] = _carries(groups, staying, load)
        if not known[case]:
            at = facts.timeline.start_at + slot * facts.timeline.slot
            message = (
                f"{staying.sum():.0f} replicas stay in place while others start at "
                f"{at:%Y-%m-%d %H:%M}: too few for {load.sum():g} requests/s"
            )
            yield Finding(f"{service.name}/{region}", message)


def _carries(groups: Sequence[Group], staying: Array, load: Array) -> bool:
    """Say whether so many replicas of each group can carry a load, routed in the best way."""
    model = mathopt.Model()
    share = model.add_variable(lb=0.0, ub=1.0)
    carried: list[list[mathopt.Variable]] = [[] for _ in load]
    for group, count in zip(groups, staying.tolist(), strict=True):
        rates = [rate.requests_per_s for rate in group.assignment.candidate.rates]
        able = enumerate(rates[: len(load)])
        routes = [(number, rate) for number, rate in able if rate > _NEGLIGIBLE_PER_S]
        columns = [model.add_variable(lb=0.0) for _ in routes]
        busy = sum(
            (one / rate for one, (_, rate) in zip(columns, routes, strict=True)),
            start=mathopt.LinearExpression(),
        )
        model.add_linear_constraint(busy <= count)
        for one, (number, _) in zip(columns, routes, strict=True):
            carried[number].append(one)
    for number, wanted in enumerate(load.tolist()):
        if wanted > _NEGLIGIBLE_PER_S:
            routed = sum((one / wanted for one in carried[number]), mathopt.LinearExpression())
            model.add_linear_constraint(routed >= share)
    model.maximize(share)
    result = mathopt.solve(model, mathopt.SolverType.GLOP)
    return result.has_primal_feasible_solution() and result.objective_value() >= 1 - TOLERANCE
