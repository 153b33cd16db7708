"""A plan for a pull request or a wiki: headline, what to buy, what runs where, costs, sureness."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from broker.domain.chosen_model import chosen_model
from broker.domain.pauses import fewest
from broker.domain.plan import Plan, ServingAssignment, Status
from broker.exports.buying import bought
from broker.exports.extras import NO_EXTRAS, Extras, Told
from broker.exports.files import ExportFile
from broker.exports.reasons import certainties, price_sources, proof, reasons, removed, warnings
from broker.exports.summary import summary, usd_by_kind, usd_by_provider, usd_by_term
from broker.exports.weeks import week_costs, weeks_of

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
_MENTION = re.compile(r"(@|\\#)(?=\w)")
_TICKS = re.compile(r"`+")


def export(plan: Plan, extras: Extras = NO_EXTRAS) -> tuple[ExportFile, ...]:
    """Write the plan as one Markdown file, in the dialect of GitHub and GitLab.

    Of the extras it tells what is said of lines and rules; prices over time need a chart.
    """
    return (ExportFile("plan.md", "\n".join([*_lines(plan, extras.told), ""])),)


def _lines(plan: Plan, told: Sequence[Told]) -> Iterator[str]:
    horizon = plan.workloads.horizon
    yield f"# Purchase plan, {horizon.start:%Y-%m-%d} to {horizon.end:%Y-%m-%d}"
    yield ""
    yield _plain(proof(plan))
    yield ""
    if plan.status is not Status.INFEASIBLE:
        yield from _headline(plan)
        yield from _purchases(plan)
        yield from _work(plan)
        yield from _costs(plan)
        yield from _scenarios(plan)
        yield from _comparisons(plan)
    yield from _warnings(plan)
    yield from _folded("Why this", _why(plan, told))
    yield from _folded("Why not other offers", _removed(plan))
    yield from _folded("Rates, error bands and assumptions", _certainties(plan))
    yield from _folded("Prices: ages and sources", _prices(plan))
    yield (
        f"Catalog {_code(plan.catalog.snapshot)} with {plan.catalog.offers:,} offers, workloads "
        f"{_code(plan.workloads_sha256)}. All times are UTC, all prices USD."
    )


def _headline(plan: Plan) -> Iterator[str]:
    told = summary(plan)
    figures = [
        ("total", f"**{_usd(told.total_usd)} USD** for {told.days} days"),
        ("due at the start", f"{_usd(told.upfront_usd)} USD"),
        ("cost of commitments after the horizon", f"{_usd(told.later_usd)} USD"),
        *(
            (name, f"{_usd(usd)} USD")
            for name, usd in (plan.scenarios.measures if plan.scenarios else ())
        ),
        ("least possible", f"{_usd(told.bound_usd)} USD (gap {told.gap_fraction:.2%})"),
    ]
    if told.saving:
        saved = f"{_usd(told.saving.usd)} USD ({told.saving.share:.1%})"
        figures.append((f"less than {told.saving.strategy}", saved))
    figures.append(("most GPUs at once", f"{told.most_gpus}"))
    yield from _table(("", ""), [(_plain(name), value) for name, value in figures], right=(1,))


def _purchases(plan: Plan) -> Iterator[str]:
    rows = [
        (
            one.action,
            _range(one.fewest_nodes, one.most_nodes) if one.span else "–",
            f"{_code(one.name)} ({_plain(one.gpus)}), {_plain(one.where)}",
            _plain(one.terms),
            ", ".join(filter(None, (" → ".join(_moment(at) for at in one.span or ()), one.pauses))),
            _plain(", ".join(one.workloads)),
            _usd(one.purchase.usd),
        )
        for one in bought(plan)
    ]
    yield from ("## What to buy", "")
    yield from _table(
        ("do", "nodes", "what and where", "terms", "when", "for", "USD"), rows, right=(1, 6)
    )


def _how(plan: Plan, one: ServingAssignment) -> str:
    """Say how a replica works, and of which model it is where there is a choice."""
    return f"{chosen_model(plan, one)} {one.candidate.laid_out} {one.candidate.precision}".strip()


def _work(plan: Plan) -> Iterator[str]:
    serving = [
        (
            _plain(f"{one.service}, for {one.user_region}"),
            _range(
                fewest(one.steps, (step.replicas for step in one.steps)),
                max((step.replicas for step in one.steps), default=0),
            ),
            _plain(_how(plan, one)),
            _code(one.machine),
            "spot" if one.on_spot else "firm",
        )
        for one in plan.serving
    ]
    training = [
        (
            _plain(one.workload),
            f"{one.candidate.nodes}",
            _plain(str(one.candidate.layout)),
            _code(one.machine),
            "spot" if one.on_spot else "firm",
        )
        for one in plan.training
    ]
    training = list(dict.fromkeys(training))  # the days of a batch job that are done alike
    yield from ("## What runs where", "")
    headings = ("workload", "replicas or nodes", "each", "on", "market")
    yield from _table(headings, [*serving, *training], right=(1,))


def _costs(plan: Plan) -> Iterator[str]:
    costs = week_costs(plan)
    total = plan.total_usd
    parts: list[tuple[str, Decimal]] = list(usd_by_term(plan))
    yield from ("## What it costs", "")
    yield from _shares("part", parts, total)
    yield from _shares("paid as", [(kind.value, usd) for kind, usd in usd_by_kind(costs)], total)
    yield from _shares("paid to", usd_by_provider(costs), total)
    weekly = [
        (
            f"{week.from_at:%Y-%m-%d}",
            sum((one.usd for one in costs if one.week == week), Decimal(0)),
        )
        for week in weeks_of(plan)
    ]
    yield from _shares("week from", weekly, total)


def _shares(heading: str, parts: Iterable[tuple[str, Decimal]], total: Decimal) -> Iterator[str]:
    rows = [
        (_plain(name) or "–", _usd(usd), f"{usd / total:.1%}" if total else "")
        for name, usd in parts
    ]
    rows.append(("**total**", f"**{_usd(total)}**", ""))
    yield from _table((heading, "USD", "share"), rows, right=(1, 2))


def _scenarios(plan: Plan) -> Iterator[str]:
    if plan.scenarios is None:
        return
    rows = [
        (
            _plain(one.name),
            f"{one.probability:.0%}",
            _usd(one.total_usd),
            f"{one.rented_node_hours:,.0f}",
            f"{one.most_rented_nodes}",
        )
        for one in plan.scenarios.scenarios
    ]
    yield from ("## What it costs in each scenario", "")
    headings = ("scenario", "probability", "USD", "rented node-hours", "most rented nodes")
    yield from _table(headings, rows, right=(1, 2, 3, 4))


def _comparisons(plan: Plan) -> Iterator[str]:
    if not plan.comparisons:
        return
    ours = plan.objective_usd
    rows = [("**this plan**", f"**{_usd(ours)}**", "", _usd(plan.bound_usd))]
    for one in plan.comparisons:
        if one.total_usd is None:
            rows.append((_plain(one.strategy), "no plan", "", ""))
            continue
        share = f"{(one.total_usd - ours) / ours:+.1%}" if ours else ""
        bound = "" if one.bound_usd is None else _usd(one.bound_usd)
        rows.append((_plain(one.strategy), _usd(one.total_usd), share, bound))
    yield from ("## Compared with", "")
    yield from _table(("strategy", "USD", "more", "at least"), rows, right=(1, 2, 3))


def _warnings(plan: Plan) -> Iterator[str]:
    if plan.warnings:
        yield from ("## Mind", "")
        for one in warnings(plan):
            of = ", ".join(_code(subject) for subject in one.subjects)
            yield f"- {_plain(one.text)}{f' ({of})' if of else ''}"
        yield ""


def _why(plan: Plan, told: Sequence[Told]) -> Iterator[str]:
    """Write what was found out by planning anew: of each line, then of the rest."""
    if not told:
        return
    lines = {one.id for one in plan.purchases}
    found = [(one.heading, one.sentences) for one in reasons(plan, told)]
    found += [(one.subject, one.sentences) for one in told if one.subject not in lines]
    for heading, sentences in found:
        yield from (f"**{_plain(heading)}**", "")
        yield from (f"- {_plain(sentence)}" for sentence in sentences)
        yield ""


def _removed(plan: Plan) -> Iterator[str]:
    rows = [
        (
            f"{one.offers:,}",
            _plain(one.reason),
            _plain(", ".join(one.workloads) or "all"),
            _code(one.example),
        )
        for one in removed(plan)
    ]
    yield from _table(("offers", "reason", "for", "such as"), rows, right=(0,))


def _certainties(plan: Plan) -> Iterator[str]:
    rows = [
        (
            _plain(one.workload),
            _code(one.machine),
            _plain(one.rate),
            one.label.value,
            f"×{one.band.low_factor:g} to ×{one.band.high_factor:g}",
            _plain("; ".join(one.assumptions)),
        )
        for one in certainties(plan)
    ]
    headings = ("workload", "on", "rate", "known by", "90 % band", "assumed")
    yield from _table(headings, rows)


def _prices(plan: Plan) -> Iterator[str]:
    rows = [
        (
            _code(one.offer),
            f"{one.usd_per_hour:,.4f}",
            f"{one.observed_at:%Y-%m-%d}",
            one.evidence.value,
            _plain(one.source),
        )
        for one in price_sources(plan)
    ]
    yield from _table(("offer", "USD/h", "seen", "evidence", "source"), rows, right=(1,))


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    inside = list(lines)
    if inside:
        yield from (f"<details><summary>{title}</summary>", "", *inside, "</details>", "")


def _table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[int] = ()
) -> Iterator[str]:
    if not rows:
        return
    rule = ["---:" if number in right else "---" for number in range(len(headings))]
    for row in (headings, rule, *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def _plain(text: str) -> str:
    """Write text so that no sign of it is read as markup, a mention or the end of a cell."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _MENTION.sub(r"\1<!-- -->", escaped)  # a backslash does not stop a mention


def _code(text: str) -> str:
    """Write a name as code, in a fence longer than any inside it."""
    flat = " ".join(text.split()).replace("|", "\\|")
    fence = "`" * (1 + max((len(ticks) for ticks in _TICKS.findall(flat)), default=0))
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _usd(amount: Decimal) -> str:
    return f"{amount:,.2f}"


def _range(fewest: int, most: int) -> str:
    return f"{fewest}" if fewest == most else f"{fewest}–{most}"


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d}" if (at.hour, at.minute) == (0, 0) else f"{at:%Y-%m-%d %H:%M}"
