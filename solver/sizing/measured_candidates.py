"""Candidates with the user's own numbers: the same sizing, corrected where points support it.

A deployment without points of its own is sized as if there were none at all.
"""

import math
import re
from dataclasses import dataclass
from datetime import timedelta

from broker.domain.candidate import (
    ClassRate,
    ErrorBand,
    Label,
    Refusal,
    RunHours,
    ServingCandidate,
    TrainingCandidate,
)
from broker.domain.gpu import GpuModel, Precision
from broker.domain.latency import LatencyObjective, Percentile
from broker.domain.llm import LlmModel
from broker.domain.margin import SafetyMargin, kept_share
from broker.domain.offer import Shape, SpotTerms
from broker.domain.workload import Service, TrainingRun
from solver.sizing.candidates import (
    every_serving_candidate,
    serving_candidates,
    training_candidates,
)
from solver.sizing.links import serving_link
from solver.sizing.margins import margin_text
from solver.sizing.measured import (
    NO_NUMBERS,
    Deployment,
    Factor,
    OwnNumbers,
    ServingCorrection,
    TrainedOn,
    serving_at,
    training_at,
)
from solver.sizing.precisions import serving_arithmetic
from solver.sizing.serving import not_dominated
from solver.sizing.serving_facts import Replica, Split
from solver.sizing.serving_rate import Pessimism
from solver.sizing.serving_trust import serving_trust

_FIRST_CONCURRENCY = 32.0
_ROUNDS = 3
"""The factor depends a little on the concurrency, which depends on the factor: it settles fast."""
_MICRO = 1e6
_Sized = tuple[list[ServingCandidate], list[Refusal]]


def serving_with_own(
    service: Service,
    shape: Shape,
    *,
    gpu: GpuModel,
    model: LlmModel,
    rtt_s: float,
    safety_margin: SafetyMargin,
    own: OwnNumbers = NO_NUMBERS,
) -> _Sized:
    """Size one replica of a service as `serving_candidates` does, with the user's own numbers.

    The arguments are those of `serving_candidates`; `own` corrects the deployments that it knows.
    """
    setting = _Setting(service, shape, gpu, model, rtt_s, safety_margin)
    if not any(
        _deployment(service, one, gpu=gpu, model=model) in own.serving for one in service.precisions
    ):
        return serving_candidates(
            service, shape, gpu=gpu, model=model, rtt_s=rtt_s, safety_margin=safety_margin
        )
    candidates: list[ServingCandidate] = []
    refusals: list[Refusal] = []
    for precision in service.precisions:
        known = own.serving.get(_deployment(service, precision, gpu=gpu, model=model))
        found, refused = (
            setting.sized(precision) if known is None else _corrected(setting, precision, known)
        )
        same = {one.id for one in candidates}
        candidates += [one for one in found if one.id not in same]
        refusals += [one for one in refused if one not in refusals]
    return not_dominated(candidates), refusals


def training_with_own(
    run: TrainingRun,
    shape: Shape,
    *,
    gpu: GpuModel,
    model: LlmModel,
    spot: SpotTerms | None,
    safety_margin: SafetyMargin,
    own: OwnNumbers = NO_NUMBERS,
) -> tuple[list[TrainingCandidate], list[Refusal]]:
    """Size a run as `training_candidates` does, with the user's own numbers.

    The arguments are those of `training_candidates`.
    """
    candidates, refusals = training_candidates(
        run, shape, gpu=gpu, model=model, spot=spot, safety_margin=safety_margin
    )
    trained = TrainedOn(model.name, gpu.name, run.stack, run.method, run.precision)
    known = own.training.get(trained)
    if known is None:
        return candidates, refusals
    points = len(known.residuals)
    corrected = []
    for one in candidates:
        gpus = one.nodes * int(shape.gpu_count)
        at = training_at(gpus, run.sequence_length, run.global_batch_tokens)
        corrected.append(_paced(one, known.at(at), points, safety_margin))
    return corrected, refusals


@dataclass(frozen=True, slots=True)
class _Slowness:
    """How slow a deployment is against its estimates, and how much slower it is tested at.

    `step` corrects rates. `tpot` and `ttft` are what the tested times are multiplied by: the
    correction, times the bad end of its own band over that of the class.
    """

    step: Factor
    tpot: float
    ttft: float


_AS_ESTIMATED = _Slowness(Factor(1.0, ErrorBand(low_factor=1.0, high_factor=1.0)), 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class _Setting:
    """The arguments of a sizing, to be asked again with other limits."""

    service: Service
    shape: Shape
    gpu: GpuModel
    model: LlmModel
    rtt_s: float
    safety_margin: SafetyMargin

    def sized(self, precision: Precision, slow: _Slowness = _AS_ESTIMATED) -> _Sized:
        """Size one precision at limits that are as much tighter as the deployment is slower.

        The network's part of the first token does not scale. The engine's version does not count
        where points correct it.
        """
        slo, rtt_s = self.service.slo, self.rtt_s
        if slow is not _AS_ESTIMATED:
            slo = LatencyObjective(
                ttft=_limit(slo.ttft, (slo.ttft.limit_s - rtt_s) / slow.ttft + rtt_s),
                tpot=_limit(slo.tpot, slo.tpot.limit_s / slow.tpot),
            )
        dated = self.service.engine_released_on if slow is _AS_ESTIMATED else None
        service = self.service.model_copy(
            update={"precisions": (precision,), "slo": slo, "engine_released_on": dated}
        )
        return every_serving_candidate(
            service,
            self.shape,
            gpu=self.gpu,
            model=self.model,
            rtt_s=rtt_s,
            safety_margin=self.safety_margin,
        )

    def class_pessimism(self, precision: Precision, group: int) -> Pessimism | None:
        """Give the factors that the class of a group's estimates is tested at; None if unsized."""
        arithmetic = serving_arithmetic(gpu=self.gpu, precision=precision)
        link = serving_link(shape=self.shape, gpu=self.gpu, gpus=group)
        if arithmetic is None or link is None:
            return None
        replica = Replica(self.gpu, self.model, arithmetic, Split(tensor=group), link)
        return serving_trust(replica).pessimism


def _corrected(setting: _Setting, precision: Precision, known: ServingCorrection) -> _Sized:
    """Size one precision of a measured deployment, each group of GPUs with its own factor."""
    count = setting.shape.gpu_count
    if count.denominator != 1:
        return setting.sized(precision)
    found: list[ServingCandidate] = []
    refusals: list[Refusal] = []
    for group in range(1, int(count) + 1):
        if count % group == 0:
            sized, refused = _of_group(setting, precision, known, group=group)
            found += sized
            refusals += [one for one in refused if one not in refusals]
    return found, refusals


def _of_group(
    setting: _Setting, precision: Precision, known: ServingCorrection, *, group: int
) -> _Sized:
    """Size the layouts of one number of GPUs, with the factor at the concurrency they reach."""
    concurrency = _FIRST_CONCURRENCY
    tested = setting.class_pessimism(precision, group)
    for _ in range(_ROUNDS):
        slow = _slowness(setting.service, known, tested, concurrency=concurrency, group=group)
        found, refusals = setting.sized(precision, slow)
        mine = [one for one in found if one.layout.gpus == group]
        if not mine:
            break
        concurrency = max(rate.concurrency for one in mine for rate in one.rates)
    told = (
        f"; by your {known.points} points a token takes {slow.step.factor:.2f} × its estimate, "
        f"so the limits here are divided: TTFT by {slow.ttft:.2f}, TPOT by {slow.tpot:.2f}"
    )
    is_late = {"ttft_missed", "tpot_missed"}
    margin = setting.safety_margin
    return [_measured(one, slow, known.points, margin) for one in mine], [
        one.model_copy(update={"detail": one.detail + told}) if one.reason in is_late else one
        for one in refusals
        if _group_in(one.subject) in (group, None)
    ]


def _slowness(
    service: Service,
    known: ServingCorrection,
    tested: Pessimism | None,
    *,
    concurrency: float,
    group: int,
) -> _Slowness:
    """Take the size of request that comes out slowest against its estimate.

    Without measured first tokens theirs is as slow as the steps where those are slower than
    estimated, and as estimated where they are not.
    """
    places = [
        serving_at(
            concurrency=concurrency,
            input_tokens=size.input_tokens,
            output_tokens=size.output_tokens,
            tensor=group,
        )
        for size in service.sizes
    ]
    step = max((known.step.at(place) for place in places), key=lambda one: one.factor)
    ttft = max(1.0, step.factor)
    if known.first is not None:
        first = max((known.first.at(place) for place in places), key=lambda one: one.factor)
        ttft = first.factor * _relief(first, tested.ttft_factor if tested else 1.0)
    return _Slowness(step, step.factor * _relief(step, tested.tpot_factor if tested else 1.0), ttft)


def _relief(own: Factor, class_factor: float) -> float:
    """Give the bad end of a correction's band over that of its class, where it is narrower."""
    return min(1.0, own.band.high_factor / class_factor)


def _limit(percentile: Percentile, seconds: float) -> Percentile:
    name = f"p{percentile.share * 100:.0f}"
    # rounded down: what keeps it keeps the true limit; the network alone may be slower than that
    whole = max(0, math.floor(seconds * _MICRO))
    return Percentile.model_validate({name: timedelta(microseconds=whole)})


def _measured(
    candidate: ServingCandidate, slow: _Slowness, points: int, margin: SafetyMargin
) -> ServingCandidate:
    """Correct a candidate's times and rates; it is measured where that narrows its band."""
    better = _better(candidate.band, slow.step)
    regained = kept_share(margin, better.band) / kept_share(margin, candidate.band)
    rates = tuple(
        ClassRate(
            requests_per_s=rate.requests_per_s / slow.step.factor * regained,
            concurrency=rate.concurrency,
            ttft_s=rate.ttft_s * slow.ttft,
            tpot_s=rate.tpot_s * slow.tpot,
        )
        for rate in candidate.rates
    )
    told = (
        f"times per token × {slow.step.factor:.2f} by {points} points of your own of this "
        f"deployment; the tested TTFT × {slow.ttft:.2f}, the tested TPOT × {slow.tpot:.2f}"
    )
    return candidate.model_copy(
        update={
            "rates": rates,
            "label": better.label or candidate.label,
            "band": better.band,
            "assumptions": (*_with_margin(candidate, margin, better.band), told),
        }
    )


def _paced(
    candidate: TrainingCandidate, slow: Factor, points: int, margin: SafetyMargin
) -> TrainingCandidate:
    """Correct a run's pace; it is measured where that narrows its band."""
    better = _better(candidate.band, slow)
    regained = kept_share(margin, better.band) / kept_share(margin, candidate.band)
    slower = slow.factor / regained
    told = f"steps × {slow.factor:.2f} by {points} runs of your own of this deployment"
    return candidate.model_copy(
        update={
            "tokens_per_s": candidate.tokens_per_s / slower,
            "mfu": candidate.mfu / slow.factor,
            "hours": _stretched(candidate.hours, slower) if candidate.hours else None,
            "label": better.label or candidate.label,
            "band": better.band,
            "assumptions": (*_with_margin(candidate, margin, better.band), told),
        }
    )


def _stretched(hours: RunHours, slower: float) -> RunHours:
    """Make all but the initialisation of a run's hours that much longer."""
    billed_h = (hours.billed_h - hours.initialisation_h) * slower + hours.initialisation_h
    longer = billed_h / hours.billed_h
    return RunHours(
        steps_h=hours.steps_h * slower,
        evaluation_h=hours.evaluation_h * slower,
        checkpoints_h=hours.checkpoints_h * slower,
        losses_h=hours.losses_h * slower,
        initialisation_h=hours.initialisation_h,
        billed_h=billed_h,
        makespan_h=(hours.makespan_h[0] * longer, hours.makespan_h[1] * longer),
    )


@dataclass(frozen=True, slots=True)
class _Trusted:
    """A band, and the label that goes with it; None leaves the one that was."""

    band: ErrorBand
    label: Label | None


def _better(band: ErrorBand, slow: Factor) -> _Trusted:
    """Give the narrower of the band of the class and that of the points, turned into a rate's."""
    own = ErrorBand(low_factor=1 / slow.band.high_factor, high_factor=1 / slow.band.low_factor)
    if _width(own) < _width(band):
        return _Trusted(own, Label.MEASURED)
    return _Trusted(band, None)


def _with_margin(
    candidate: ServingCandidate | TrainingCandidate, margin: SafetyMargin, band: ErrorBand
) -> tuple[str, ...]:
    """Say the margin of the new band where that of the old one was said."""
    old, new = margin_text(margin, candidate.band), margin_text(margin, band)
    return tuple(new if one == old else one for one in candidate.assumptions)


def _width(band: ErrorBand) -> float:
    return band.high_factor / band.low_factor


def _deployment(
    service: Service, precision: Precision, *, gpu: GpuModel, model: LlmModel
) -> Deployment:
    """Name the deployment; GPUs without BF16 units run such weights as FP16."""
    runs_as_fp16 = precision is Precision.BF16 and not gpu.has_bf16
    kept = Precision.FP16 if runs_as_fp16 else precision
    return Deployment(model.name, gpu.name, service.engine.value, kept)


def _group_in(subject: str) -> int | None:
    """Read the GPUs of a layout out of what a refusal is about; None where it names no layout."""
    degrees = [int(size) for size in re.findall(r"\b(?:tp|pp|dp)(\d+)", subject)]
    return math.prod(degrees) if degrees else None
