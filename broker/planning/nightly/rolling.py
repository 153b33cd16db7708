"""A horizon that moves on each day: how a plan that began earlier is held against tonight's.

It is held to tonight's demand over its own horizon, its cost is compared while both plans last,
and it is followed by tonight's plan once less than half a horizon of it is left.
"""

from datetime import datetime

from broker.domain.plan import Plan
from broker.domain.traffic import pinned
from broker.domain.workload import Workloads
from broker.planning.differences.lines import Window


def over_its_own(demand: Workloads, plan: Plan) -> Workloads:
    """Give tonight's demand over the horizon of a plan, without the runs that begin after it."""
    horizon = plan.workloads.horizon
    training = tuple(run for run in demand.training if run.window.earliest < horizon.end)
    batch = tuple(
        job for job in demand.batch if job.window is None or job.window.earliest < horizon.end
    )
    services = tuple(pinned(one, demand.horizon) for one in demand.services)
    return demand.model_copy(
        update={"horizon": horizon, "training": training, "batch": batch, "services": services}
    )


def why_followed(plan: Plan, demand: Workloads, now: datetime) -> tuple[str, ...]:
    """Say that a plan ends too soon to go on, if it does."""
    ends_at, half = plan.workloads.horizon.end, (demand.horizon.end - demand.horizon.start) / 2
    if ends_at - now >= half:
        return ()
    left = f"less than half of the {demand.horizon.days} days of the horizon is left of it"
    return (f"it ends on {ends_at:%Y-%m-%d}, and {left}",)


def not_comparable(in_force: Plan, made: Plan, window: Window) -> tuple[str, ...]:
    """Say which runs tonight's plan does later than the plan in force lasts.

    What they cost there is not in the comparison, so a saving would be none.
    """
    carried = {one.run for one in in_force.training}
    late = {
        one.run
        for one in made.training
        if one.run in carried and any(step.to_at > window.to_at for step in one.steps)
    }
    return tuple(
        f"it works on the run {run} after {window.to_at:%Y-%m-%d}, when the plan in force ends, so "
        "the two cannot be compared"
        for run in sorted(late)
    )
