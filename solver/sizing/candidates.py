"""Candidates of a workload on a shape: what fits and meets the objective, why the rest does not.

Sizing ends here: the program takes rates, layouts and memory as facts and never computes one.
"""

from broker.domain.candidate import Refusal, ServingCandidate, TrainingCandidate
from broker.domain.gpu import GpuModel
from broker.domain.llm import LlmModel
from broker.domain.margin import SafetyMargin
from broker.domain.offer import Shape, SpotTerms
from broker.domain.workload import Service, TrainingRun
from solver.sizing.serving import (
    Setting,
    arithmetics,
    not_dominated,
    replicas,
    shape_refusal,
    size_replica,
)
from solver.sizing.training import Ground, ground_refusal, size_run


def serving_candidates(
    service: Service,
    shape: Shape,
    *,
    gpu: GpuModel,
    model: LlmModel,
    rtt_s: float,
    safety_margin: SafetyMargin,
) -> tuple[list[ServingCandidate], list[Refusal]]:
    """Size one replica of a service on part of a node, for each precision and group size.

    Args:
        service: the service; its `precisions` are tried in order.
        shape: the node's GPUs and link.
        gpu: the datasheet of `shape.gpu`.
        model: the network that `service.model` names.
        rtt_s: seconds of the network round trip to its users, taken off the first token's limit.
        safety_margin: share taken off every rate, or `from_error_band`: its band's bad end.

    Returns:
        The candidates that no other on this shape beats, and a refusal for all that cannot serve.
    """
    candidates, refusals = every_serving_candidate(
        service, shape, gpu=gpu, model=model, rtt_s=rtt_s, safety_margin=safety_margin
    )
    return not_dominated(candidates), refusals


def every_serving_candidate(
    service: Service,
    shape: Shape,
    *,
    gpu: GpuModel,
    model: LlmModel,
    rtt_s: float,
    safety_margin: SafetyMargin,
) -> tuple[list[ServingCandidate], list[Refusal]]:
    """Size a service as `serving_candidates` does, and keep those that another beats, too."""
    setting = Setting(service, shape, gpu, model, rtt_s, safety_margin)
    refusal = shape_refusal(setting)
    if refusal is not None:
        return [], [refusal]
    found, refusals = arithmetics(setting)
    candidates: list[ServingCandidate] = []
    for replica in replicas(setting, found):
        sized = replica if isinstance(replica, Refusal) else size_replica(setting, replica)
        if isinstance(sized, Refusal):
            refusals.append(sized)
        else:
            candidates.append(sized)
    return candidates, refusals


def training_candidates(
    run: TrainingRun,
    shape: Shape,
    *,
    gpu: GpuModel,
    model: LlmModel,
    spot: SpotTerms | None,
    safety_margin: SafetyMargin,
) -> tuple[list[TrainingCandidate], list[Refusal]]:
    """Size a run on whole nodes of a shape, for each number of GPUs that it may use.

    Args:
        run: the run; `run.hardware.gpus` lists the numbers of GPUs.
        shape: the node's GPUs, link and fabric.
        gpu: the datasheet of `shape.gpu`.
        model: the network that `run.model` names.
        spot: what is known of interruptions on spot; None is firm capacity.
        safety_margin: share taken off every rate, or `from_error_band`: its band's bad end.

    Returns:
        The fastest layout that fits for each number of GPUs, and a refusal for each other number.
    """
    ground = Ground(run, shape, gpu, model, spot, safety_margin)
    refusal = ground_refusal(ground)
    if refusal is not None:
        return [], [refusal]
    candidates: list[TrainingCandidate] = []
    refusals: list[Refusal] = []
    for gpus in dict.fromkeys(run.hardware.gpus):
        sized = size_run(ground, gpus)
        if isinstance(sized, Refusal):
            refusals.append(sized)
        else:
            candidates.append(sized)
    return candidates, refusals
