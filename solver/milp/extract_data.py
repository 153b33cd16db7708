"""What data costs beside the nodes in a plan's assignments: its cost lines, as decimals."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from broker.domain.case import Case, ServingOption
from broker.domain.plan import CostLine, ServingAssignment, Term, TrainingAssignment
from broker.domain.quantities import quantize_usd

_SECOND = timedelta(seconds=1)
_Line = tuple[Term, str]


def data_lines(
    case: Case, serving: Sequence[ServingAssignment], training: Sequence[TrainingAssignment]
) -> tuple[CostLine, ...]:
    """Charge egress and storage of what is assigned, by workload and place."""
    usd: dict[_Line, Decimal] = defaultdict(Decimal)
    options = {
        (one.service, one.user_region, one.machine, one.on_spot, one.candidate.id): one
        for one in case.serving
    }
    for group in serving:
        key = (group.service, group.user_region, group.machine, group.on_spot, group.candidate.id)
        if key in options:
            _add_weights(usd, options[key], group, _at(case, group.machine))
    runs = {(one.run, one.machine, one.candidate.id): one for one in case.training}
    for run in training:
        option = runs.get((run.run, run.machine, run.candidate.id))
        if option is not None:
            place = f"{run.run}@{_at(case, run.machine)}"
            usd[Term.EGRESS, run.run] += option.egress_usd
            usd[Term.EGRESS, place] += option.result_egress_usd
            usd[Term.STORAGE, place] += option.storage_usd
    lines = [
        CostLine(term=term, subject=subject, usd=quantize_usd(one))
        for (term, subject), one in usd.items()
    ]
    return tuple(line for line in lines if line.usd)


def _add_weights(
    usd: dict[_Line, Decimal], option: ServingOption, group: ServingAssignment, place: str
) -> None:
    seconds = sum(one.replicas * ((one.to_at - one.from_at) // _SECOND) for one in group.steps)
    peak = max((one.replicas for one in group.steps), default=0)
    usd[Term.EGRESS, group.service] += option.egress_usd * peak
    kept = option.storage_usd_per_hour * seconds / 3600
    usd[Term.STORAGE, f"{group.service}@{place}"] += kept


def _at(case: Case, machine: str) -> str:
    offer = case.machines[machine]
    return f"{offer.provider}/{offer.place.region}"
