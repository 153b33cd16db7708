"""Reading the instants of a log: ISO 8601, or (milli-, micro-, nano-) seconds since 1970."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

_EARLIEST_S = 631_152_000.0
"""1990: a smaller number is no instant, but the time since the log began."""
_LATEST_S = 4_102_444_800.0
"""2100."""
_SCALES = (1.0, 1e3, 1e6, 1e9)


@dataclass(frozen=True, slots=True)
class InstantReader:
    """Reads instants as seconds since 1970, UTC.

    `zone` is that of instants that name none. Numbers too small for an instant count in seconds
    from `start_s`, where it is given.
    """

    zone: tzinfo = UTC
    start_s: float | None = None

    def seconds(self, text: str) -> float:
        """Read one instant.

        Raises:
            ValueError: it is none, in words for a person.
        """
        if "-" in text[1:]:  # quicker than to try
            return self._iso(text)
        try:
            number = float(text)
        except ValueError:
            return self._iso(text)
        return self._number(number)

    def _iso(self, text: str) -> float:
        try:
            moment = datetime.fromisoformat(text.strip().removesuffix(" UTC"))
        except ValueError as cause:
            raise ValueError("no instant") from cause
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.zone)
        seconds = moment.timestamp()
        if not is_instant(seconds):  # 0001-01-01 is what some servers write for none
            raise ValueError("no instant")
        return seconds

    def _number(self, number: float) -> float:
        for scale in _SCALES:
            if is_instant(number / scale):
                return number / scale
        if self.start_s is not None and 0 <= number < _EARLIEST_S:
            return self.start_s + number
        if 0 <= number < _EARLIEST_S:
            raise ValueError("seconds since an unknown start")
        raise ValueError("no instant")


def is_instant(seconds: float) -> bool:
    """Tell whether something can have happened so many seconds after 1970."""
    return _EARLIEST_S <= seconds < _LATEST_S


def names_its_zone(text: str) -> bool:
    """Tell whether an instant of a log says by itself which moment of the world it is."""
    try:
        float(text)
    except ValueError:
        tail = text.strip()[10:]
        return text.strip().endswith(("Z", "z", "UTC")) or "+" in tail or "-" in tail
    return True
