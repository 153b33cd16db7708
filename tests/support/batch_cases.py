"""Tiny cases with a batch job: options by hand, and random cases whose run is one day of a job."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from random_cases import random_case
from tiny_cases import workloads

from broker.domain.candidate import BatchCandidate, ErrorBand, Label, Layout, MemoryUse
from broker.domain.case import Case, TrainingOption
from broker.domain.gpu import Precision
from broker.domain.offer import Offer
from broker.domain.workload import Workloads

_MEMORY = MemoryUse(weights_gib=20, kv_cache_gib=30, available_gib=80)


def batch_entry(**more: object) -> dict[str, object]:
    """Write a daily job of a workloads file; `more` changes keys, None takes one out."""
    entry: dict[str, object] = {
        "name": "embed",
        "model": "llama-3.1-8b",
        "tokens_per_day": 3600.0,
        "by": "00:00 UTC",
        "output_share": 0.0,
    }
    return {key: value for key, value in (entry | more).items() if value is not None}


def batch(
    of: Offer,
    *,
    run: str,
    nodes: int = 1,
    tokens_per_s: float = 1.0,
    startup_s: float = 0.0,
    on_spot: bool = False,
    egress_usd: str = "0",
) -> TrainingOption:
    """Give one run of a job an option on a machine, its nodes full of replicas of one GPU."""
    gpus, job = int(of.hardware.shape.gpu_count), run.partition("@")[0]
    candidate = BatchCandidate(
        id=f"{job}/{of.instance_type}/{nodes}n/{'spot' if on_spot else 'firm'}",
        run=job,
        shape=of.hardware.shape,
        nodes=nodes,
        on_spot=on_spot,
        precision=Precision.BF16,
        layout=Layout(),
        replicas=gpus,
        concurrency=64,
        memory=_MEMORY,
        tokens_per_s=tokens_per_s,
        useful_share=1.0,
        startup_s=startup_s,
        label=Label.CALIBRATED,
        band=ErrorBand(low_factor=0.8, high_factor=1.2),
    )
    return TrainingOption(run, of.machine, candidate, Decimal(egress_usd))


def random_batch_case(seed: int) -> Case:
    """Draw a case as `random_case` does, and make its run, if any, one day of a batch job.

    By turns the whole day is its window, or the first two of its three slots.
    """
    of = random_case(seed)
    if not of.workloads.training:
        return of
    run = of.workloads.training[0]
    by = "00:00 UTC" if seed % 2 else "16:00 UTC"
    tokens = run.tokens if seed % 2 else run.tokens * 2 / 3
    job = batch_entry(tokens_per_day=tokens, by=by, restartable=run.restartable)
    file = _with_job(of.workloads, job)
    (day,) = file.runs
    return replace(of, workloads=file, training=tuple(_as_batch(of.training, day.name)))


def _with_job(of: Workloads, job: dict[str, object]) -> Workloads:
    data = of.model_dump(by_alias=True)
    return Workloads.model_validate(data | {"training": [], "batch": [job]}, strict=False)


def _as_batch(options: Sequence[TrainingOption], day: str) -> list[TrainingOption]:
    found = []
    for one in options:
        old = one.candidate
        same = old.model_dump(include=set(BatchCandidate.model_fields))
        candidate = BatchCandidate.model_validate(
            same
            | {
                "run": "embed",
                "precision": Precision.BF16,
                "layout": Layout(),
                "replicas": int(old.shape.gpu_count),
                "concurrency": 64.0,
            }
        )
        found.append(replace(one, run=day, candidate=candidate))
    return found


def daily(days: int, *, slot: str = "8 h", **more: object) -> Workloads:
    """Write a file with nothing but a daily job."""
    return workloads(days=days, slot=slot, batch=[batch_entry(**more)])
