"""What moved nodes count as, line by line, in a tiny case."""

from broker.domain.case import Case
from broker.domain.offer import Offer


def moved_usd(of: Case, offer: Offer, nodes: int) -> float:
    """Count the nodes of an offer beyond those that are in force of it."""
    if of.in_force is None:
        return 0.0
    had = sum(one.nodes for one in of.in_force if one.line == offer.key)
    return float(of.workloads.policy.churn.usd_per_moved_node) * max(nodes - had, 0)
