"""What data costs beside the nodes: moved once, and kept while work needs it."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from broker.domain.case import ServingOption, TrainingOption
from broker.domain.plan import ServingAssignment, Term, TrainingAssignment
from broker.verification.facts import Facts

_MICRO = 1_000_000
_HOUR_S = 3600
DueLine = tuple[tuple[Term, str], Decimal]


def data_lines(facts: Facts) -> Iterator[DueLine]:
    """Give the lines of egress and storage that are due, each once.

    Of a service by its groups: its weights are brought once for each replica at the group's peak,
    and kept in each place by replica and hour. Of a run as its option says. Halves of a
    micro-dollar go to even.
    """
    due: dict[tuple[Term, str], Fraction] = {}
    for key, usd in (*_weights(facts), *_runs(facts)):
        due[key] = due.get(key, Fraction(0)) + usd
    for key, usd in due.items():
        yield key, Decimal(round(usd * _MICRO)).scaleb(-6)


def serving_option(facts: Facts, group: ServingAssignment) -> ServingOption | None:
    """Find the case's option of an assignment; None where it has no such one."""
    name = (group.service, group.user_region, group.machine, group.on_spot)
    own = facts.serving.get(name, ())
    return next((one for one in own if one.candidate == group.candidate), None)


def run_option(facts: Facts, assignment: TrainingAssignment) -> TrainingOption | None:
    """Find the case's option of a run's assignment; None where it has no such one."""
    own = facts.training.get((assignment.run, assignment.machine), ())
    return next((one for one in own if one.candidate == assignment.candidate), None)


def _weights(facts: Facts) -> Iterator[tuple[tuple[Term, str], Fraction]]:
    for group in facts.plan.serving:
        option = serving_option(facts, group)
        if option is None:
            continue
        replicas = [step.replicas for step in group.steps]
        hours = [
            Fraction(int((step.to_at - step.from_at).total_seconds()), _HOUR_S)
            for step in group.steps
        ]
        up_h = sum((one * many for one, many in zip(hours, replicas, strict=True)), Fraction(0))
        place = _place(facts, group.machine)
        yield (Term.EGRESS, group.service), Fraction(option.egress_usd) * max(replicas, default=0)
        kept = Fraction(option.storage_usd_per_hour) * up_h
        yield (Term.STORAGE, f"{group.service}@{place}"), kept


def _runs(facts: Facts) -> Iterator[tuple[tuple[Term, str], Fraction]]:
    for assignment in facts.plan.training:
        option = run_option(facts, assignment)
        if option is not None:
            place = f"{assignment.run}@{_place(facts, assignment.machine)}"
            yield (Term.EGRESS, assignment.run), Fraction(option.egress_usd)
            yield (Term.EGRESS, place), Fraction(option.result_egress_usd)
            yield (Term.STORAGE, place), Fraction(option.storage_usd)


def _place(facts: Facts, machine: str) -> str:
    offer = facts.case.machines.get(machine)
    return f"{offer.provider}/{offer.place.region}" if offer else machine
