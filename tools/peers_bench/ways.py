"""What a rival wants, before anybody holds it to the rules: ways to serve and to train, ranked."""

from collections.abc import Callable
from dataclasses import dataclass

from solver.milp.sets import Floats


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of replica in a way to serve: what of each size class it carries, and where.

    `groups` are where its replicas go, the first that has room; those of `spot_groups` take as much
    as may be on spot, before the others.
    """

    kind: int
    share: tuple[float, ...]
    groups: tuple[int, ...]
    spot_groups: tuple[int, ...] = ()


Way = tuple[Part, ...]
"""A way to serve one demand: one kind of replica, or a mix."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A rival's answer: the ways of each demand and the options of each run, its choice first.

    `own_usd` is what the answer costs by the rival's own account. Under `keeps_peak` the nodes of
    the peak are rented all the time. `reserved_share` of the peak of each machine that serves is
    reserved. With `usd_of`, the price of replicas of a group by period, the rival weighs its ways
    anew by the places that are left; without, it takes the first that has room. `bound_usd` is what
    the rival itself proves about its own model; `remarks` say how its search ended.
    """

    own_usd: float
    demands: tuple[tuple[Way, ...], ...]
    runs: tuple[tuple[int, ...], ...]
    keeps_peak: bool = False
    reserved_share: float = 0.0
    usd_of: Callable[[int, Floats], float] | None = None
    bound_usd: float | None = None
    remarks: tuple[str, ...] = ()
