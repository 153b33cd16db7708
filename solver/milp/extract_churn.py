"""What a plan counts for nodes that the plan in force does not have, exactly: from counts."""

from collections.abc import Iterator, Sequence

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import CostLine, Purchase, Term
from solver.milp.churn import nodes_in_force, weighs_churn
from solver.milp.tenants import id_sold


def churn_cost_lines(case: Case, bought: Sequence[Purchase]) -> tuple[CostLine, ...]:
    """Write a cost line for each purchase that has more nodes at its peak than are in force."""
    return tuple(_lines(case, bought)) if weighs_churn(case) else ()


def _lines(case: Case, bought: Sequence[Purchase]) -> Iterator[CostLine]:
    usd = case.workloads.policy.churn.usd_per_moved_node
    known = nodes_in_force(case)
    for one in bought:
        most = max((step.nodes for step in one.steps), default=0)
        moved = most - known.get(id_sold(case, one.id), 0)
        if one.price_kind is not PriceKind.OWNED and moved > 0 and usd:
            yield CostLine(term=Term.CHURN, subject=one.id, usd=usd * moved)
