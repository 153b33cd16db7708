"""Plan files whose parts fit together, for all that reads a plan without checking it first.

A plan that was changed by hand may name an offer or a workload that is not in it. `verify` says all
that is wrong with it; a report or an export would only stumble over it.
"""

from collections.abc import Iterator
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan, ServingAssignment
from broker.planning.given_plan import given_plan
from broker.settings import Settings


def read_whole_plan(given: Path, settings: Settings) -> Plan:
    """Read a plan that names no offer and no workload which it lacks: a file, or a kept one's hash.

    Raises:
        ConfigurationError: there is no such plan, it is of another version, or lacks a part, or
            the database cannot be used.
    """
    plan = given_plan(given, settings)
    for fault in _faults(plan):
        raise ConfigurationError(
            f"{str(given)!r} was changed: {fault}",
            hint="a plan is what `gpubroker plan --out` wrote, unchanged; `gpubroker verify` says "
            "what else is wrong with this one",
        )
    return plan


def _faults(plan: Plan) -> Iterator[str]:
    offers = {one.key for one in plan.offers}
    for one in plan.purchases:
        if one.offer not in offers:
            yield f"the offer {one.offer!r} of {one.id} is not among its offers"
    sizes = {one.name: len(one.sizes) for one in plan.workloads.services}
    for share in plan.serving:
        if share.service not in sizes:
            yield f"the service {share.service!r} is not among its workloads"
        elif any(count != sizes[share.service] for count in _counts(share)):
            yield f"{share.service} has {sizes[share.service]} size classes; rates and steps differ"
    runs = {one.name for one in plan.workloads.runs}
    for run in plan.training:
        if run.run not in runs:
            yield f"the run {run.run!r} is not among its workloads"


def _counts(share: ServingAssignment) -> Iterator[int]:
    yield len(share.candidate.rates)
    yield from (len(step.requests_per_s) for step in share.steps)
