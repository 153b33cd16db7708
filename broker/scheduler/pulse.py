"""How a runner feels, for those who ask it: what it does, and when it last reached the database."""

import time
from dataclasses import dataclass, field
from threading import Lock


@dataclass(frozen=True, slots=True)
class Health:
    """What a runner says of itself. `silent_s` is the time since it last reached the database."""

    role: str
    holder: str
    silent_s: float
    is_well: bool


@dataclass(slots=True)
class Pulse:
    """The last sign of life of a runner, on a clock that only moves forward."""

    holder: str
    well_for_s: float
    _role: str = "starting"
    _felt_s: float = field(default_factory=time.monotonic)
    _lock: Lock = field(default_factory=Lock)

    def beat(self, role: str) -> None:
        """Note that the database was reached, in a role: waiting, or running."""
        with self._lock:
            self._role, self._felt_s = role, time.monotonic()

    @property
    def silent_s(self) -> float:
        """Tell how long the database was not reached, in seconds."""
        with self._lock:
            return time.monotonic() - self._felt_s

    @property
    def health(self) -> Health:
        """Tell how it is; it is unwell once its lease may have run out."""
        silent_s = self.silent_s
        return Health(self._role, self.holder, silent_s, silent_s < self.well_for_s)
