"""Memory that was let go of, given back to the system."""

import ctypes
import sys


def give_back() -> None:
    """Give back what is free; without that a process stays as large as its largest step was.

    The C library of most Linux systems can; elsewhere nothing is done.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
