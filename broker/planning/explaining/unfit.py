"""What an offer could carry, and why it cannot carry the rest."""

from collections.abc import Iterator

from broker.domain.candidate import Refusal
from broker.domain.case import Case, TrainingOption
from broker.domain.offer import Offer, PriceKind
from broker.domain.workload import Run, Workloads
from broker.planning.batch_work import owner_of, works_of
from broker.planning.case import build_case
from broker.planning.explaining.ground import Sources
from broker.planning.measured.service import own_numbers_of
from broker.planning.plans import freshness_of
from broker.planning.sized import Sizer
from solver.milp.build import fewest_slots

_SHOWN = 2


def could_do(case: Case, offer: Offer) -> tuple[str, ...]:
    """Name the workloads that fit on the offer and meet their objectives and windows there."""
    on_spot = offer.price_kind is PriceKind.SPOT
    services = {
        one.service
        for one in case.serving
        if (one.machine, one.on_spot) == (offer.machine, on_spot)
    }
    owners = {run.name: owner_of(run) for run in case.workloads.runs}
    runs = {owners[one.run] for one in _run_options(case, offer) if _is_in_time(case, one)}
    return tuple(sorted(services | runs))


def time_reasons(case: Case, offer: Offer) -> Iterator[str]:
    """Say of each run that fits on the offer, but never in time, how long it would take."""
    options = list(_run_options(case, offer))
    for run in case.workloads.runs:
        own = [one for one in options if one.run == run.name]
        if own and not any(_is_in_time(case, one) for one in own):
            fastest = min(_slots(case, run, one) for one in own)
            slot_h = _slot_h(case)
            yield (
                f"{run.name}: too slow for its window: {fastest * slot_h:g} h of "
                f"{_window_slots(case, run) * slot_h:g} h"
            )


def unfit_reasons(workloads: Workloads, offer: Offer, sources: Sources) -> Iterator[str]:
    """Say of each workload that has no option on the offer why, with the figures of the sizing."""
    alone = workloads.model_copy(update={"inventory": ()})
    freshness = freshness_of(sources.view, sources.settings)
    own = own_numbers_of(sources.settings, sources.specs)
    report = build_case(alone, (offer,), sources.specs, freshness, own=own)
    for one in report.rejected:
        yield one.reason
    fitting = {one.service for one in report.case.serving}
    owners = {run.name: owner_of(run) for run in alone.runs}
    fitting |= {owners[one.run] for one in report.case.training}
    yield from _distances(alone, offer, sources, fitting)
    for refusal in _refusals(alone, offer, sources, fitting):
        yield f"{refusal.workload}: {refusal.subject}: {refusal.detail}"


def _distances(
    workloads: Workloads, offer: Offer, sources: Sources, fitting: set[str]
) -> Iterator[str]:
    for service in workloads.services:
        limit_s = service.max_network_rtt.total_seconds()
        for region in service.users if service.name not in fitting else ():
            rtt_s = sources.specs.rtt_s(region, offer.place)
            if rtt_s is not None and rtt_s > limit_s:
                yield (
                    f"{service.name}: {rtt_s * 1000:.0f} ms to {region} and back, "
                    f"max_network_rtt is {limit_s * 1000:.0f} ms"
                )


def _refusals(
    workloads: Workloads, offer: Offer, sources: Sources, fitting: set[str]
) -> Iterator[Refusal]:
    specs, shape = sources.specs, offer.hardware.shape
    own = own_numbers_of(sources.settings, specs)
    sizer = Sizer(specs, workloads.policy.safety_margin, own)
    for service in workloads.services:
        if service.name not in fitting:
            reach = [specs.rtt_s(region, offer.place) for region in service.users]
            rtt_s = min((one for one in reach if one is not None), default=0.0)
            _, refusals = sizer.serving(service, shape, rtt_s=rtt_s)
            yield from refusals[:_SHOWN]
    for run in workloads.training:
        if run.name not in fitting:
            _, refused = sizer.training(run, shape, spot=offer.spot)
            yield from refused[:_SHOWN]
    works = works_of(workloads)
    for job in workloads.batch:
        if job.name not in fitting:
            first = job.runs(workloads.horizon)[0].name
            _, refused = sizer.batch(job, works[first], shape, spot=offer.spot)
            yield from refused[:_SHOWN]


def _run_options(case: Case, offer: Offer) -> Iterator[TrainingOption]:
    on_spot = offer.price_kind is PriceKind.SPOT
    for one in case.training:
        if (one.machine, one.candidate.on_spot) == (offer.machine, on_spot):
            yield one


def _is_in_time(case: Case, option: TrainingOption) -> bool:
    run = next(one for one in case.workloads.runs if one.name == option.run)
    return _slots(case, run, option) <= _window_slots(case, run)


def _slots(case: Case, run: Run, option: TrainingOption) -> int:
    return fewest_slots(run, option.candidate, _slot_h(case))


def _slot_h(case: Case) -> float:
    return case.workloads.horizon.slot.total_seconds() / 3600


def _window_slots(case: Case, run: Run) -> int:
    return sum(
        run.window.earliest <= slot.start_at and slot.end_at <= run.window.deadline
        for slot in case.workloads.horizon.slots()
    )
