"""What a plan buys of a few offers for a load of so many GPUs, as the verifier accepts it."""

from solving import assembled, solved
from tiny_cases import case, service_entry, serving, workloads

from broker.domain.offer import Offer
from broker.verification.check import check


def gpus_bought(gpus: int, *of: Offer) -> dict[str, int]:
    """Plan for a steady load of so many GPUs; give the most GPUs taken of each offer."""
    demand = workloads(services=[service_entry(gpus, gpus)], policy={"max_groups": 2})
    problem = case(demand, of, serving=[serving(one, [1.0]) for one in of])
    optimum = solved(problem)
    plan = assembled(problem, optimum)
    assert check(plan, problem, snapshot="c5a1", workloads_sha256="10ad") == ()
    size = {one.key: int(one.hardware.shape.gpu_count) for one in of}
    return {
        one.offer: size[one.offer] * max(step.nodes for step in one.steps)
        for one in optimum.purchases
    }
