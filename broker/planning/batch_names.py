"""Whether the batch jobs of a workloads file can be planned: names, windows and slots."""

from collections.abc import Callable
from datetime import timedelta

from broker.domain.batch import MIDNIGHT, BatchJob
from broker.domain.errors import ConfigurationError
from broker.domain.horizon import Horizon
from broker.domain.parts import Window
from broker.domain.workload import Workloads
from broker.specs.load import Specs

Known = Callable[[Callable[[str], object], str, str], None]
"""Checks that a table has a name, and names the key where it has not."""


def check_window(where: str, window: Window, horizon: Horizon) -> None:
    """Check that a window and the horizon overlap.

    Raises:
        ConfigurationError: they do not.
    """
    if window.deadline <= horizon.start or window.earliest >= horizon.end:
        raise ConfigurationError(
            f"{where}: {window.earliest:%Y-%m-%d} to {window.deadline:%Y-%m-%d} lies outside "
            f"the horizon, {horizon.start:%Y-%m-%d} to {horizon.end:%Y-%m-%d}",
            hint="move the window or the horizon so that they overlap; take a run out of the "
            "file once it is done",
        )


def check_batch(workloads: Workloads, specs: Specs, known: Known) -> None:
    """Check the names of each batch job, and that its windows have whole slots of the horizon.

    Raises:
        ConfigurationError: a model or GPU is unknown, or a window cannot be worked in.
    """
    for number, job in enumerate(workloads.batch):
        where = f"batch[{number}]"
        known(specs.llm, job.model, f"{where}.model")
        for gpu in job.gpu_models:
            known(specs.gpu, gpu, f"{where}.gpu_models")
        if job.window is not None:
            check_window(f"{where}.window", job.window, workloads.horizon)
        _check_slots(where, job, workloads.horizon)


def _check_slots(where: str, job: BatchJob, horizon: Horizon) -> None:
    runs = job.runs(horizon)
    if not runs:
        raise ConfigurationError(
            f"{where}: no window from {job.after or MIDNIGHT} to {job.by} lies in the horizon, "
            f"{horizon.start:%Y-%m-%d %H:%M} to {horizon.end:%Y-%m-%d %H:%M}",
            hint="make horizon.days longer",
        )
    for run in runs:
        first = max(run.window.earliest, horizon.start)
        last = min(run.window.deadline, horizon.end)
        wait = -(first - horizon.start) % horizon.slot
        if last - first - wait < horizon.slot:
            raise ConfigurationError(
                f"{where}: the window of {run.name}, {first:%Y-%m-%d %H:%M} to "
                f"{last:%Y-%m-%d %H:%M}, has no whole slot of {_hours(horizon.slot)} in it",
                hint="make the window longer or horizon.slot shorter",
            )


def _hours(length: timedelta) -> str:
    return f"{length.total_seconds() / 3600:g} h"
