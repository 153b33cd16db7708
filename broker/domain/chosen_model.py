"""Which network answers, where a workload leaves a choice of several."""

from broker.domain.plan import Plan, ServingAssignment


def chosen_model(plan: Plan, one: ServingAssignment) -> str:
    """Name the network that answers where the service offers several; empty where it has one."""
    offered = {service.name: service.models for service in plan.workloads.services}
    models = offered.get(one.service, ())
    return one.candidate.model or models[0] if len(models) > 1 else ""
