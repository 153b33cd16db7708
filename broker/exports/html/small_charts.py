"""The small charts: load of a service, cost by week, bars to compare, the price of an offer."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import altair as alt

from broker.exports.buying import Kind
from broker.exports.extras import PricePath
from broker.exports.html.drawing import AnyChart, Drawing, Row
from broker.exports.html.style import colour, kind_colour
from broker.exports.loads import ServiceLoad
from broker.exports.weeks import Week, WeekCost

WIDTH = 350
_LOAD_PX = 150
_WEEKS_PX = 200
_BAR_PX = 44
_BAR_THICK_PX = 14
_PRICE_PX = 120
_LABELLED_WEEKS = 6
_BAR_PLACES = ("y", "text_y", "told_y")
_BAR_SHARE = 0.56
"""The part of the width that the longest bar takes, so that its figure stands beside it."""
_ROOM = 1.12
"""How much higher than the highest value an axis goes, so that its words have room."""


def load_chart(load: ServiceLoad, start: datetime, end: datetime) -> Drawing:
    """Draw what a service must answer, what it could, and what if its rates are overestimated."""
    peak = load.peak
    top = max(max(slot.capacity_per_s, slot.load_per_s) for slot in load.slots) * _ROOM
    x = _time("t:T", start, end)
    slots = alt.Chart(alt.NamedData("slots")).encode(x=x)
    scale = alt.Scale(domain=[0, top], nice=False)
    axis = alt.Axis(tickCount=4, title=None)
    chart = alt.layer(
        slots.mark_area(interpolate="step-after", color=colour("tint")).encode(
            y=alt.Y("capacity:Q", axis=axis, scale=scale)
        ),
        slots.mark_area(interpolate="step-after", color=colour("deeptint")).encode(
            y=alt.Y("low:Q", axis=axis, scale=scale)
        ),
        slots.mark_line(interpolate="step-after", color=colour("accent"), strokeWidth=1.5).encode(
            y=alt.Y("load:Q", axis=axis, scale=scale)
        ),
    ).properties(width=WIDTH, height=_LOAD_PX)
    rows: list[Row] = [
        {
            "t": _iso(at),
            "load": slot.load_per_s,
            "capacity": slot.capacity_per_s,
            "low": slot.low_capacity_per_s,
        }
        for slot in load.slots
        for at in ((slot.from_at, slot.to_at) if slot is load.slots[-1] else (slot.from_at,))
    ]
    words = (
        f"The load of {load.service} peaks at {peak.load_per_s:.3g} requests/s; the replicas could "
        f"then answer {peak.capacity_per_s:.3g}, and {peak.low_capacity_per_s:.3g} at the low end "
        "of the error band."
    )
    return Drawing(chart, {"slots": rows}, f"Load and capacity of {load.service}", words)


def week_chart(costs: Sequence[WeekCost], weeks: Sequence[Week]) -> Drawing:
    """Draw the cost of each week as a bar of the kinds."""
    kinds = [kind for kind in Kind if any(one.kind is kind for one in costs)]
    sums = [(week, kind, _sum(costs, week, kind)) for week in weeks for kind in kinds]
    totals = [(week, sum(usd for at, _, usd in sums if at is week)) for week in weeks]
    top = float(max((usd for _, usd in totals), default=Decimal(1))) * _ROOM
    x = alt.X("week:O", sort=None, axis=alt.Axis(labelAngle=0, title=None, ticks=False))
    y_scale = alt.Scale(domain=[0, top], nice=False)
    y_axis = alt.Axis(tickCount=4, title=None, format="~s")
    bars = (
        alt.Chart(alt.NamedData("parts"))
        .mark_bar(size=min(48.0, 230 / len(weeks)))
        .encode(
            x=x,
            y=alt.Y("low:Q", scale=y_scale, axis=y_axis),
            y2="high:Q",
            color=_kind_colours(kinds),
        )
    )
    labels = (
        alt.Chart(alt.NamedData("totals"))
        .mark_text(baseline="bottom", dy=-4)
        .encode(x=x, y=alt.Y("usd:Q", scale=y_scale, axis=y_axis), text="text:N")
    )
    layers = [bars, labels] if len(weeks) <= _LABELLED_WEEKS else [bars]
    rows = list(_week_rows(sums))
    words = "; ".join(f"week from {week.from_at:%Y-%m-%d}: {usd:,.2f} USD" for week, usd in totals)
    data: dict[str, Sequence[Row]] = {
        "parts": rows,
        "totals": [
            {"week": _day(week.from_at), "usd": float(usd), "text": f"{usd:,.0f}"}
            for week, usd in totals
        ],
    }
    chart = alt.layer(*layers).properties(width=WIDTH, height=_WEEKS_PX)
    return Drawing(chart, data, "Cost by week", f"{words}.")


def bar_chart(
    bars: Sequence[tuple[str, Decimal | None, str, str]], title: str, *, unit: str = "USD"
) -> Drawing:
    """Draw bars with their names above them: (name, value, words behind it, colour name)."""
    rows: list[Row] = [
        {
            "name": name,
            "told": told,
            "value": float(value or 0),
            "colour": tone,
            "text_y": number * _BAR_PX + 9,
            "y": number * _BAR_PX + 20,
            "y2": number * _BAR_PX + 20 + _BAR_THICK_PX,
            "told_y": number * _BAR_PX + 20 + _BAR_THICK_PX / 2,
        }
        for number, (name, value, told, tone) in enumerate(bars)
    ]
    top = float(max((value for _, value, _, _ in bars if value), default=Decimal(1)))
    chart = _bars(top, _BAR_PX * len(bars), tuple(dict.fromkeys(tone for *_, tone in bars)))
    words = "; ".join(f"{name}: {told} {unit}" for name, _, told, _ in bars)
    return Drawing(chart, {"bars": rows}, title, f"{words}.")


def _bars(top: float, height: int, tones: Sequence[str]) -> AnyChart:
    base = alt.Chart(alt.NamedData("bars"))
    place = alt.Scale(domain=[0, height], range=[0, height], nice=False)
    y, text_y, told_y = (alt.Y(f"{of}:Q", axis=None, scale=place) for of in _BAR_PLACES)
    x = alt.X("value:Q", axis=None, scale=alt.Scale(domain=[0, top / _BAR_SHARE], nice=False))
    tone = alt.Scale(domain=list(tones), range=[colour(tone) for tone in tones])
    chart = alt.layer(
        base.mark_rect().encode(
            x=x,
            x2=alt.datum(0),
            y=y,
            y2="y2:Q",
            color=alt.Color("colour:N", scale=tone, legend=None),
        ),
        base.mark_text(align="left", baseline="middle", limit=WIDTH).encode(
            x=alt.value(0), y=text_y, text="name:N"
        ),
        base.mark_text(align="left", baseline="middle", dx=6, color=colour("muted")).encode(
            x=x, y=told_y, text="told:N"
        ),
    )
    return chart.properties(width=WIDTH, height=height)


def price_chart(path: PricePath) -> Drawing:
    """Draw what a node-hour of an offer cost over time; prices that were held back are dashed."""
    end = path.steps[-1].to_at
    start = min(path.steps[0].from_at, end - timedelta(days=1))
    top = max(float(step.usd_per_hour) for step in path.steps) * 1.2
    layers = []
    for of, dash in (("stood", [1, 0]), ("held", [3, 3])):
        layers.append(
            alt.Chart(alt.NamedData(of))
            .mark_line(
                interpolate="step-after", color=colour("accent"), strokeWidth=2, strokeDash=dash
            )
            .encode(
                x=_time("t:T", start, end),
                y=alt.Y(
                    "usd:Q",
                    axis=alt.Axis(tickCount=3, title=None),
                    scale=alt.Scale(domain=[0, top], nice=False),
                ),
                detail="piece:N",
            )
        )
    data: dict[str, Sequence[Row]] = {
        "stood": list(_price_rows(path, is_held=False)),
        "held": list(_price_rows(path, is_held=True)),
    }
    first, last = path.steps[0], path.steps[-1]
    words = (
        f"{path.offer} cost {first.usd_per_hour:,.4f} USD a node-hour on "
        f"{first.from_at:%Y-%m-%d} and {last.usd_per_hour:,.4f} since {last.from_at:%Y-%m-%d}."
    )
    chart = alt.layer(*layers).properties(width=WIDTH, height=_PRICE_PX)
    return Drawing(chart, data, f"Price of {path.offer}", words)


def _price_rows(path: PricePath, *, is_held: bool) -> Iterator[Row]:
    piece, until = 0, None
    for step in path.steps:
        if step.is_held is not is_held:
            continue
        piece += until != step.from_at
        for at in (step.from_at, step.to_at):
            yield {"t": _iso(at), "usd": float(step.usd_per_hour), "piece": piece}
        until = step.to_at


def _week_rows(sums: Sequence[tuple[Week, Kind, Decimal]]) -> Iterator[Row]:
    """Stack the kinds of each week from the bottom up."""
    low, last = Decimal(0), None
    for week, kind, usd in sums:
        low = low if week is last else Decimal(0)
        if usd:
            yield {
                "week": _day(week.from_at),
                "kind": kind.value,
                "low": float(low),
                "high": float(low + usd),
            }
        low, last = low + usd, week


def _sum(costs: Sequence[WeekCost], week: Week, kind: Kind) -> Decimal:
    return sum((one.usd for one in costs if one.week == week and one.kind is kind), Decimal(0))


def _kind_colours(kinds: Sequence[Kind]) -> alt.Color:
    scale = alt.Scale(
        domain=[kind.value for kind in kinds], range=[kind_colour(kind) for kind in kinds]
    )
    return alt.Color("kind:N", scale=scale, legend=None)


def _time(of: str, start: datetime, end: datetime) -> alt.X:
    return alt.X(
        of,
        scale=alt.Scale(type="utc", domain=[_iso(start), _iso(end)], nice=False),
        axis=alt.Axis(title=None, format="%-d %b", tickCount=4, grid=False),
    )


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b}"


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
