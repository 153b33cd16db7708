"""A second opinion: another estimator is asked of the same replicas.

An estimator answers for one replica at one number of requests in flight. The largest number within
the objective is found by doubling and halving, as our own formulas do; what the estimator calls
means are held against the limits as they stand, without a percentile.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from broker.domain.candidate import ClassRate, ErrorBand, Label, Refusal
from broker.domain.llm import LlmModel
from broker.planning.sizing.asked import ServeAsked
from broker.planning.sizing.serving import Served, usd_per_million
from broker.planning.sizing.unfit import Refused
from broker.reports.size_view import OpinionRow

MOST_IN_FLIGHT: Final = 512


@dataclass(frozen=True, slots=True)
class Replica:
    """What an estimator is asked about."""

    model: LlmModel
    gpu: str
    precision: str
    tensor: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """One replica at a number of requests in flight: mean seconds, requests a second."""

    ttft_s: float
    tpot_s: float
    requests_per_s: float


@dataclass(frozen=True, slots=True)
class NoEstimate:
    """Why an estimator has no answer."""

    reason: str
    detail: str


class Estimator(Protocol):
    """Whoever estimates replicas."""

    @property
    def name(self) -> str:
        """Name it, with its version."""

    def estimate(self, replica: Replica, in_flight: int) -> Estimate | NoEstimate:
        """Estimate one replica at a number of requests in flight."""


def judged_by(
    estimator: Estimator, found: Sequence[Served], asked: ServeAsked, model: LlmModel
) -> tuple[list[Served], list[Refused]]:
    """Put an estimator's figures in the place of ours, and order them by its price."""
    judged: list[Served] = []
    refused: list[Refused] = []
    for one in found:
        answer = best_of(estimator, _replica(one, asked, model), asked)
        if isinstance(answer, NoEstimate):
            subject = f"{one.candidate.gpu}/{estimator.name}/{one.candidate.precision}"
            refusal = Refusal(
                workload=one.candidate.service,
                subject=f"{subject}/{one.candidate.layout}",
                reason=answer.reason,
                detail=f"{estimator.name}: {answer.detail}",
            )
            refused.append(Refused(one.offer.hardware.shape, refusal))
        else:
            judged.append(_with(one, answer, estimator.name, asked))
    return sorted(judged, key=lambda one: (one.usd, one.offer.key)), refused


def compared(
    estimator: Estimator, found: Sequence[Served], asked: ServeAsked, model: LlmModel
) -> tuple[OpinionRow, ...]:
    """Show an estimator's figures beside ours."""
    return tuple(
        _row(one, best_of(estimator, _replica(one, asked, model), asked), asked) for one in found
    )


def best_of(
    estimator: Estimator, replica: Replica, asked: ServeAsked
) -> tuple[int, Estimate] | NoEstimate:
    """Find the most requests in flight that keep both limits, to about an eighth."""
    first = estimator.estimate(replica, 1)
    if isinstance(first, NoEstimate):
        return first
    if not _keeps(first, asked):
        return NoEstimate(
            "missed", f"TTFT {first.ttft_s:.2f} s, TPOT {first.tpot_s * 1000:.0f} ms for one alone"
        )
    best, low, high = first, 1, 2
    while high <= MOST_IN_FLIGHT and (tried := _kept(estimator, replica, high, asked)):
        best, low, high = tried, high, high * 2
    while high - low > max(1, low // 8):
        middle = (low + high) // 2
        tried = _kept(estimator, replica, middle, asked) if middle <= MOST_IN_FLIGHT else None
        if tried:
            best, low = tried, middle
        else:
            high = middle
    return low, best


def _kept(
    estimator: Estimator, replica: Replica, in_flight: int, asked: ServeAsked
) -> Estimate | None:
    found = estimator.estimate(replica, in_flight)
    return None if isinstance(found, NoEstimate) or not _keeps(found, asked) else found


def _keeps(found: Estimate, asked: ServeAsked) -> bool:
    return found.ttft_s <= asked.slo.ttft.limit_s and found.tpot_s <= asked.slo.tpot.limit_s


def _replica(one: Served, asked: ServeAsked, model: LlmModel) -> Replica:
    return Replica(
        model=model,
        gpu=one.candidate.gpu,
        precision=one.candidate.precision.value,
        tensor=one.candidate.layout.tensor,
        input_tokens=asked.input_tokens,
        output_tokens=asked.output_tokens,
    )


def _with(one: Served, answer: tuple[int, Estimate], name: str, asked: ServeAsked) -> Served:
    in_flight, found = answer
    rate = ClassRate(
        requests_per_s=found.requests_per_s * (1 - asked.safety_margin),
        concurrency=float(in_flight),
        ttft_s=found.ttft_s,
        tpot_s=found.tpot_s,
    )
    told = f"estimated by {name}: mean latencies, no percentile; its error band is not known to us"
    candidate = one.candidate.model_copy(
        update={
            "rates": (rate,),
            "label": Label.ESTIMATED,
            "band": ErrorBand(low_factor=0.5, high_factor=2.0),
            "assumptions": (told, f"rates less a safety margin of {asked.safety_margin:.0%}"),
        }
    )
    usd = usd_per_million(candidate, one.offer, asked.output_tokens)
    return replace(one, candidate=candidate, usd=usd)


def _row(one: Served, answer: tuple[int, Estimate] | NoEstimate, asked: ServeAsked) -> OpinionRow:
    rate = one.candidate.rates[0]
    found = None if isinstance(answer, NoEstimate) else answer[1]
    theirs = found.requests_per_s * (1 - asked.safety_margin) if found else None
    return OpinionRow(
        gpu=one.candidate.gpu,
        gpus=one.candidate.layout.gpus,
        precision=one.candidate.precision.value,
        layout=str(one.candidate.layout),
        requests_per_s=rate.requests_per_s,
        ttft_s=rate.ttft_s,
        tpot_s=rate.tpot_s,
        other_requests_per_s=theirs,
        other_ttft_s=found.ttft_s if found else None,
        other_tpot_s=found.tpot_s if found else None,
        difference_fraction=theirs / rate.requests_per_s - 1 if theirs else None,
        note=answer.detail if isinstance(answer, NoEstimate) else "",
    )
