"""The narrower ways to buy that a plan is compared with, and the names they have in a plan."""

from enum import StrEnum

_WHICH = ": "


class StrategyName(StrEnum):
    """A way to buy for the same demand; each but the joint plan gives up a freedom of it."""

    JOINT = "joint plan"
    INVENTORY_KEPT = "today's inventory kept"
    ON_DEMAND_ONLY = "on demand only"
    NO_COMMITMENTS = "no commitments"
    NO_SPOT = "no spot"
    NO_SHARING = "no sharing of nodes"
    SINGLE_PROVIDER = "best single provider"
    ONE_GPU_MODEL = "one GPU model for all"
    ONE_GENERATION = "one NVIDIA generation for all"

    def of(self, choice: str) -> str:
        """Name the strategy in a plan, with the provider, model or generation that was chosen."""
        return f"{self.value}{_WHICH}{choice}" if choice else self.value


def split_name(strategy: str) -> tuple[StrategyName | None, str]:
    """Read the name of a comparison: the strategy, None where it is not ours, and the choice."""
    name, _, choice = strategy.partition(_WHICH)
    try:
        return StrategyName(name), choice
    except ValueError:
        return None, ""
