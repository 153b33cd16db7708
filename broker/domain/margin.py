"""The safety margin: a share taken off every rate, or the bad end of each figure's own band."""

from typing import Literal, TypeAlias

from broker.domain.candidate import ErrorBand

SafetyMargin: TypeAlias = float | Literal["from_error_band"]


def kept_share(margin: SafetyMargin, band: ErrorBand) -> float:
    """Give the part of an estimated rate that is planned with."""
    return band.low_factor if margin == "from_error_band" else 1 - margin


def sure_share(margin: SafetyMargin, band: ErrorBand) -> float:
    """Give the part of a planned rate that is there at the low end of its error band, 1 at most.

    The band is of the estimate, and the planned rate has the margin off already.
    """
    return min(1.0, band.low_factor / kept_share(margin, band))


def margin_words(margin: SafetyMargin) -> str:
    """Say that figures have the margin off already."""
    if margin == "from_error_band":
        return "estimated rates are those at the bad end of their error bands"
    return f"the safety margin of {margin:.0%} on estimated rates is already taken off"
