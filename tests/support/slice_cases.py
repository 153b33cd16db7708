"""Tiny cases in which replicas may be on slices of a GPU, a quarter or a half of it."""

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from changed_cases import with_workloads
from random_cases import random_case
from tiny_cases import serving

from broker.domain.case import Case, ServingOption
from broker.domain.gpu import GpuSlice
from broker.domain.offer import Offer, Virtualization

PROFILES = {Fraction(1, 4): "1g.20gb", Fraction(1, 2): "3g.40gb"}
QUARTER, HALF = PROFILES


def cuttable(of: Offer) -> Offer:
    """Let the buyer have the whole machine."""
    hardware = of.hardware.model_copy(update={"virtualization": Virtualization.VM})
    return of.model_copy(update={"hardware": hardware})


def sliced(
    of: Offer,
    rates: Sequence[float],
    part: Fraction,
    *,
    service: str = "chat",
    on_spot: bool = False,
) -> ServingOption:
    """Give a replica on a slice of a GPU."""
    whole = serving(of, rates, service=service, on_spot=on_spot)
    profile = PROFILES[part]
    candidate = whole.candidate.model_copy(
        update={
            "id": f"{service}/{of.instance_type}/{profile}",
            "gpu": f"{whole.candidate.gpu}-{profile}",
            "gpu_slice": GpuSlice(profile=profile, gpu_share=part),
        }
    )
    return replace(whole, candidate=candidate)


def on_slices(of: Case, seed: int) -> Case:
    """Add slices to a case beside the whole GPUs of all its machines, or instead of them.

    They carry a part of what a GPU does that is now more, now less than theirs of it.
    """
    draw = random.Random(f"slices {seed}")  # noqa: S311 - instances, not secrets
    parts = draw.choice([[QUARTER], [HALF], [QUARTER, HALF]])
    kept = draw.random() < 0.5
    shares = {part: float(part) * draw.choice([0.8, 1.0, 1.3]) for part in parts}
    found = [one for one in of.serving if kept]
    alike = {(one.service, one.user_region, one.machine, one.on_spot): one for one in of.serving}
    for one in alike.values():
        per_gpu = [rate.requests_per_s / one.candidate.layout.gpus for rate in one.candidate.rates]
        for part in parts:
            rates = [shares[part] * rate for rate in per_gpu]
            own = sliced(
                of.machines[one.machine],
                rates,
                part,
                service=one.service,
                on_spot=one.on_spot,
            )
            found.append(replace(own, user_region=one.user_region))
    every = range(len(of.workloads.services))
    return with_workloads(
        replace(
            of,
            offers=tuple(map(cuttable, of.offers)),
            machines={key: cuttable(one) for key, one in of.machines.items()},
            serving=tuple(found),
        ),
        {f"services.{at}.mig": True for at in every},
    )


def slice_case(seed: int) -> Case:
    """Draw a tiny case with slices, of so little load that few of them carry it."""
    drawn = random_case(seed)
    curve = drawn.workloads.services[0].traffic.requests_per_s
    factor = 1.6 / max(curve.peak, 1.6)
    changes: dict[str, object] = {
        "services.0.traffic.requests_per_s.mean": curve.mean * factor,
        "services.0.traffic.requests_per_s.peak": curve.peak * factor,
    }
    return on_slices(with_workloads(drawn, changes), seed)
