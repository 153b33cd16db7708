"""Pauses of Python's search for cycles while a great many values are made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Put off the search for cycles, of which offers have none, while a great many are made.

    It looks at all of them again and again, which takes a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
