"""Where machines stand, as far as zones fail apart.

A zone is that of the offers, of the cloud whose machine it is. Where any machine of a region names
no zone, it may stand in any of them, so there the whole region counts as one zone.
"""

from collections.abc import Mapping

from broker.domain.case import Case
from solver.milp.sets import Sets


def zones_of(case: Case) -> Mapping[str, str]:
    """Name the zone of each machine of a case."""
    regions = {key: f"{one.cloud}/{one.place.region}" for key, one in case.machines.items()}
    whole = {regions[key] for key, one in case.machines.items() if not one.place.zone}
    return {
        key: regions[key] if regions[key] in whole else f"{regions[key]}/{one.place.zone}"
        for key, one in case.machines.items()
    }


def clouds_of(case: Case) -> Mapping[str, str]:
    """Name the cloud of each machine of a case, whoever sells it."""
    return {key: one.cloud for key, one in case.machines.items()}


def spread_places(case: Case) -> Mapping[str, str]:
    """Name for each machine where its replicas may move: a zone, or a cloud if no rule knows zones.

    Names of zones begin with that of their cloud.
    """
    if any(one.availability.min_zones > 1 for one in case.workloads.services):
        return zones_of(case)
    return clouds_of(case)


def zone_pairs(sets: Sets) -> tuple[tuple[int, str], ...]:
    """Pair each demand that must be in several zones with the zones where it can be."""
    if all(one.service.availability.min_zones == 1 for one in sets.demands):
        return ()
    zones = zones_of(sets.case)
    return tuple(
        sorted(
            {
                (group.demand, zones[group.option.machine])
                for group in sets.groups
                if sets.demands[group.demand].service.availability.min_zones > 1
            }
        )
    )
