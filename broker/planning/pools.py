"""Options of disaggregated services: replicas of both pools, wherever each finds its like.

The pools of a service stand in one place on nodes of one fabric, so machines are gathered by that.
Each replica is in the class of its own link, and in a slower one where the other pool has replicas
whose own it is; what finds no replica of the other pool in its class is left out.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from broker.domain.candidate import ServingCandidate
from broker.domain.case import ServingOption
from broker.domain.offer import Fabric, Offer, Shape
from broker.domain.pool import Pool, Role
from broker.domain.workload import Service
from broker.planning.data_costs import DataCosts
from broker.planning.sized import Sizer
from solver.sizing.pools import link_class, link_classes

Reach = Callable[[Service, str, Offer], float | None]
"""The round trip of a service from a user region to a machine; None where it is out of reach."""

_Site = tuple[str, str, str]
"""A place, a fabric, and the software of the GPUs there."""
_Key = tuple[str, Shape, Pool, float]


def site_of(machine: Offer) -> _Site | None:
    """Name where a machine's pools may be together; None where its fabric is not known."""
    shape = machine.hardware.shape
    if shape.fabric is Fabric.UNKNOWN or not shape.fabric_gbit_per_s:
        return None
    return (place_of(machine), shape.fabric.value, machine.hardware.stack.value)


def place_of(machine: Offer) -> str:
    """Name the provider, whose cloud it sells, the region and, where it is named, the zone."""
    sold = machine.cloud if machine.cloud != machine.provider else None
    parts = (machine.provider, sold, machine.place.region, machine.place.zone)
    return "/".join(one for one in parts if one)


@dataclass(slots=True)
class PoolOptions:
    """Makes the options of pools; each shape, class of link and distance is sized once."""

    sizer: Sizer
    data_costs: DataCosts
    reach: Reach
    _sized: dict[_Key, list[ServingCandidate]] = field(default_factory=dict)

    def of(self, service: Service, machines: Sequence[Offer]) -> Iterator[ServingOption]:
        """Give the options of a service on firm machines, for each region of its users in reach."""
        sites: dict[_Site, list[Offer]] = defaultdict(list)
        for machine in machines:
            site = site_of(machine)
            if site is not None and machine.hardware.shape.gpu_count.denominator == 1:
                sites[site].append(machine)
        for user_region, share in service.users.items():
            for site, here in sorted(sites.items()) if share > 0 else ():
                yield from self._at(service, user_region, site, here)

    def _at(
        self, service: Service, user_region: str, site: _Site, machines: Iterable[Offer]
    ) -> Iterator[ServingOption]:
        reached = {one.machine: (one, self.reach(service, user_region, one)) for one in machines}
        near = [(one, rtt_s) for one, rtt_s in reached.values() if rtt_s is not None]
        every = frozenset[float]().union(*(link_classes(one.hardware.shape) for one, _ in near))
        for link in sorted(every):
            found = {
                role: [
                    (machine, candidate)
                    for machine, rtt_s in near
                    for candidate in self._sized_on(
                        service, machine, _pool(role, site, link), rtt_s
                    )
                ]
                for role in Role
            }
            yield from self._paired(service, user_region, link, found)

    def _sized_on(
        self, service: Service, machine: Offer, pool: Pool, rtt_s: float
    ) -> list[ServingCandidate]:
        shape = machine.hardware.shape
        key = (service.name, shape, pool, rtt_s)
        if key not in self._sized:
            self._sized[key] = self.sizer.pool(service, shape, pool, rtt_s=rtt_s)[0]
        return self._sized[key]

    def _paired(
        self,
        service: Service,
        user_region: str,
        link: float,
        found: Mapping[Role, Sequence[tuple[Offer, ServingCandidate]]],
    ) -> Iterator[ServingOption]:
        """Give the options that find their like in the other pool, one of both in its own class."""
        own = {
            role: {one.pool_class for machine, one in some if _own_link(machine, one) == link}
            for role, some in found.items()
        }
        whole = {role: {one.pool_class for _, one in some} for role, some in found.items()}
        for role, other in ((Role.PREFILL, Role.DECODE), (Role.DECODE, Role.PREFILL)):
            for machine, candidate in found[role]:
                is_own = _own_link(machine, candidate) == link
                if candidate.pool_class in (whole if is_own else own)[other]:
                    weights = self.data_costs.serving(service, candidate, machine)
                    yield ServingOption(
                        service.name,
                        user_region,
                        machine.machine,
                        False,
                        candidate,
                        storage_usd_per_hour=weights.storage_usd_per_hour,
                        egress_usd=weights.egress_usd,
                    )


def _pool(role: Role, site: _Site, link: float) -> Pool:
    place, fabric, stack = site
    return Pool(role=role, place=place, fabric=fabric, stack=stack, link_gb_per_s=link)


def _own_link(machine: Offer, candidate: ServingCandidate) -> float:
    return link_class(machine.hardware.shape, candidate.layout.gpus) or math.nan
