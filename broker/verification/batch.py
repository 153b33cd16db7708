"""Batch jobs: every day's tokens are processed between its own two times, on nodes that hold them.

The days are counted here by themselves, from the job's `after` and `by`.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from broker.domain.batch import BatchJob
from broker.domain.candidate import BatchCandidate
from broker.domain.plan import TrainingAssignment
from broker.verification.facts import TOLERANCE, Facts, Finding

_DAY = timedelta(days=1)


def batch_days(facts: Facts) -> Iterator[Finding]:
    """Process the tokens of each day of a daily job inside that day's window.

    Σ_steps in the window max(0, seconds − startup_s) · tokens_per_s ≥ tokens_per_day
    """
    for job in facts.case.workloads.batch:
        if job.tokens_per_day is None:
            continue
        own = [one for one in facts.plan.training if one.run.startswith(f"{job.name}@")]
        for begin, due in _windows(job, facts.case.workloads.horizon.start, facts.timeline.end_at):
            done = sum(_tokens(one, begin, due) for one in own)
            if not done >= job.tokens_per_day * (1 - TOLERANCE):
                yield Finding(
                    job.name,
                    f"{done:g} of {job.tokens_per_day:g} tokens are processed from "
                    f"{begin:%Y-%m-%d %H:%M} to {due:%Y-%m-%d %H:%M}",
                )


def batch_replicas(facts: Facts) -> Iterator[Finding]:
    """Have no more replicas of a batch job on a node than its GPUs hold."""
    for one in facts.plan.training:
        candidate = one.candidate
        if not isinstance(candidate, BatchCandidate):
            continue
        taken, there = candidate.replicas * candidate.layout.gpus, facts.gpus_per_node(one.machine)
        if taken > there:
            message = f"{candidate.replicas} replicas on a node take {taken} GPUs, it has {there}"
            yield Finding(one.run, message)


def _windows(job: BatchJob, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    if job.by is None:
        return
    by, after = _clock(job.by), _clock(job.after or "00:00 UTC")
    day = start.astimezone(UTC).date()
    while day <= end.astimezone(UTC).date():
        due, begin = _at(day, by), _at(day, after)
        if by <= after:
            begin -= _DAY
        if start <= begin and due <= end:
            yield begin, due
        day += _DAY


def _clock(text: str) -> time:
    return time.fromisoformat(text.removesuffix(" UTC"))


def _at(day: date, clock: time) -> datetime:
    return datetime.combine(day, clock, UTC)


def _tokens(one: TrainingAssignment, begin: datetime, due: datetime) -> float:
    lengths = [
        (step.to_at - step.from_at).total_seconds()
        for step in one.steps
        if begin <= step.from_at and step.to_at <= due
    ]
    return sum(max(0.0, s - one.candidate.startup_s) for s in lengths) * one.candidate.tokens_per_s
