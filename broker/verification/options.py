"""Assignments are options of the case, to the last figure: nothing else is known to fit."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from broker.domain.candidate import GangCandidate, ServingCandidate
from broker.verification.facts import Facts, Finding, first_difference


def serving_options(facts: Facts) -> Iterator[Finding]:
    """Let each serving assignment be one of the case's options, its candidate unchanged."""
    options: dict[tuple[str, str, str, bool, str], list[ServingCandidate]] = defaultdict(list)
    for one in facts.case.serving:
        key = (one.service, one.user_region, one.machine, one.on_spot, one.candidate.id)
        options[key].append(one.candidate)
    for used in facts.plan.serving:
        key = (used.service, used.user_region, used.machine, used.on_spot, used.candidate.id)
        subject = f"{used.service}/{used.user_region}"
        yield from _compared(subject, used.machine, used.candidate, options.get(key, ()))


def training_options(facts: Facts) -> Iterator[Finding]:
    """Let each training assignment be one of the case's options, its candidate unchanged."""
    options: dict[tuple[str, str, bool, str], list[GangCandidate]] = defaultdict(list)
    for one in facts.case.training:
        key = (one.run, one.machine, one.candidate.on_spot, one.candidate.id)
        options[key].append(one.candidate)
    for used in facts.plan.training:
        key = (used.run, used.machine, used.on_spot, used.candidate.id)
        yield from _compared(used.run, used.machine, used.candidate, options.get(key, ()))


def _compared(
    subject: str,
    machine: str,
    found: ServingCandidate | GangCandidate,
    options: Sequence[ServingCandidate | GangCandidate],
) -> Iterator[Finding]:
    if not options:
        message = f"candidate {found.id!r} on {machine} is no option here; choose one of the case"
        yield Finding(subject, message)
    elif found not in options:
        difference = first_difference(found, options[0])
        yield Finding(subject, f"candidate {found.id!r} on {machine} differs in {difference}")
