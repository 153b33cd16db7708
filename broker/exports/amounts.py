"""Amounts of money cut into parts."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

_MICRO = 1_000_000
_ZERO = Decimal("0.000000")


def shared_out_usd(total: Decimal, weights: Sequence[Fraction]) -> tuple[Decimal, ...]:
    """Cut an amount in proportion to weights; the parts add up to it to the micro-dollar.

    The running sum is rounded, so that what one part loses the next one gains.
    """
    whole = sum(weights, Fraction(0))
    if not whole:
        return tuple(_ZERO for _ in weights)
    ends = [_ZERO]
    so_far = Fraction(0)
    for weight in weights:
        so_far += weight
        ends.append(Decimal(round(Fraction(total) * so_far / whole * _MICRO)).scaleb(-6))
    return tuple(after - before for before, after in pairwise(ends))
