"""What two workloads files ask for: how much differs (load), and on which terms (rules).

*Load* is which workloads there are, the services' traffic, sizes and users, the tokens of runs and
batch jobs, and the horizon, which says for which hours a load is carried. All else is *rules*.
"""

from collections.abc import Iterator

from broker.domain.batch import BatchJob
from broker.domain.quantities import Frozen
from broker.domain.workload import Service, TrainingRun, Workloads

_LOAD_OF_A_SERVICE = ("traffic", "sizes", "users")
_LOAD_OF_A_RUN = ("tokens",)
_LOAD_OF_A_JOB = ("tokens", "tokens_per_day")


def new_load_old_rules(old: Workloads, new: Workloads) -> Workloads:
    """Ask for the new load on the old terms; a workload that is new comes with its own."""
    services = {one.name: one for one in old.services}
    runs = {one.name: one for one in old.training}
    jobs = {one.name: one for one in old.batch}
    return old.model_copy(
        update={
            "horizon": new.horizon,
            "services": tuple(_service(services.get(one.name), one) for one in new.services),
            "training": tuple(_run(runs.get(one.name), one) for one in new.training),
            "batch": tuple(_job(jobs.get(one.name), one) for one in new.batch),
        }
    )


def load_changes(old: Workloads, new: Workloads) -> tuple[str, ...]:
    """Name what is asked for more, less or otherwise."""
    return tuple(_load_changes(old, new))


def rule_changes(old: Workloads, new: Workloads) -> tuple[str, ...]:
    """Name the fields that are no load and differ."""
    return tuple(_rule_changes(new_load_old_rules(old, new), new))


def _service(old: Service | None, new: Service) -> Service:
    if old is None:
        return new
    return old.model_copy(update={name: getattr(new, name) for name in _LOAD_OF_A_SERVICE})


def _run(old: TrainingRun | None, new: TrainingRun) -> TrainingRun:
    if old is None:
        return new
    return old.model_copy(update={name: getattr(new, name) for name in _LOAD_OF_A_RUN})


def _job(old: BatchJob | None, new: BatchJob) -> BatchJob:
    if old is None or old.is_daily != new.is_daily:
        return new
    return old.model_copy(update={name: getattr(new, name) for name in _LOAD_OF_A_JOB})


def _load_changes(old: Workloads, new: Workloads) -> Iterator[str]:
    if old.horizon != new.horizon:
        yield "horizon"
    before, after = _by_name(old), _by_name(new)
    yield from (f"{key[1]} is new" for key in after if key not in before)
    yield from (f"{key[1]} is gone" for key in before if key not in after)
    fields = (*_LOAD_OF_A_SERVICE, *_LOAD_OF_A_RUN, *_LOAD_OF_A_JOB)
    for key in (key for key in after if key in before):
        changed = _fields(key[1], before[key], after[key])
        yield from (one for one in changed if one.rpartition(".")[2] in fields)


def _by_name(of: Workloads) -> dict[tuple[type[Frozen], str], Frozen]:
    services = {(Service, one.name): one for one in of.services}
    runs = {(TrainingRun, one.name): one for one in of.training}
    return services | runs | {(BatchJob, one.name): one for one in of.batch}


def _rule_changes(old: Workloads, new: Workloads) -> Iterator[str]:
    for name in ("quotas", "inventory"):
        if getattr(old, name) != getattr(new, name):
            yield name
    yield from _fields("policy", old.policy, new.policy)
    for ours, theirs in zip(old.services, new.services, strict=True):
        yield from _fields(theirs.name, ours, theirs)
    for run, other in zip(old.training, new.training, strict=True):
        yield from _fields(other.name, run, other)
    for job, same in zip(old.batch, new.batch, strict=True):
        yield from _fields(same.name, job, same)


def _fields(name: str, old: Frozen, new: Frozen) -> Iterator[str]:
    for field in type(new).model_fields:
        if getattr(old, field) != getattr(new, field):
            yield f"{name}.{field}"
