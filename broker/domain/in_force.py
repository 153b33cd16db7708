"""The nodes of the plan in force, which a new plan is weighed against: others are moved nodes."""

from dataclasses import replace

from broker.domain.case import Case
from broker.domain.horizon import Horizon
from broker.domain.offer import PriceKind
from broker.domain.plan import LineInForce, Plan


def lines_in_force(plan: Plan, horizon: Horizon) -> tuple[LineInForce, ...] | None:
    """Give the most nodes of each line of a plan inside a horizon; None where it is over by then.

    Owned nodes are there anyway, and a savings plan has none.
    """
    own = plan.workloads.horizon
    if not plan.purchases or own.end <= horizon.start or horizon.end <= own.start:
        return None
    most = {
        one.id: max(
            (
                step.nodes
                for step in one.steps
                if step.from_at < horizon.end and horizon.start < step.to_at
            ),
            default=0,
        )
        for one in plan.purchases
        if one.price_kind is not PriceKind.OWNED
    }
    return tuple(LineInForce(line=line, nodes=most[line]) for line in sorted(most) if most[line])


def weighed_against(case: Case, lines: tuple[LineInForce, ...] | None) -> Case:
    """Have the plan of a case weighed against nodes in force, where the policy asks for it."""
    asks = case.workloads.policy.churn.in_plan
    return replace(case, in_force=lines if asks else None)


def weighed_against_plan(case: Case, plan: Plan | None) -> Case:
    """Have the plan of a case weighed against another one that is in force, where there is one."""
    lines = None if plan is None else lines_in_force(plan, case.workloads.horizon)
    return weighed_against(case, lines)
