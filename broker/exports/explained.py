"""What `explain` found out about a plan, in sentences for a report."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from broker.domain.explanation import (
    CommitmentReason,
    Explanation,
    LineReason,
    NearPlan,
    OtherPlan,
    Outcome,
    Relaxation,
    Relaxing,
    RuleWorth,
    UsdRange,
    WhyNot,
)
from broker.exports.extras import Told

_SHOWN = 3
_CENT = Decimal("0.01")


def told(explanation: Explanation) -> tuple[Told, ...]:
    """Say it all: of each line under its id, of the rest under a heading."""
    found = [
        *(Told(one.line, tuple(_line(one))) for one in explanation.lines),
        *(Told(one.line, tuple(_commitment(one))) for one in explanation.commitments),
        Told("What each rule costs", tuple(_rule(one) for one in _dear(explanation.rules))),
        *_why_not(explanation.why_not),
        *(_near(number, one) for number, one in enumerate(explanation.near, 1)),
        *_relaxing(explanation.relaxing),
        Told("Of this explanation", tuple(_sentence(note) for note in explanation.notes)),
    ]
    return tuple(one for one in found if one.sentences)


def _line(line: LineReason) -> Iterator[str]:
    yield _sentence(line.why)
    if line.rank_count is not None:
        yield f"Without it: {_other(line.runner_up)}."
    for one in line.unfit:
        yield f"Cheaper, but unfit for {one.reason}: {one.offers} offers, such as {one.example}."


def _commitment(one: CommitmentReason) -> Iterator[str]:
    yield (
        f"It breaks even at {one.breakeven_utilization_fraction:.1%} of its hours "
        f"({one.breakeven_hours:,.0f} of {one.term_hours:,.0f} a node); planned are "
        f"{one.planned_utilization_fraction:.1%} inside the horizon."
    )
    if one.loses_below_load_share is not None:
        yield f"It loses money below {one.loses_below_load_share:.1%} of the planned load."
    if one.value_usd is not None and one.value_at_todays_prices_usd is not None:
        yield (
            f"Over its term it is worth {one.value_usd:+,.2f} USD with prices at "
            f"{one.trend_per_year:+.0%} a year, {one.value_at_todays_prices_usd:+,.2f} USD "
            "with prices as they are."
        )


def _dear(rules: Sequence[RuleWorth]) -> list[RuleWorth]:
    return [one for one in rules if one.outcome is Outcome.FOUND and one.saving]


def _rule(one: RuleWorth) -> str:
    saved = _between(one.saving) if one.saving else ""
    return f"{one.rule} {one.value}: at {one.loosened} the plan costs {saved} USD less."


def _why_not(asked: WhyNot | None) -> Iterator[Told]:
    if asked is None:
        return
    sentences = [f"{_sentence(asked.verdict.value)}", _sentence(asked.reason)]
    sentences += [_sentence(detail) for detail in asked.details]
    entry = asked.entry
    if entry is not None and entry.least_usd_per_hour is not None:
        sentences.append(
            f"It enters the plan at {entry.least_usd_per_hour:,.4f} USD a node-hour; now it costs "
            f"{entry.now_usd_per_hour:,.4f}."
        )
    yield Told(f"Why not {asked.offer}", tuple(sentences))


def _near(number: int, near: NearPlan) -> Told:
    sentences = [f"{_sentence(_other(near.plan))}"]
    if near.plan.drops:
        sentences.append(f"It buys less of {_some(near.plan.drops)}.")
    sentences += [f"Prefer it for: {reason}." for reason in near.reasons]
    return Told(f"Near plan {number}", tuple(sentences))


def _relaxing(relaxing: Relaxing | None) -> Iterator[Told]:
    if relaxing is None:
        return
    yield Told("What clashes", tuple(_sentence(rule) for rule in relaxing.clashing))
    yield Told("What fits nowhere", tuple(_sentence(one) for one in relaxing.hopeless))
    for one in relaxing.relaxations:
        yield Told(f"A plan of {one.total_usd:,.2f} USD", tuple(_changes(one)))


def _changes(one: Relaxation) -> Iterator[str]:
    for change in one.changes:
        less = f"; {change.one_step_less} is not enough" if change.one_step_less else ""
        yield f"{_sentence(f'{change.rule} from {change.value} to {change.enough}{less}')}"


def _other(other: OtherPlan) -> str:
    if other.outcome is Outcome.UNKNOWN:
        return "no other plan was found in the time"
    if other.outcome is Outcome.NONE or other.dearer is None:
        return "there is no plan"
    buys = f", buying more of {_some(other.buys)}" if other.buys else ""
    return f"the best plan costs {_between(other.dearer)} USD more{buys}"


def _between(one: UsdRange) -> str:
    least, most = (  # adding nothing takes the sign off a zero
        f"{usd.quantize(_CENT) + 0:,.2f}" for usd in (one.least_usd, one.most_usd)
    )
    return most if least == most else f"{least} to {most}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
