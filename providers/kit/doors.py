"""Doors: one machine that its own cloud and an aggregator both sell, as one stock.

    doors = read_doors(specs.providers)
    door = doors.behind("shadeform", "lambdalabs", "sanjose-usa-2")
    door.operator               # lambda
    door.pool("gpu_1x_a10")     # lambda/gpu_1x_a10/us-west-1

The name of a pool is what `Offer.machine` says of the cloud's own offer, and that is the pool of an
offer that names none. So the adapter of a cloud does nothing for this, as long as it uses the
cloud's own ids for types and regions. Only a cloud that counts GPUs over the sizes of a host
(Hyperstack) names its pools with `stock_pool`.

A door stands in doors.csv where the region is known to be one of the cloud's own: the aggregator
passes its id on, or the cloud has one region in that city (a zone follows its region after a
slash). Anything else leads to the operator and to no pool. A row that is `inferred` rests on equal
figures and names, not on a word of the seller.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from broker.domain.offer import Fabric, Hardware, Place
from broker.specs.load import Specs
from broker.specs.providers import ProviderIds
from broker.specs.tables import read_table, text

_NO_FAMILY = re.compile(r"^n\d+-|x\d+(?=-|$)|-(?:bigroot|k8s)(?=-|$)", re.IGNORECASE)
"""What the hosts of a Hyperstack flavor do not depend on: generation, size, root disk."""


@dataclass(frozen=True, slots=True)
class Door:
    """The cloud behind an aggregator's row, and its own id of the region; empty is unknown."""

    operator: str
    region: str = ""
    inferred: bool = False

    def pool(self, instance_type: str, *, tier: str = "") -> str:
        """Name the stock of a type by the cloud's own id; empty where it cannot be told."""
        if not self.region or not instance_type:
            return ""
        return stock_pool(self.operator, instance_type, self.region, tier=tier)


@dataclass(frozen=True, slots=True)
class Doors:
    """What is known of aggregators' sellers, by (aggregator, seller, region in lower case)."""

    known: Mapping[tuple[str, str, str], Door]
    ids: ProviderIds

    def behind(self, aggregator: str, seller: str, region: str) -> Door:
        """Say whose machine a row is, and in which of that cloud's regions."""
        one = self.known.get((aggregator, seller.lower(), region.lower()))
        if one is not None:
            return one
        every = self.known.get((aggregator, seller.lower(), ""))
        if every is not None:  # the aggregator passes the cloud's own region ids on
            return Door(every.operator, region, every.inferred)
        return Door(self.ids.of(seller))


def read_doors(ids: ProviderIds) -> Doors:
    """Read the table of doors; call it once for a refresh."""
    known = {
        (text(row, "aggregator"), text(row, "seller"), text(row, "region").lower()): Door(
            operator=text(row, "operator"),
            region=text(row, "operator_region"),
            inferred=text(row, "inferred") == "true",
        )
        for row in read_table("doors.csv")
    }
    return Doors(known, ids)


def stock_pool(cloud: str, instance_type: str, region: str, *, tier: str = "") -> str:
    """Name the stock that a type draws on: cloud/type/region[:tier], as `Offer.machine` does.

    Hyperstack counts its GPUs over all sizes, so there n3-H100x1 and n3-H100x8 draw on H100, and
    n3-H100x1-spot on H100-spot, which is counted apart.
    """
    family = _NO_FAMILY.sub("", instance_type) if cloud == "hyperstack" else instance_type
    return f"{cloud}/{family}/{region}" + (f":{tier}" if tier else "")


def type_of_shape(
    specs: Specs,
    cloud: str,
    *,
    gpu: str,
    gpu_count: Fraction,
    vcpus: float | None,
    host_memory_gib: float | None,
) -> str:
    """Find the one type of a cloud that has these parts; empty where none or several have."""
    wanted = (cloud, gpu, gpu_count, vcpus, host_memory_gib)
    found = [
        one.instance_type
        for one in specs.nodes.values()
        if (one.provider, one.gpu, one.gpu_count, one.vcpus, one.host_memory_gib) == wanted
    ]
    return found[0] if len(found) == 1 else ""


def place_near(specs: Specs, provider: str, region: str, words: str) -> Place:
    """Say where a region lies; one in no table lies where the words beside it say."""
    place = specs.place(provider, region)
    if place.country or not words:
        return place
    near = specs.place("", words)
    return near.model_copy(update={"region": place.region, "partition": place.partition})


def sold_singly(hardware: Hardware) -> Hardware:
    """Describe a machine without the network of the cloud's clusters: it is sold singly.

    What is known of the cloud's own type holds for the machine, not for what joins several.
    """
    shape = hardware.shape.model_copy(update={"fabric": Fabric.UNKNOWN, "fabric_gbit_per_s": None})
    return hardware.model_copy(update={"shape": shape})
