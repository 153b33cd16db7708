"""Where a search may begin: what an earlier plan for much the same case chose."""

from dataclasses import dataclass
from typing import Self

from broker.domain.plan import Plan


@dataclass(frozen=True, slots=True)
class Start:
    """The kinds of replica and the run options of an earlier plan; what is gone says nothing.

    Names are (service, user region, machine, candidate) and (run, machine, candidate).
    """

    kinds: frozenset[tuple[str, str, str, str]] = frozenset()
    options: frozenset[tuple[str, str, str]] = frozenset()

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Read a plan's choices."""
        return cls(
            kinds=frozenset(
                (one.service, one.user_region, one.machine, one.candidate.id)
                for one in plan.serving
            ),
            options=frozenset((one.run, one.machine, one.candidate.id) for one in plan.training),
        )


NOWHERE = Start()
"""No earlier plan is known."""
