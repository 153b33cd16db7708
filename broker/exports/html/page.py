"""The page: what it tells and in which order; the template says how it looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from broker.domain.margin import margin_words
from broker.domain.plan import Plan, Status
from broker.exports.buying import Kind, bought
from broker.exports.extras import NO_EXTRAS, Extras
from broker.exports.files import ExportFile
from broker.exports.html.drawing import svg
from broker.exports.html.small_charts import bar_chart, load_chart, price_chart, week_chart
from broker.exports.html.style import COLOURS, FONT, KIND_NAMES
from broker.exports.html.timeline import NARROW, WIDE, timeline
from broker.exports.loads import ServiceLoad, service_loads
from broker.exports.reasons import (
    assumptions,
    certainties,
    paid_offers,
    price_sources,
    proof,
    reasons,
    removed,
    warnings,
)
from broker.exports.summary import (
    other_costs,
    summary,
    usd_by_kind,
    usd_by_provider,
    usd_by_term,
)
from broker.exports.weeks import week_costs, weeks_of

_HERE = "broker.exports.html"
_DAYS_FROM_H = 48


@dataclass(frozen=True, slots=True)
class LoadFigure:
    """The chart of a service, and the figures beside it."""

    load: ServiceLoad
    chart: Markup


@dataclass(frozen=True, slots=True)
class PriceFigure:
    """The chart of an offer's price."""

    offer: str
    chart: Markup


def export(plan: Plan, extras: Extras = NO_EXTRAS) -> tuple[ExportFile, ...]:
    """Write the plan as one HTML file."""
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read),
    )
    environment.filters |= {
        "usd": _usd,
        "price": _price,
        "day": _day,
        "moment": _moment,
        "age": _age,
    }
    template = environment.get_template("page.html.j2")
    return (ExportFile("plan.html", template.render(_told(plan, extras))),)


def _read(name: str) -> str:
    return resources.files(_HERE).joinpath(name).read_text(encoding="utf-8")


def _told(plan: Plan, extras: Extras) -> Mapping[str, object]:
    """Name everything that the template asks for."""
    costs = week_costs(plan)
    used = {one.kind for one in bought(plan)}
    lines = {one.id for one in plan.purchases}
    return {
        "plan": plan,
        "has_plan": plan.status is not Status.INFEASIBLE,
        "summary": summary(plan),
        "proof": proof(plan),
        "bought": bought(plan),
        "kinds": [kind for kind in Kind if kind in used],
        "cost_kinds": [kind for kind, _ in usd_by_kind(costs)],
        "kind_names": KIND_NAMES,
        "others": other_costs(plan),
        "by_term": usd_by_term(plan),
        "by_kind": usd_by_kind(costs),
        "by_provider": usd_by_provider(costs),
        "weeks": [
            (week, sum((one.usd for one in costs if one.week == week), Decimal(0)))
            for week in weeks_of(plan)
        ],
        "reasons": reasons(plan, extras.told),
        "told": [one for one in extras.told if one.subject not in lines],
        "removed": removed(plan),
        "certainties": certainties(plan),
        "assumptions": assumptions(plan),
        "warnings": warnings(plan),
        "sources": price_sources(plan),
        "colours": COLOURS,
        "font": Markup(FONT),  # noqa: S704 - a constant of ours, with quotes
        **_charts(plan, extras),
    }


def _charts(plan: Plan, extras: Extras) -> Mapping[str, object]:
    if not plan.purchases:
        return dict.fromkeys(("timeline_wide", "timeline_narrow", "week_chart"), "") | {
            "provider_chart": "",
            "comparison_chart": "",
            "loads": (),
            "prices": (),
        }
    costs, horizon = week_costs(plan), plan.workloads.horizon
    providers = [
        (name or "–", usd, f"{_usd(usd)} ({usd / plan.total_usd:.0%})", "accent")
        for name, usd in usd_by_provider(costs)
    ]
    return {
        "timeline_wide": timeline(plan, WIDE, "timeline-wide"),
        "timeline_narrow": timeline(plan, NARROW, "timeline-narrow"),
        "week_chart": svg(week_chart(costs, weeks_of(plan)), "weeks") if costs else "",
        "provider_chart": svg(bar_chart(providers, "Cost by provider"), "by-provider")
        if providers
        else "",
        "comparison_chart": svg(bar_chart(_rivals(plan), "Compared strategies"), "rivals")
        if plan.comparisons
        else "",
        "margin": margin_words(plan.workloads.policy.safety_margin),
        "loads": [
            LoadFigure(load, svg(load_chart(load, horizon.start, horizon.end), f"load-{number}"))
            for number, load in enumerate(service_loads(plan))
        ],
        "prices": _prices(plan, extras),
    }


def _prices(plan: Plan, extras: Extras) -> Sequence[PriceFigure]:
    used = paid_offers(plan)
    return [
        PriceFigure(path.offer, svg(price_chart(path), f"price-{number}"))
        for number, path in enumerate(extras.prices)
        if path.offer in used and path.steps
    ]


def _rivals(plan: Plan) -> Sequence[tuple[str, Decimal | None, str, str]]:
    bars: list[tuple[str, Decimal | None, str, str]] = [
        ("This plan", plan.objective_usd, _usd(plan.objective_usd), "accent")
    ]
    for one in sorted(plan.comparisons, key=lambda one: one.total_usd or Decimal("Infinity")):
        name = one.strategy[:1].upper() + one.strategy[1:]
        if one.total_usd is None:
            bars.append((name, None, "no plan", "other"))
            continue
        ours = plan.objective_usd
        more = (one.total_usd - ours) / ours if ours else None
        share = f" ({more:+.1%})" if more is not None else ""
        bars.append((name, one.total_usd, f"{_usd(one.total_usd)}{share}", "other"))
    return bars


def _usd(amount: Decimal) -> str:
    return f"{amount:,.2f}"


def _price(amount: Decimal) -> str:
    return f"{amount:,.4f}"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"


def _age(hours: float) -> str:
    """Write hours up to two days, then days."""
    return f"{hours:.0f} h" if hours < _DAYS_FROM_H else f"{hours / 24:.0f} d"


def _moment(at: datetime) -> str:
    """Write a day, with the hour where it is not midnight."""
    return f"{at:%-d %b}" if (at.hour, at.minute) == (0, 0) else f"{at:%-d %b %H:%M}"
