"""Which process works on a night: one at a time, and none that is gone.

On one machine a claim holds while its process lives, whatever the clock says. Of another machine's
process nobody here can know, so its claim holds for its stated length from its last step.
"""

import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

_STARTED = 19
"""Where the start of a process stands in /proc/PID/stat, after its name."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that a row shows; nobody holds it where `by` is empty."""

    by: str
    at: datetime
    lasts: timedelta

    def is_held(self, now: datetime) -> bool:
        """Tell whether somebody is at work now."""
        if not self.by:
            return False
        host, pid, started = self.by.rsplit(":", 2)
        is_recent = abs(now - self.at) < self.lasts
        if host != socket.gethostname():
            return is_recent
        if not started:  # its number may be another process's by now
            return is_recent and _lives(int(pid))
        return _lives(int(pid)) and _started(int(pid)) == started


def own_claim() -> str:
    """Name this process: machine, number and start."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def _started(pid: int) -> str:
    """Give the start of a process in the kernel's ticks; empty where there is no /proc."""
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()
        is_dead = fields[0] in {"Z", "X"}  # it ended, and its parent has not noticed
        return "" if is_dead else fields[_STARTED]
    return ""


def _lives(pid: int) -> bool:
    if sys.platform == "win32":  # a signal 0 would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and another user's
        return True
    return True
