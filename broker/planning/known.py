"""The tables that a question to the catalog needs, each read where it is asked for.

They are a part of `Specs`, which has them too; to read all of it takes as long as the answer.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

from broker.domain.gpu import GpuModel
from broker.specs.facts import Unresolved
from broker.specs.gpus import read_gpus
from broker.specs.names import GpuNames, read_gpu_names
from broker.specs.places import PlaceTable, read_places
from broker.specs.providers import ProviderIds, read_provider_ids


class Known(Protocol):
    """What is known of the names that a person may use."""

    @property
    def gpus(self) -> Mapping[str, GpuModel]:
        """Give the GPU models, by name."""

    @property
    def places(self) -> PlaceTable:
        """Give the regions and countries."""

    @property
    def providers(self) -> ProviderIds:
        """Give the other names of providers."""

    def resolve_gpu(self, spelling: str) -> str | Unresolved:
        """Give the canonical name of a provider's spelling, or why there is none."""


class KnownTables:
    """The tables of the package, each read once and only where it is asked for."""

    @cached_property
    def gpus(self) -> Mapping[str, GpuModel]:
        """Read the GPU models, by name."""
        return read_gpus()

    @cached_property
    def places(self) -> PlaceTable:
        """Read the regions and countries."""
        return read_places()

    @cached_property
    def providers(self) -> ProviderIds:
        """Read the other names of providers."""
        return read_provider_ids()

    @cached_property
    def names(self) -> GpuNames:
        """Read the spellings of the GPU models."""
        return read_gpu_names(self.gpus)

    def resolve_gpu(self, spelling: str) -> str | Unresolved:
        """Give the canonical name of a provider's spelling, or why there is none."""
        return self.names.resolve(spelling, memory_gib=None, provider="")
