"""What candidates say of the safety margin."""

from broker.domain.candidate import ErrorBand
from broker.domain.margin import SafetyMargin


def margin_text(margin: SafetyMargin, band: ErrorBand) -> str:
    """Say what was taken off."""
    if margin == "from_error_band":
        return f"rates at the bad end of their 90 % band: {band.low_factor:.2f} of the estimate"
    return f"rates less a safety margin of {margin:.0%}"
