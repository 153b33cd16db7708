"""What wakes a waiting thread, also from a signal handler."""

from queue import Empty, SimpleQueue


class Bell:
    """Rings until it is heard.

    A `threading.Event` would not do: set by a signal handler while its own thread is about to wait
    for it, it locks up. Putting into this queue may interrupt any other use of it.
    """

    def __init__(self) -> None:
        self._rings: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """Wake whoever waits, or else the next who will."""
        self._rings.put(None)

    def wait(self, seconds: float) -> None:
        """Wait for a ring, and so long at most; all rings so far are heard."""
        try:
            self._rings.get(timeout=max(0.0, seconds))
            while True:
                self._rings.get_nowait()
        except Empty:
            return
