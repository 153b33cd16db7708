"""Training runs and batch jobs: once each, inside the window, whole, and finished."""

import math
from collections.abc import Iterator

from broker.domain.plan import TrainingAssignment
from broker.domain.workload import Run
from broker.verification.facts import TOLERANCE, Facts, Finding


def runs(facts: Facts) -> Iterator[Finding]:
    """Assign each run of the workloads exactly once, and no other."""
    wanted = {run.name for run in facts.case.workloads.runs}
    assigned = [assignment.run for assignment in facts.plan.training]
    for name in sorted(wanted | set(assigned)):
        count, right = assigned.count(name), int(name in wanted)
        if count != right:
            yield Finding(name, f"has {count} assignments; {right} is right")


def windows(facts: Facts) -> Iterator[Finding]:
    """Work only inside the run's window."""
    for run, assignment in _pairs(facts):
        window = run.window
        for step in assignment.steps:
            if step.from_at < window.earliest or step.to_at > window.deadline:
                span = f"{step.from_at:%Y-%m-%d %H:%M} to {step.to_at:%Y-%m-%d %H:%M}"
                right = f"{window.earliest:%Y-%m-%d %H:%M} to {window.deadline:%Y-%m-%d %H:%M}"
                yield Finding(run.name, f"works from {span}; its window is {right}")


def durations(facts: Facts) -> Iterator[Finding]:
    """End a run no later after its first start than its longest duration."""
    for run, assignment in _pairs(facts):
        if run.max_duration is None or not assignment.steps:
            continue
        from_at = min(step.from_at for step in assignment.steps)
        taken = max(step.to_at for step in assignment.steps) - from_at
        if taken > run.max_duration:
            message = f"takes {taken} from its first start; at most {run.max_duration} is right"
            yield Finding(run.name, message)


def interruptions(facts: Facts) -> Iterator[Finding]:
    """Do a run that cannot be restarted in one piece, on firm nodes."""
    for run, assignment in _pairs(facts):
        if run.restartable:
            continue
        if len(assignment.steps) != 1:
            message = f"is not restartable and has {len(assignment.steps)} steps; 1 is right"
            yield Finding(run.name, message)
        if assignment.on_spot:
            yield Finding(run.name, "is not restartable and on spot; firm nodes are right")


def tokens(facts: Facts) -> Iterator[Finding]:
    """Finish the run's tokens; each start of the gang costs its start-up time.

    tokens = Σ_steps max(0, seconds − startup_s) · tokens_per_s ≥ tokens of the run
    """
    for run, assignment in _pairs(facts):
        done = _tokens(assignment)
        if not done >= run.tokens * (1 - TOLERANCE):
            yield Finding(run.name, f"finishes {done:g} of {run.tokens:g} tokens")
        if not math.isclose(assignment.tokens, done, rel_tol=TOLERANCE):
            message = f"tokens is {assignment.tokens:g}; its steps finish {done:g}"
            yield Finding(run.name, message)


def _pairs(facts: Facts) -> Iterator[tuple[Run, TrainingAssignment]]:
    wanted = {run.name: run for run in facts.case.workloads.runs}
    for assignment in facts.plan.training:
        if assignment.run in wanted:
            yield wanted[assignment.run], assignment


def _tokens(assignment: TrainingAssignment) -> float:
    candidate = assignment.candidate
    up_s = sum(
        max(0.0, (step.to_at - step.from_at).total_seconds() - candidate.startup_s)
        for step in assignment.steps
    )
    return up_s * candidate.tokens_per_s
