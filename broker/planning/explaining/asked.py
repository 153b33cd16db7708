"""What may be asked of a plan."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a plan; nothing in particular asks for its lines, rules and commitments.

    `why_not` is the key of an offer, `near` a number of plans. The re-solves of an answer are given
    `time_limit_s` seconds in all.
    """

    why_not: str | None = None
    near: int = 0
    relax: bool = False
    time_limit_s: float = 60.0

    @property
    def is_general(self) -> bool:
        """Say whether nothing in particular is asked."""
        return self.why_not is None and not self.near and not self.relax
