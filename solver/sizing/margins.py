"""The safety margin: a share taken off every rate, or the bad end of each figure's own band."""

from typing import Literal, TypeAlias

from broker.domain.candidate import ErrorBand

SafetyMargin: TypeAlias = float | Literal["from_error_band"]


def kept_share(margin: SafetyMargin, band: ErrorBand) -> float:
    """Give the part of an estimated rate that is planned with."""
    return band.low_factor if margin == "from_error_band" else 1 - margin


def margin_text(margin: SafetyMargin, band: ErrorBand) -> str:
    """Say what was taken off."""
    if margin == "from_error_band":
        return f"rates at the bad end of their 90 % band: {band.low_factor:.2f} of the estimate"
    return f"rates less a safety margin of {margin:.0%}"
