"""Who is sending a message: one process at a time, and none that is gone.

A claim says which process of which host has it. It holds while that process lives, for ten
minutes at most, which is longer than any sink tries; a clock that was set does not lengthen it.
"""

import os
import socket
import sys
from datetime import datetime, timedelta

_HOLDS = timedelta(minutes=10)


def own_claim() -> str:
    """Name this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_held(claimed_by: str, claimed_at: datetime | None, now: datetime) -> bool:
    """Tell whether somebody is sending the message now, by what its row says."""
    if not claimed_by or claimed_at is None or not abs(now - claimed_at) < _HOLDS:
        return False
    host, _, pid = claimed_by.rpartition(":")
    return host != socket.gethostname() or _lives(int(pid))


def _lives(pid: int) -> bool:
    if sys.platform == "win32":  # a signal 0 would end the process there: wait for the time instead
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and another user's
        return True
    return True
