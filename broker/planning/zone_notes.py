"""What a plan must say about zones: where a region stood for one."""

from collections.abc import Iterable, Iterator

from broker.domain.case import Case
from broker.domain.plan import ServingAssignment
from solver.milp.zones import zones_of


def zone_notes(case: Case, serving: Iterable[ServingAssignment]) -> Iterator[str]:
    """Name the regions that count as one zone for a service that must be in several."""
    wide = {one.name for one in case.workloads.services if one.availability.min_zones > 1}
    if not wide:
        return
    zones = zones_of(case)
    regions = {key: f"{one.cloud}/{one.place.region}" for key, one in case.machines.items()}
    used = {one.machine for one in serving if one.service in wide}
    whole = sorted({zones[one] for one in used if zones[one] == regions[one]})
    if whole:
        yield (
            f"no zones are known in {', '.join(whole)}: for min_zones each counts as one zone, and "
            "replicas there may fail together"
        )


def pool_notes(case: Case, serving: Iterable[ServingAssignment]) -> Iterator[str]:
    """Name the places of pools of which no zone is known: their fabric joins one zone at most."""
    unknown = {
        (one.service, one.candidate.pool.place)
        for one in serving
        if one.candidate.pool is not None and not case.machines[one.machine].place.zone
    }
    for service, place in sorted(unknown):
        yield (
            f"the pools of {service} are in {place}, of which no zone is known: buy all of their "
            "nodes in one zone and placement group; traffic between zones is not priced"
        )
