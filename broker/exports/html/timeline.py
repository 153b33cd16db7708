"""The timeline: lanes of GPUs over the slots of the horizon, coloured by how they are paid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import altair as alt
from markupsafe import Markup

from broker.domain.plan import Plan
from broker.exports.buying import Kind
from broker.exports.html.drawing import Drawing, Row, svg
from broker.exports.html.lanes import Lane, Span, lanes
from broker.exports.html.style import colour, kind_colour

_AXIS_PX = 22
_GAP_PX = 7
_MACHINE_PX = 30
_WORK_PX = 13
_LABEL_PX = 17
_RANGE_PX = 92


@dataclass(frozen=True, slots=True)
class Frame:
    """Where things stand: the width, and that of the names, which stand above where it is 0."""

    width: int
    names_px: int

    @property
    def end_px(self) -> int:
        """Say where the lanes end."""
        return self.width - _RANGE_PX if self.names_px else self.width


@dataclass(frozen=True, slots=True)
class _Placed:
    lane: Lane
    text_y: float
    top: float
    height: float


WIDE = Frame(width=900, names_px=280)
NARROW = Frame(width=350, names_px=0)


def timeline(plan: Plan, frame: Frame, name: str) -> Markup:
    """Draw the timeline of a plan that has purchases."""
    found = lanes(plan)
    placed, height = _placed(found, frame)
    horizon = plan.workloads.horizon
    x = alt.X(
        "t:T",
        scale=alt.Scale(
            type="utc",
            domain=[_iso(horizon.start), _iso(horizon.end)],
            range=[frame.names_px, frame.end_px],
            nice=False,
        ),
        axis=alt.Axis(
            orient="top",
            title=None,
            format="%-d %b",
            tickCount=10 if frame.names_px else 4,
            grid=bool(frame.names_px),  # where names stand above the lanes, lines would cross them
        ),
    )
    chart = alt.layer(
        _areas(x, height), *_names("machines", frame, height), *_names("works", frame, height)
    ).properties(width=frame.width, height=height)
    data = {
        "areas": [row for one in placed for row in _area_rows(one)],
        "machines": [_name_row(one) for one in placed if one.lane.is_machine],
        "works": [_name_row(one) for one in placed if not one.lane.is_machine],
    }
    title = "What runs where, and when"
    return svg(Drawing(chart, data, title, _words(found), top_px=_AXIS_PX), name)


def _placed(found: Sequence[Lane], frame: Frame) -> tuple[list[_Placed], float]:
    y, placed = 0.0, []
    for number, lane in enumerate(found):
        y += _GAP_PX * (2 if lane.is_machine and number else 1)
        height = _MACHINE_PX if lane.is_machine else _WORK_PX
        label = 0 if frame.names_px else _LABEL_PX
        text_y = y + (height / 2 if frame.names_px else _LABEL_PX / 2)
        placed.append(_Placed(lane, text_y, y + label, height))
        y += height + label
    return placed, y + 2


def _y(height: float, of: str = "y:Q") -> alt.Y:
    return alt.Y(of, axis=None, scale=alt.Scale(domain=[0, height], range=[0, height], nice=False))


def _areas(x: alt.X, height: float) -> alt.Chart:
    kinds = [kind for kind in Kind if kind is not Kind.OTHER]
    scale = alt.Scale(
        domain=[kind.value for kind in kinds], range=[kind_colour(kind) for kind in kinds]
    )
    areas: alt.Chart = (
        alt.Chart(alt.NamedData("areas"))
        .mark_area(interpolate="step-after")
        .encode(
            x=x,
            y=_y(height),
            y2="y2:Q",
            color=alt.Color("kind:N", scale=scale, legend=None),
            detail="piece:N",
        )
    )
    return areas


def _area_rows(one: _Placed) -> Iterator[Row]:
    """Give the corners of each kind's area; a gap in time ends a piece and begins another.

    A corner holds until the next one of its piece, so only the last needs its end.
    """
    open_pieces: dict[Kind, tuple[datetime, Row]] = {}
    per_gpu = one.height / (one.lane.most or 1.0)
    number = 0
    for span in one.lane.spans:
        low = one.top + one.height
        for kind in Kind:
            gpus = span.gpus.get(kind, 0.0)
            until, row = open_pieces.get(kind, (None, {}))
            if until and until <= span.from_at and not (gpus and until == span.from_at):
                yield {**row, "t": _iso(until)}
                del open_pieces[kind]
            if not gpus:
                continue
            high = low - gpus * per_gpu
            number += kind not in open_pieces
            piece = row["piece"] if kind in open_pieces else f"{one.top:.0f} {number}"
            corner: Row = {"y": high, "y2": low, "kind": kind.value, "piece": piece}
            yield {**corner, "t": _iso(span.from_at)}
            open_pieces[kind] = (span.to_at, corner)
            low = high
    for until, row in open_pieces.values():
        yield {**row, "t": _iso(until)}


def _names(of: str, frame: Frame, height: float) -> Iterator[alt.Chart]:
    """Write the names of machines in bold, of workloads plainly, and the counts at the end."""
    limit = (frame.names_px or frame.end_px - _RANGE_PX) - 14
    is_machine = of == "machines"
    weight: Literal["bold", "normal"] = "bold" if is_machine else "normal"
    ink = colour("ink" if is_machine else "muted")
    indent = 0 if is_machine else 12
    base = alt.Chart(alt.NamedData(of)).encode(y=_y(height))
    yield base.mark_text(
        align="left", baseline="middle", fontWeight=weight, color=ink, limit=limit - indent
    ).encode(x=alt.value(indent), text="text:N")
    yield base.mark_text(align="right", baseline="middle", fontWeight=weight, color=ink).encode(
        x=alt.value(frame.width), text="range:N"
    )


def _name_row(one: _Placed) -> Row:
    return {"y": one.text_y, "text": _name(one.lane), "range": f"{one.lane.range} GPUs"}


def _name(lane: Lane) -> str:
    return f"{lane.detail.split(',')[0]} · {lane.name}" if lane.detail else lane.name


def _words(found: Sequence[Lane]) -> str:
    machines = [lane for lane in found if lane.is_machine]
    told = [
        f"{lane.name}, {lane.detail}: {lane.range} GPUs ({', '.join(_kinds(lane.spans))})"
        for lane in machines
    ]
    return f"GPUs over time on {len(machines)} machines. {'; '.join(told)}."


def _kinds(spans: Sequence[Span]) -> list[str]:
    used = {kind for span in spans for kind in span.gpus}
    return [kind.value for kind in Kind if kind in used]


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
