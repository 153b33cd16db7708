"""Blocks of replicas that fill nodes of some machines, and the whole nodes that they need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_SLACK = 1e-9


class Owned(Enum):
    """Who has the nodes that are owned: all, the kinds as far as they are used, or one run."""

    BY_ALL = auto()
    BY_KINDS = auto()
    BY_RUN = auto()


@dataclass(frozen=True, slots=True)
class Fill:
    """Some blocks of some kinds on some machines, in some periods.

    `parts` are kinds with positions of their blocks. Together they are of several demands, all up
    at once; else they are kinds of one demand, of which one is used at most. Nodes of `gpus` GPUs
    are rounded to whole ones. Of one machine with owned nodes, `owned` says how those are counted;
    `run` is the one whose gangs are counted where they are not for all.
    """

    machines: tuple[int, ...]
    gpus: int
    on_spot: bool
    periods: tuple[int, ...]
    parts: tuple[tuple[int, tuple[int, ...]], ...]
    is_together: bool
    owned: Owned = Owned.BY_ALL
    run: int | None = None

    @property
    def is_empty(self) -> bool:
        """Say whether nothing is rounded: the machine is gone, or all that fills it."""
        return not self.machines or not (self.parts or self.owned is Owned.BY_RUN)

    @property
    def what(self) -> "Fill":
        """Give the same without its periods."""
        return replace(self, periods=())

    def moved(self, machines: Mapping[int, int], kinds: Mapping[int, int]) -> "Fill":
        """Give the same at other positions, of the machines and kinds that are there."""
        return replace(
            self,
            machines=tuple(machines[one] for one in self.machines if one in machines),
            parts=tuple((kinds[kind], own) for kind, own in self.parts if kind in kinds),
        )


def joined(fills: Iterable[Fill]) -> tuple[Fill, ...]:
    """Join the periods of equal fills."""
    periods: dict[Fill, set[int]] = {}
    for one in fills:
        periods.setdefault(one.what, set()).update(one.periods)
    return tuple(replace(what, periods=tuple(sorted(own))) for what, own in periods.items())


@dataclass(frozen=True, slots=True)
class Rounded:
    """The whole nodes that a fill needs at least, and what a node of each machine is of those.

    Σ used · kind_used + Σ block · replicas + constant ≤ Σ node · nodes. `used` is by part and
    period, `blocks` by part, block and period, `constant` by period, `nodes` by machine and period.
    """

    constant: Floats
    used: tuple[Floats, ...]
    blocks: tuple[Floats, ...]
    nodes: tuple[Floats, ...]


def rounded(parts: tuple[Floats, ...], sizes: tuple[float, ...], *, is_together: bool) -> Rounded:
    """Round up what parts take of nodes, given by block and period; sizes are of the machines.

    For Σ_b a_b x_b ≤ Σ_m s_m n_m with whole n and x of 0 or 1, let a = Σ_b a_b, f its part beyond
    a whole number, φ(α) = ⌊α⌋ + min(1, (α − ⌊α⌋) / f). Mixed integer rounding of Σ_m s_m n_m +
    Σ_b a_b (1 − x_b) ≥ a gives Σ_m φ(s_m) n_m ≥ ⌈a⌉ − Σ_b φ(a_b) (1 − x_b). Where the blocks are of
    one kind, its kind_used stands for each 1; of several such kinds one is used at most, and a node
    counts as what it is for the one that it helps most.
    """
    totals = [own.sum(axis=0) for own in parts]
    if is_together:
        total = np.sum(totals, axis=0)
        blocks = tuple(_share(own, total) for own in parts)
        dropped = np.sum([own.sum(axis=0) for own in blocks], axis=0)
        used = tuple(np.zeros_like(total) for _ in parts)
        nodes = tuple(_share(np.full((1, len(total)), size), total)[0] for size in sizes)
        return Rounded(_up(total) - dropped, used, blocks, nodes)
    blocks = tuple(_share(own, total) for own, total in zip(parts, totals, strict=True))
    used = tuple(_up(total) - own.sum(axis=0) for own, total in zip(blocks, totals, strict=True))
    nodes = tuple(
        np.max([_share(np.full((1, len(one)), size), one)[0] for one in totals], axis=0)
        for size in sizes
    )
    return Rounded(np.zeros_like(totals[0]), used, blocks, nodes)


def _up(nodes: Floats) -> Floats:
    return np.asarray(np.ceil(nodes - _SLACK))


def _share(values: Floats, total: Floats) -> Floats:
    """Give φ of values by row and period, for the total of each period."""
    beyond = total - np.floor(total + _SLACK)
    whole = np.floor(values + _SLACK)
    part = np.where(values - whole > _SLACK, values - whole, 0.0)
    is_whole = beyond <= _SLACK
    share = np.minimum(1.0, part / np.where(is_whole, 1.0, beyond))
    return np.asarray(np.where(is_whole, values, whole + share))
