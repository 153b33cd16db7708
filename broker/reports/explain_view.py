"""An explanation for people: why each line, what rules cost, why not an offer, what to relax."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from broker.domain.explanation import (
    CommitmentReason,
    EntryPrice,
    Explanation,
    LineReason,
    NearPlan,
    OtherPlan,
    Outcome,
    Relaxing,
    RuleChange,
    RuleWorth,
    UsdRange,
    WhyNot,
)
from broker.domain.plan import Status
from broker.reports.steering import printable

CENT = Decimal("0.01")
_SMALL_USD = Decimal("0.1")
_SHOWN = 3
_MOST_NAMES = 12


def explanation_page(explanation: Explanation) -> RenderableType:
    """Lay an explanation out for a terminal of 80 characters or more."""
    parts: list[RenderableType] = [_heading(explanation)]
    parts += [part for line in explanation.lines for part in (Text(), _line(line))]
    parts += [part for one in explanation.commitments for part in (Text(), _commitment(one))]
    if explanation.rules:
        parts += [Text(), _rules(explanation.rules)]
    if explanation.why_not is not None:
        parts += [Text(), _why_not(explanation.why_not)]
    parts += [
        part for at, one in enumerate(explanation.near, 1) for part in (Text(), _near(at, one))
    ]
    if explanation.relaxing is not None:
        parts += [Text(), *_relaxing(explanation.relaxing)]
    for note in explanation.notes:
        parts += [Text(), Text(f"! {note}", style="yellow")]
    return Group(*parts)


def entry_words(entry: EntryPrice) -> str:
    """Say at what price of a node-hour an offer enters; cut to cents, so that it holds there."""
    now = _price(entry.now_usd_per_hour)
    least, most = entry.least_usd_per_hour, entry.most_usd_per_hour
    if least is None:
        if most is None:
            return f"now {now} USD a node-hour; the price at which it enters was not found"
        if most < CENT:
            return f"now {now} USD a node-hour; it would not enter if it were free"
        return f"now {now} USD a node-hour; if it enters at all, not above {_price(most)}"
    figure = _cut(least)
    if most is not None and most - least <= CENT:
        down = 1 - figure / entry.now_usd_per_hour if entry.now_usd_per_hour else Decimal(0)
        return f"now {now} USD a node-hour; it enters at {_price(figure)} ({-down:+.1%})"
    upto = f"at most at {_price(_raised(most))}" if most is not None else "maybe above, too"
    return f"now {now} USD a node-hour; it enters at {_price(figure)} for certain, {upto}"


def range_words(between: UsdRange) -> str:
    """Write a difference with its sign: +12.40 USD, or +8.00 to +12.40 USD."""
    least, most = (  # adding nothing takes the sign off a zero
        f"{usd.quantize(CENT) + 0:+,.2f}" for usd in (between.least_usd, between.most_usd)
    )
    return f"{most} USD" if least == most else f"{least} to {most} USD"


def _heading(explanation: Explanation) -> Text:
    text = Text("Explanation", style="bold")
    total = f", total {explanation.total_usd:,.2f} USD" if explanation.total_usd else ""
    is_plan = explanation.status is not Status.INFEASIBLE
    of = f"of a plan that is {explanation.status.value}" if is_plan else "of why there is no plan"
    text.append(f"  {of}{total}, catalog {explanation.snapshot[:12]}", style="not bold")
    return text


def _block(title: str, aside: str, rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Put a title over rows of a word and what is said of it."""
    head = Text(printable(title), style="bold", overflow="fold")
    if aside:
        head.append(f"  {printable(aside)}", style="not bold")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for word, said in rows:
        table.add_row(word, Text(printable(said)))
    return Group(head, Padding(table, (0, 0, 0, 2)))


def _line(line: LineReason) -> RenderableType:
    for_whom = f", for {', '.join(line.workloads)}" if line.workloads else ""
    return _block(line.line, f"{line.usd:,.2f} USD{for_whom}", _line_rows(line))


def _line_rows(line: LineReason) -> Iterator[tuple[str, str]]:
    yield "why", line.why
    if line.binding[1:]:
        yield "also bound by", "; ".join(line.binding[1:])
    if line.rank_count is not None:
        yield "without it", _other(line.runner_up)
    if line.unfit:
        refused = [f"{one.reason} ({one.offers}, such as {one.example})" for one in line.unfit]
        yield "cheaper, unfit", "; ".join(refused)


def _other(other: OtherPlan) -> str:
    if other.outcome is Outcome.UNKNOWN:
        return "no other plan was found in the time"
    if other.outcome is Outcome.NONE or other.dearer is None:
        return "there is no plan"
    buys = f", buying {_some(other.buys)}" if other.buys else ""
    return f"{range_words(other.dearer)}{buys}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _commitment(one: CommitmentReason) -> RenderableType:
    return _block(f"Commitment {one.line}", f"{one.term_months} months", _commitment_rows(one))


def _commitment_rows(one: CommitmentReason) -> Iterator[tuple[str, str]]:
    yield (
        "break-even",
        (
            f"{one.breakeven_utilization_fraction:.1%} of its hours used: "
            f"{one.breakeven_hours:,.0f} of {one.term_hours:,.0f} h a node"
        ),
    )
    yield "planned", f"{one.planned_utilization_fraction:.1%} of its hours inside the horizon"
    yield "loses money", _losing(one)
    if one.value_usd is None or one.value_at_todays_prices_usd is None:
        yield "worth", "not known: the machine has no on-demand price to compare with"
        return
    yield (
        "worth",
        (
            f"{one.value_usd:+,.2f} USD over its term with prices at "
            f"{one.trend_per_year:+.0%} a year; {one.value_at_todays_prices_usd:+,.2f} USD "
            "with prices as they are"
        ),
    )


def _losing(one: CommitmentReason) -> str:
    if one.loses_below_load_share is not None:
        loads = [
            f"{load.service} at a mean of {load.mean_requests_per_s:.3g} and a peak of "
            f"{load.peak_requests_per_s:.3g} requests/s"
            for load in one.loses_below
        ]
        return f"below {one.loses_below_load_share:.1%} of the planned load: {'; '.join(loads)}"
    if one.planned_utilization_fraction < one.breakeven_utilization_fraction:
        return "at the planned load already, if it is used no more after the horizon"
    return "at no load: its spares, least replicas and runs alone use it enough"


def _rules(rules: Sequence[RuleWorth]) -> RenderableType:
    told = [one for one in rules if one.outcome is Outcome.FOUND]
    parts: list[RenderableType] = [_rule_table(told)] if told else []
    for outcome, said in (
        (Outcome.NONE, "Looser, these would save nothing"),
        (Outcome.UNKNOWN, "Not looked at to the end in the time"),
    ):
        names = [_rule_name(one, rules) for one in rules if one.outcome is outcome]
        if names:
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            parts.append(Text(f"{said}: {', '.join(names[:_MOST_NAMES])}{more}"))
    return Group(*parts)


def _rule_name(rule: RuleWorth, rules: Sequence[RuleWorth]) -> str:
    """Name a rule; entries of one list by their value, too."""
    is_entry = sum(one.rule == rule.rule for one in rules) > 1
    return printable(f"{rule.rule} {rule.value}" if is_entry else rule.rule)


def _rule_table(rules: Sequence[RuleWorth]) -> Table:
    table = _table("What each rule costs, alone")
    table.add_column("saves USD", justify="right", no_wrap=True)
    table.add_column("rule, its value and a looser one", overflow="fold")
    for one in rules:
        saving = one.saving
        saved = "" if saving is None else _between(saving.least_usd, saving.most_usd)
        table.add_row(saved, Text(printable(f"{one.rule}: {one.value} → {one.loosened}")))
    return table


def _between(least: Decimal, most: Decimal) -> str:
    low, high = f"{least:,.2f}", f"{most:,.2f}"
    return high if low == high else f"{low} – {high}"


def _why_not(asked: WhyNot) -> RenderableType:
    return _block(asked.offer, asked.verdict.value, _why_not_rows(asked))


def _why_not_rows(asked: WhyNot) -> Iterator[tuple[str, str]]:
    yield "why", asked.reason
    for detail in asked.details:
        yield "", detail
    if asked.could_do:
        yield "could do", ", ".join(asked.could_do)
    if asked.instead is not None and asked.instead.outcome is Outcome.FOUND:
        yield "that plan", f"buys more of {_some(asked.instead.buys)}"
        if asked.instead.drops:
            yield "", f"and less of {_some(asked.instead.drops)}"
    if asked.entry is not None:
        yield "price", entry_words(asked.entry)


def _near(number: int, near: NearPlan) -> RenderableType:
    total = near.plan.total_usd
    aside = f"{total:,.2f} USD" if total is not None else ""
    if near.plan.dearer is not None:
        aside += f", {range_words(near.plan.dearer)}"
    return _block(f"Near plan {number}", aside, _near_rows(near))


def _near_rows(near: NearPlan) -> Iterator[tuple[str, str]]:
    yield "buys more of", _some(near.plan.buys) or "nothing"
    yield "and less of", _some(near.plan.drops) or "nothing"
    for number, reason in enumerate(near.reasons):
        yield "" if number else "prefer it for", reason


def _relaxing(relaxing: Relaxing) -> Iterator[RenderableType]:
    if not relaxing.relaxations:
        told = "No looser value of the rules was found to be enough"
        told += "." if relaxing.is_whole else " in the time; --time-limit gives more."
        yield Text(told, style="bold")
        for reason in relaxing.hopeless:
            yield Text(printable(reason))
        return
    yield Text("What clashes", style="bold")
    for rule in relaxing.clashing:
        yield Padding(Text(printable(rule)), (0, 0, 0, 2))
    yield Text()
    is_single = all(len(one.changes) == 1 for one in relaxing.relaxations)
    several = "each of these lines is enough" if is_single else "each of these groups is enough"
    table = _table(f"What lets a plan exist: {several}")
    table.add_column("plan USD", justify="right", no_wrap=True)
    table.add_column("change", overflow="fold")
    for relaxation in relaxing.relaxations:
        total = _between(relaxation.bound_usd, relaxation.total_usd)
        changes = "\n".join(_change(one) for one in relaxation.changes)
        table.add_row(total, Text(changes))
    yield table


def _change(one: RuleChange) -> str:
    less = f"{one.one_step_less} is not enough" if one.one_step_less else "less may be enough"
    return printable(f"{one.rule}") + f"\n  {printable(f'{one.value} → {one.enough} ({less})')}"


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _price(usd: Decimal) -> str:
    return f"{usd:,.2f}" if usd >= _SMALL_USD or not usd else f"{usd:.4f}"


def _cut(usd: Decimal) -> Decimal:
    return usd.quantize(CENT, rounding=ROUND_FLOOR) if usd >= _SMALL_USD else usd


def _raised(usd: Decimal) -> Decimal:
    return usd.quantize(CENT, rounding=ROUND_CEILING) if usd >= _SMALL_USD else usd
