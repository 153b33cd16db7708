"""From a chart to an inline SVG: no script, no outside reference, a title and words for it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import altair as alt
import vl_convert
from markupsafe import Markup, escape

from broker.exports.html.style import FONT, TEXT_PX, colour

AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart
Row = Mapping[str, str | float | int | None]

_BOTTOM_PX = 4
_RIGHT_PX = 16
"""Room below and after the words of an axis: the reader's font may be larger than ours."""

_OPENING = re.compile(r"<svg\b[^>]*>")
_VIEW_BOX = re.compile(r'viewBox="[^"]*"')
_OWN_NAME = re.compile(r'(\bid="|url\(#)')
_TAG = re.compile(r"<[^>]*>")
_DIGITS = re.compile(r"(\d\.\d)\d+")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart whose layers name their rows in `data`, and the words that stand for it.

    The rows lie beside the chart, as they would be copied and checked at each step of making it.
    With `top_px`, axes take that room above the chart; else they take theirs out of its size.
    """

    chart: AnyChart
    data: Mapping[str, Sequence[Row]]
    title: str
    words: str
    top_px: int = 0


def svg(drawing: Drawing, name: str) -> Markup:
    """Draw a chart; `name` is unique in the page."""
    spec = cast("dict[str, object]", _dressed(drawing.chart, drawing.top_px).to_dict())
    spec["datasets"] = {key: [dict(row) for row in rows] for key, rows in drawing.data.items()}
    drawn = vl_convert.vegalite_to_svg(spec, vl_version=_version(), allowed_base_urls=[])
    return Markup(_named(drawn, name, drawing))  # noqa: S704 - the renderer escapes our texts


def _version() -> str:
    """Give the version that the charts are written for, as the renderer writes it."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _dressed(chart: AnyChart, top_px: int) -> AnyChart:
    size = (
        alt.AutoSizeParams(type="none")
        if top_px
        else alt.AutoSizeParams(type="fit", contains="padding")
    )
    dressed: AnyChart = (
        chart.configure(
            background="transparent",
            font=FONT,
            padding={
                "top": top_px,
                "left": 0,
                "right": 0 if top_px else _RIGHT_PX,
                "bottom": _BOTTOM_PX,
            },
            aria=False,
            autosize=size,
        )
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=colour("muted"),
            labelFontSize=TEXT_PX,
            titleColor=colour("muted"),
            titleFontSize=TEXT_PX,
            titleFontWeight="normal",
            gridColor=colour("line"),
            domainColor=colour("line"),
            tickColor=colour("line"),
        )
        .configure_text(font=FONT, fontSize=TEXT_PX, color=colour("ink"))
    )
    return dressed


def _named(drawn: str, name: str, drawing: Drawing) -> str:
    opening = _OPENING.search(drawn)
    box = _VIEW_BOX.search(opening.group()) if opening else None
    if opening is None or box is None:
        raise ValueError(f"the drawing of {name} has no frame")
    frame = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box.group()} role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{escape(drawing.title)}</title>'
        f'<desc id="{name}-d">{escape(drawing.words)}</desc>'
    )
    inside = _OWN_NAME.sub(rf"\g<1>{name}-", drawn[opening.end() :])
    return frame + _TAG.sub(lambda tag: _DIGITS.sub(r"\1", tag.group()), inside)
