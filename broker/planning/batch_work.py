"""Batch jobs on their way to a case: what one run has to do, and which days are not planned."""

from collections.abc import Iterator

from broker.domain.batch import BatchRun
from broker.domain.workload import Run, Workloads
from solver.sizing.batch import BatchWork


def works_of(workloads: Workloads) -> dict[str, BatchWork]:
    """Say what each run of a batch job has to do, in how many whole slots of its window."""
    horizon = workloads.horizon
    slots = horizon.slots()
    return {
        run.name: BatchWork(
            tokens=run.tokens,
            slots=sum(
                run.window.earliest <= slot.start_at and slot.end_at <= run.window.deadline
                for slot in slots
            ),
            slot_s=horizon.slot.total_seconds(),
        )
        for run in workloads.runs
        if isinstance(run, BatchRun)
    }


def owner_of(run: Run) -> str:
    """Name the workload of a run: a day of a batch job goes by its job."""
    return run.job.name if isinstance(run, BatchRun) else run.name


def days_left_out(workloads: Workloads) -> Iterator[str]:
    """Say which days of daily batch jobs are not planned: the horizon has only a part of them."""
    for job in workloads.batch:
        crossing = job.crossing(workloads.horizon)
        if crossing:
            yield (
                f"not planned, as the horizon has only a part of the window: {', '.join(crossing)}"
            )
