"""The market priced on, on the other core, while plans are looked for."""

from functools import partial

from solver.milp.beside import Beside
from solver.milp.price_out import Pricing
from solver.milp.relax import Relaxed


class PricedOn:
    """Lets a pricing that had no time to be done go on, in a thread of its own or in the caller's.

    Where it is done, or there is none, nothing happens.
    """

    def __init__(self, pricing: Pricing | None) -> None:
        self._pricing = pricing
        self._job: Beside[Relaxed | None] | None = None
        self._is_paused = False

    def begin(self, ends_at: float) -> None:
        """Go on beside the caller, until a time of the pricing's clock."""
        if self._pricing is not None and not self._pricing.is_done:
            goes_on = lambda: not self._is_paused  # noqa: E731
            self._is_paused = False
            self._job = Beside(partial(self._pricing.run, ends_at, goes_on))

    def pause(self) -> None:
        """Begin no further round."""
        self._is_paused = True

    def wait(self) -> None:
        """Wait for the round that is under way after a pause."""
        if self._job is not None:
            self._job.result()
            self._job = None

    def run(self, ends_at: float) -> None:
        """Go on in the caller's thread."""
        if self._pricing is not None and not self._pricing.is_done:
            self._pricing.run(ends_at)

    def latest(self, relaxed: Relaxed) -> Relaxed:
        """Give what is known by now, if that is more than what was."""
        best = None if self._pricing is None else self._pricing.best
        return relaxed if best is None or best.bound_usd <= relaxed.bound_usd else best
