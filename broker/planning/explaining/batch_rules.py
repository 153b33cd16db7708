"""The rules that batch jobs bring: their windows, GPU models and number formats."""

from collections.abc import Iterator

from broker.domain.batch import MIDNIGHT, BatchJob
from broker.domain.horizon import Horizon
from broker.planning.explaining.rules import Rule, ladder
from broker.planning.explaining.workload_rules import fewer_bits, window_rules

_DAY_H = 24


def batch_rules(
    number: int, job: BatchJob, horizon: Horizon, *, may_extend: bool
) -> Iterator[Rule]:
    """List the rules of a batch job that have a looser value.

    With `may_extend` the deadline of one that is done once may go past the horizon.
    """
    path, place = f"batch.{job.name}", f"batch.{number}"
    if job.by is None:
        (run,) = job.runs(horizon)
        yield from window_rules(path, place, run, horizon, may_extend=may_extend)
    else:
        later = [(one, one) for one in _later(job, job.by, horizon)]
        yield ladder(f"{path}.by", f"{place}.by", job.by, later, is_sized=True)
    if job.gpu_models:
        listed = ", ".join(job.gpu_models)
        name = "gpu_models"
        yield ladder(f"{path}.{name}", f"{place}.{name}", listed, [((), "any")], is_sized=True)
    yield fewer_bits(path, place, job.precisions)


def _later(job: BatchJob, by: str, horizon: Horizon) -> Iterator[str]:
    """Give later hours for the end of each day's window, while the same days are planned."""
    planned = len(job.runs(horizon))
    hour, minute = int(by[:2]), by[3:5]
    begin = _minutes(job.after or MIDNIGHT)
    length = (_minutes(by) - begin) % (_DAY_H * 60) or _DAY_H * 60
    for more in range(1, (_DAY_H * 60 - length) // 60 + 1):
        one = f"{(hour + more) % _DAY_H:02d}:{minute} UTC"
        if len(job.model_copy(update={"by": one}).runs(horizon)) == planned:
            yield one


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:5])
