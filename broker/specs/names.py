"""Spellings of GPUs: from what a provider writes to the canonical name, or to why there is none.

A spelling stands for one or more models; the memory of one GPU decides between them. Matching is
of whole names, so that GB200 is never read as B200 nor A4000 as A40; what is in no table is
reported, never guessed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from broker.domain.gpu import GpuModel
from broker.specs.facts import Unresolved
from broker.specs.tables import read_table, text

_REASONS = ("mig_slice", "not_a_gpu")
_LEAST_FACTOR = 0.9  # of what drivers report, which is below what vendors print
_MOST_FACTOR = 1.1  # of what vendors print: B300 is sold as 262, 268, 270 and 288 GB
_COUNT = re.compile(r"^\d+\s*x\s*(?=[a-z])")
_VENDOR = re.compile(r"^(nvidia|amd|intel|geforce|tesla|instinct)[\s_-]+")
_MEMORY = re.compile(r"(?<![a-z0-9.])(\d{1,3})\s?gi?b?(?![a-z0-9])")
_MIG = re.compile(r"(?<![a-z0-9])(mig|\d+g\.\d+gb)(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class GpuNames:
    """The aliases, by (provider or empty, key of the spelling)."""

    gpus: Mapping[str, GpuModel]
    aliases: Mapping[tuple[str, str], tuple[str, ...]]

    def resolve(
        self, spelling: str, *, memory_gib: float | None, provider: str
    ) -> str | Unresolved:
        """Give the one model that a spelling and a memory size leave, or why none is left.

        A memory size inside the spelling ("A100 (80 GB)") counts as well as the one beside it.
        """
        lowered = spelling.strip().lower()
        for key, stated_gib in _readings(lowered):
            meant = self.aliases.get((provider, key)) or self.aliases.get(("", key))
            if meant is not None:
                return self._choose(spelling, meant, memory_gib, stated_gib)
        if _MIG.search(lowered):
            return Unresolved("mig_slice", f"{spelling!r} is a slice of a GPU")
        return Unresolved("unknown_gpu", f"{spelling!r} is in no table")

    def _choose(
        self, spelling: str, meant: tuple[str, ...], *memories_gib: float | None
    ) -> str | Unresolved:
        if meant[0] in _REASONS:
            return Unresolved(meant[0], f"{spelling!r} is no whole GPU")
        fitting = meant
        for memory_gib in memories_gib:
            if memory_gib:
                fitting = tuple(name for name in fitting if self._has(name, memory_gib))
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            detail = f"{spelling!r} may be {', '.join(fitting)}"
            return Unresolved("ambiguous_gpu", detail, may_be=fitting)
        sizes = " and ".join(f"{size:g} GiB" for size in memories_gib if size)
        return Unresolved("unknown_gpu", f"{spelling!r} with {sizes} is not {', '.join(meant)}")

    def _has(self, name: str, memory_gib: float) -> bool:
        gpu = self.gpus[name]
        return _LEAST_FACTOR * gpu.memory_gib <= memory_gib <= _MOST_FACTOR * gpu.memory_gb


def read_gpu_names(gpus: Mapping[str, GpuModel]) -> GpuNames:
    """Read the aliases; every canonical name stands for itself."""
    aliases: dict[tuple[str, str], tuple[str, ...]] = {("", _key(name)): (name,) for name in gpus}
    for row in read_table("gpu_aliases.csv"):
        spelled = (text(row, "provider"), _key(text(row, "spelling")))
        aliases[spelled] = tuple(text(row, "means").split())
    return GpuNames(gpus=gpus, aliases=aliases)


def _readings(lowered: str) -> Iterator[tuple[str, float | None]]:
    """Yield the keys to look up, the most literal first, with the memory that a key leaves out."""
    counted = _COUNT.sub("", lowered)
    plain = counted
    while (shorter := _VENDOR.sub("", plain)) != plain:
        plain = shorter
    for spelling in (lowered, counted, plain):
        yield _key(spelling), None
    sizes = _MEMORY.findall(plain)
    if len(sizes) == 1 and not _MIG.search(plain):
        for spelling in (counted, plain):
            yield _key(_MEMORY.sub("", spelling)), float(sizes[0])


def _key(spelling: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", spelling.lower())
