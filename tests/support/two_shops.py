"""A case of two providers in which every strategy has a cost of its own, worked out by hand.

A service asks for 2 requests/s all day, one replica carries 1, half of them may be on spot. In 24 h
a node costs:

    acme (H100)   on demand 4.00 → 96    reserved 2.50 → 60
    bolt (A100)   on demand 3.00 → 72    spot 1.00 → 24
"""

from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind

JOINT_USD = 60 + 24
COSTS_USD = {
    "on demand only": 72 + 72,
    "no commitments": 72 + 24,
    "no spot": 60 + 60,
    "no sharing of nodes": 60 + 24,
    "best single provider: bolt": 72 + 24,
    "one GPU model for all: A100-80-SXM": 72 + 24,
    "one NVIDIA generation for all: Ampere": 72 + 24,
}


def two_shops(*, owned_nodes: int = 0) -> Case:
    """Build the case, with nodes of acme's that are owned already."""
    acme = offer("4.00", provider="acme")
    bolt = with_gpu(offer("3.00", provider="bolt"), "A100-80-SXM")
    spot = with_gpu(offer("1.00", provider="bolt", kind=PriceKind.SPOT), "A100-80-SXM")
    reserved = offer("2.50", provider="acme", kind=PriceKind.RESERVED, term_months=1)
    file = workloads(
        services=[service_entry(2, 2, spot={"max_share": 0.5})], policy={"max_groups": 2}
    )
    options = [serving(acme, [1]), serving(bolt, [1]), serving(bolt, [1], on_spot=True)]
    held = [(acme, owned_nodes)] if owned_nodes else []
    return case(file, [acme, bolt, spot, reserved], serving=options, owned=held)


def with_gpu(of: Offer, gpu: str) -> Offer:
    """Give an offer's node another model of GPU."""
    shape = of.hardware.shape.model_copy(update={"gpu": gpu})
    return of.model_copy(update={"hardware": of.hardware.model_copy(update={"shape": shape})})
