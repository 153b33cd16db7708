"""Whether tonight's plan is worth acting on.

It is where there is no plan, or the one in force cannot go on. Otherwise it must save more than
its churn is worth, by the three rules of `policy.churn`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from broker.domain.policy import Churn
from broker.planning.nightly.moves import Disturbed
from broker.planning.nightly.window import Costs

_FEW = 3


class Verdict(StrEnum):
    """What a night decides."""

    FIRST = "first"
    NEEDED = "needed"
    BETTER = "better"
    KEEP = "keep"
    NO_PLAN = "no_plan"

    @property
    def is_change(self) -> bool:
        """Tell whether tonight's plan is to be acted on."""
        return self in {Verdict.FIRST, Verdict.NEEDED, Verdict.BETTER}


@dataclass(frozen=True, slots=True)
class Gain:
    """What a change saves of what the plan in force costs from now on, and what it disturbs."""

    before_usd: Decimal
    saving_usd: Decimal
    disturbed: Disturbed

    @classmethod
    def of(cls, costs: Costs, disturbed: Disturbed) -> "Gain":
        """Gather them."""
        return cls(costs.before_usd, costs.saving_usd, disturbed)

    @property
    def saving_share(self) -> float:
        """Give the part of the cost that is saved."""
        return float(self.saving_usd / self.before_usd) if self.before_usd else 0.0

    @property
    def per_disturbance(self) -> float:
        """Divide the share that is saved by the share of the nodes that are disturbed."""
        share = self.disturbed.share
        return self.saving_share / share if share else 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and the reasons for it, in sentences."""

    verdict: Verdict
    why: tuple[str, ...]


def decide(gain: Gain | None, cannot: Sequence[str], churn: Churn) -> Decision:
    """Decide between the plan in force and tonight's.

    Args:
        gain: what the change brings; None where there is no plan in force.
        cannot: why the plan in force cannot go on, empty where it can.
        churn: what a change must bring.
    """
    if gain is None:
        return Decision(Verdict.FIRST, ("there is no plan in force",))
    if cannot:
        more = len(cannot) - _FEW
        rest = (f"and {more} more reasons",) if more > 0 else ()
        return Decision(Verdict.NEEDED, ("the plan in force cannot go on", *cannot[:_FEW], *rest))
    nodes = gain.disturbed.nodes
    if not nodes:
        return Decision(
            Verdict.KEEP,
            ("tonight's plan has the same nodes do the same work, whatever they cost now",),
        )
    if gain.saving_usd <= 0:
        return Decision(Verdict.KEEP, ("tonight's plan saves nothing",))
    against = tuple(_against(gain, churn))
    if against:
        return Decision(Verdict.KEEP, (_told(gain), *against))
    return Decision(Verdict.BETTER, (_told(gain),))


def _against(gain: Gain, churn: Churn) -> Iterator[str]:
    worth = churn.usd_per_moved_node * gain.disturbed.nodes
    if gain.saving_usd <= worth:
        yield (
            f"that is not above {worth:,.2f} USD, {churn.usd_per_moved_node:,.2f} for each node "
            "(policy.churn.usd_per_moved_node)"
        )
    if gain.saving_share < churn.min_saving_fraction:
        least = f"{churn.min_saving_fraction:.1%} (policy.churn.min_saving_fraction)"
        yield f"{gain.saving_share:.1%} of the cost is less than {least}"
    if gain.per_disturbance < churn.min_saving_per_disturbance:
        yield (
            f"{gain.saving_share:.1%} saved for {gain.disturbed.share:.1%} of the nodes is "
            f"{gain.per_disturbance:.2f}, less than {churn.min_saving_per_disturbance:g} "
            "(policy.churn.min_saving_per_disturbance)"
        )


def _told(gain: Gain) -> str:
    of = gain.disturbed
    return (
        f"it saves {gain.saving_usd:,.2f} USD of {gain.before_usd:,.2f} from now on and disturbs "
        f"{of.nodes} node{'s' * (of.nodes != 1)}, of {of.of_nodes} in force"
    )
