"""What serves a demand whole: a kind that does prompts and answers, or one of each pool of a class.

Under one kind a demand each plan takes one of these *ways* for each demand, so that prices and
penalties of kinds are told by the cheapest way that each is in.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from broker.domain.pool import PoolClass
from solver.milp.sets import Floats, Sets
from solver.milp.variables import Ints

_Class = tuple[str, str, PoolClass]


Way = tuple[int, ...]
"""A kind that serves a demand whole, or one that decodes and one that prefills."""


def prompts_of(sets: Sets) -> dict[int, int]:
    """Map each demand whose prompts are one of their own to that."""
    names = [(one.service.name, one.user_region) for one in sets.demands]
    prompts = {names[at]: at for at, one in enumerate(sets.demands) if one.is_prompts}
    return {
        at: prompts[names[at]]
        for at, one in enumerate(sets.demands)
        if names[at] in prompts and not one.is_prompts
    }


@dataclass(frozen=True, slots=True)
class Ways:
    """The least of all ways that each kind is in, and the kind of the other pool in that way.

    A kind that does both is a way of its own, and its own partner; so is one without any partner,
    at an infinite cost.
    """

    usd: Floats
    partner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The kinds of both pools by class, and whose ways each kind is in: the demand for answers."""

    classes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    owner: Ints

    @classmethod
    def of(cls, sets: Sets) -> "Pairs":
        """Read them off the sets."""
        found: dict[_Class, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        answers = {
            (one.service.name, one.user_region): number
            for number, one in enumerate(sets.demands)
            if not one.is_prompts
        }
        owner = np.array([one.demand for one in sets.kinds], dtype=np.int64)
        for number, kind in enumerate(sets.kinds):
            demand, pool = sets.demands[kind.demand], kind.configuration.pool
            if pool is not None:
                name = (demand.service.name, demand.user_region)
                found[*name, pool][not demand.is_prompts].append(number)
                owner[number] = answers[name]
        return cls(tuple((tuple(one), tuple(two)) for one, two in found.values()), owner)

    def ways(self, usd: Floats, or_more: Floats | None = None) -> Ways:
        """Give the cheapest way of each kind, by what each kind costs.

        A way costs the sum of either `usd` or `or_more` over its kinds, whichever sum is more.
        """
        more = np.full(len(usd), -np.inf) if or_more is None else or_more
        whole, partner = np.maximum(usd, more), list(range(len(usd)))
        for pools in self.classes:
            for one, other in (pools, pools[::-1]):
                for number in one:
                    whole[number] = np.inf
                    if other:
                        sums = usd[number] + usd[list(other)]
                        sums = np.maximum(sums, more[number] + more[list(other)])
                        best = int(sums.argmin())
                        whole[number], partner[number] = sums[best], other[best]
        return Ways(whole, tuple(partner))

    def with_partners(self, kinds: Sequence[int], ways: Ways) -> list[int]:
        """Give kinds with what each is used with at its best."""
        return list(dict.fromkeys(one for kind in kinds for one in (kind, ways.partner[kind])))


def ways_by_demand(sets: Sets) -> dict[int, list[Way]]:
    """List the ways to serve each demand whole, the kinds that do both first."""
    found: dict[int, list[Way]] = {
        number: [] for number, one in enumerate(sets.demands) if not one.is_prompts
    }
    for number, kind in enumerate(sets.kinds):
        if kind.configuration.pool is None:
            found[kind.demand].append((number,))
    for prefill, decode in Pairs.of(sets).classes:
        for one in decode:
            found[sets.kinds[one].demand].extend((one, other) for other in prefill)
    return found
