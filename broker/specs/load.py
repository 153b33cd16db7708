"""The tables of the package as one value: GPUs, models, nodes, places, what stands by prices."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.offer import Hardware, Place, Virtualization
from broker.specs.certifications import CertificationTable, read_certifications
from broker.specs.facts import (
    Certification,
    EgressPrice,
    KeptPrice,
    NodeFacts,
    StoragePrice,
    Unresolved,
    UserRegion,
)
from broker.specs.gpus import read_gpus
from broker.specs.market import MarketPrice, SoldIn, read_market_prices, read_sold_in
from broker.specs.mig import SliceTable, read_slices
from broker.specs.names import GpuNames, read_gpu_names
from broker.specs.network import EgressTable, read_egress, round_trip_s
from broker.specs.nodes import Nodes, Stated, build_hardware, find_node, read_nodes
from broker.specs.parallel import FileSystems, read_file_systems
from broker.specs.places import PlaceTable, read_places, read_user_regions
from broker.specs.providers import ProviderIds, read_provider_ids
from broker.specs.storage import USUAL, StorageTable, read_storage
from broker.specs.tables import read_table

__all__ = [
    "Certification",
    "EgressPrice",
    "KeptPrice",
    "NodeFacts",
    "Specs",
    "StoragePrice",
    "Unresolved",
    "UserRegion",
    "load_specs",
]

_NEAREST = 3
_FINE_TUNED = re.compile(r"-(instruct|chat|it|hf|base)$")


@dataclass(frozen=True, slots=True)
class Specs:
    """Every table, looked up by name; all methods are pure."""

    gpus: Mapping[str, GpuModel]
    slices: SliceTable
    llms: Mapping[str, LlmModel]
    providers: ProviderIds
    names: GpuNames
    nodes: Nodes
    places: PlaceTable
    user_regions: Mapping[str, UserRegion]
    egress_prices: EgressTable
    storage_prices: StorageTable
    file_systems: FileSystems
    certificates: CertificationTable
    market: Mapping[str, MarketPrice]
    sold_in: SoldIn

    def gpu(self, name: str) -> GpuModel:
        """Find a GPU model by its canonical name, in any case.

        Raises:
            ConfigurationError: there is none of that name; the hint has the nearest ones.
        """
        if name in self.gpus:
            return self.gpus[name]
        known = {key.lower(): key for key in self.gpus}
        key = known.get(name.strip().lower())
        if key is None:
            raise _not_found("GPU", name, tuple(self.gpus))
        return self.gpus[key]

    def llm(self, name: str) -> LlmModel:
        """Find a neural network by its name or its Hugging Face id, in any case.

        An instruction-tuned variant has the architecture of its base and leads to it.

        Raises:
            ConfigurationError: there is none of that name; the hint has the nearest ones.
        """
        wanted = name.strip().lower()
        for model in self.llms.values():
            if wanted in (model.name, model.hf_id.lower()):
                return model
        family = _FINE_TUNED.sub("", wanted.rpartition("/")[2]).removeprefix("meta-")
        if family in self.llms:
            return self.llms[family]
        raise _not_found("model", name, tuple(self.llms))

    def resolve_gpu(
        self, spelling: str, *, memory_gib: float | None = None, provider: str = ""
    ) -> str | Unresolved:
        """Give the canonical name of a provider's spelling, or why there is none.

        `memory_gib` is of one GPU as the provider states it; it decides between variants and
        contradicts a wrong reading. Nothing is guessed.
        """
        return self.names.resolve(
            spelling, memory_gib=memory_gib, provider=self.providers.of(provider)
        )

    def node(self, provider: str, instance_type: str) -> NodeFacts | None:
        """Give what is public of an instance type, None where nothing is."""
        return find_node(self.nodes, self.providers.of(provider), instance_type)

    def hardware(
        self,
        provider: str,
        instance_type: str,
        *,
        gpu: str,
        gpu_count: Fraction,
        vcpus: float | None = None,
        host_memory_gib: float | None = None,
        local_disk_gb: float | None = None,
        virtualization: Virtualization = Virtualization.UNKNOWN,
    ) -> Hardware:
        """Describe a node: what the reply says, what its type is known for, what the GPU can do."""
        stated = Stated(
            gpu_count=gpu_count,
            vcpus=vcpus,
            host_memory_gib=host_memory_gib,
            local_disk_gb=local_disk_gb,
            virtualization=virtualization,
        )
        return build_hardware(self.gpu(gpu), self.node(provider, instance_type), stated)

    def place(self, provider: str, region: str, zone: str | None = None) -> Place:
        """Say where a provider's region lies; one that is not known keeps its id alone."""
        return self.places.place(self.providers.of(provider), region, zone)

    def user_region(self, name: str) -> UserRegion:
        """Find a region of users by name.

        Raises:
            ConfigurationError: there is none of that name; the hint has the nearest ones.
        """
        found = self.user_regions.get(name.strip().lower())
        if found is None:
            raise _not_found("user region", name, tuple(self.user_regions))
        return found

    def rtt_s(self, user_region: str, place: Place) -> float | None:
        """Estimate the network round trip in seconds, None where the place is not known."""
        if place.latitude_deg is None or place.longitude_deg is None:
            return None
        user = self.user_region(user_region)
        return round_trip_s(
            (user.latitude_deg, user.longitude_deg), (place.latitude_deg, place.longitude_deg)
        )

    def egress(
        self, from_provider: str, from_region: str, to_provider: str, to_region: str
    ) -> EgressPrice:
        """Price the move of data from one region to another, by the GB that leaves the first.

        A pair of which a region is unknown, or that no row names, is charged as internet egress.
        """
        return self.egress_prices.price(
            self.providers.of(from_provider),
            self.place(from_provider, from_region),
            to_provider=self.providers.of(to_provider),
            there=self.place(to_provider, to_region),
        )

    def storage(
        self, provider: str, region: str, kind: str, storage_class: str = USUAL
    ) -> StoragePrice | None:
        """Price what is kept in a region: `kind` is block, file or object; None is unknown.

        Without a class it is the usual one of the kind.
        """
        place = self.place(provider, region)
        return self.storage_prices.price(self.providers.of(provider), place, kind, storage_class)

    def kept(self, provider: str, region: str, kind: str, *, gb: Decimal) -> KeptPrice:
        """Price so many GB for a month; where unknown, as the dearest usual class of the kind."""
        place = self.place(provider, region)
        return self.storage_prices.kept(self.providers.of(provider), place, kind, gb=gb)

    def file_system(
        self, provider: str, region: str, *, gb: Decimal, gb_per_s: Decimal
    ) -> KeptPrice:
        """Price a parallel file system that holds so much and is so fast, for a month."""
        place = self.place(provider, region)
        name = self.providers.of(provider)
        return self.file_systems.price(name, place, gb=gb, gb_per_s=gb_per_s)

    def certifications(self, provider: str, region: str) -> tuple[Certification, ...]:
        """List the certifications that a source states for a region of a provider."""
        return self.certificates.of(self.providers.of(provider), self.place(provider, region))


def load_specs() -> Specs:
    """Read every table of the package; call it once and hand the value on."""
    gpus = read_gpus()
    storage = read_storage()
    llms = {
        llm.name: llm
        for llm in (LlmModel.model_validate(row, strict=False) for row in read_table("llms.csv"))
    }
    return Specs(
        gpus=gpus,
        slices=read_slices(gpus),
        llms=llms,
        providers=read_provider_ids(),
        names=read_gpu_names(gpus),
        nodes=read_nodes(),
        places=read_places(),
        user_regions=read_user_regions(),
        egress_prices=read_egress(),
        storage_prices=storage,
        file_systems=read_file_systems(storage),
        certificates=read_certifications(),
        market=read_market_prices(),
        sold_in=read_sold_in(),
    )


def _not_found(kind: str, name: str, known: tuple[str, ...]) -> ConfigurationError:
    lowered = {one.lower(): one for one in known}
    wanted = name.strip().lower()
    longer = [one for one in lowered if wanted and one.startswith(wanted)]
    close = get_close_matches(wanted, lowered, n=_NEAREST, cutoff=0.4)
    nearest = list(dict.fromkeys(longer + close))[:_NEAREST] or sorted(lowered)
    names = ", ".join(lowered[one] for one in nearest)
    return ConfigurationError(f"unknown {kind} {name!r}", hint=f"did you mean one of: {names}?")
