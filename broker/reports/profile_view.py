"""What is shown of a load profile: a part of a workloads file, a chart, and what it rests on."""

import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from broker.domain.load_profile import ClassMembers, LoadProfile, Mark
from broker.reports.formats import Column, Report, as_table

_SCHEMA = "gpubroker.profile/1"
_WIDE = 76
_HEIGHT = 8
_EIGHTHS = 8
_PARTS = " ▁▂▃▄▅▆▇█"
_LINE = "─"
_PERCENT = 100
_ENOUGH = 0.001


@dataclass(frozen=True, slots=True)
class _ClassRow:
    """A size class and the requests that it stands for."""

    share: float
    requests: int
    input_tokens: int
    most_input_tokens: int
    output_tokens: int
    most_output_tokens: int


def profile_yaml(profile: LoadProfile, service: str | None = None) -> str:
    """Write a profile as a workloads file has it: the keys of a service, or of the one named."""
    lines = [*_curve_lines(profile), *_size_lines(profile.classes)]
    if service is not None:
        lines = [f"  - name: {service}", *(f"    {line}" for line in lines)]
        lines.insert(0, "services:")
    return "".join(f"{line}\n" for line in (*_comments(profile), *lines))


def profile_json(profile: LoadProfile) -> str:
    """Write all that is known of a profile."""
    return json.dumps({"schema": _SCHEMA, **profile.model_dump(mode="json")}, indent=2) + "\n"


def profile_page(profile: LoadProfile, width: int) -> str:
    """Show for a person what the log says, how good the curve is, and what is not known."""
    parts = [
        f"{_what(profile)}\n",
        "".join(f"{line}\n" for line in load_chart(profile.chart, profile.chart_title, width)),
        "".join(f"{line}\n" for line in _wrapped(_error(profile), width)),
    ]
    if profile.classes:
        parts.append(as_table(_classes(profile.classes), width))
        parts.append(f"tokens kept: {_kept(profile)}\n")
    told = [f"left out: {one}" for one in _left_out(profile)]
    told += [f"not known: {note}" for note in profile.notes]
    parts.append("".join(f"{line}\n" for one in told for line in _wrapped(one, width)))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part.strip())


def load_chart(marks: Sequence[Mark], title: str, width: int) -> tuple[str, ...]:
    """Draw what the log had as bars and the curve as a line, from 0 up, within `width`."""
    tops = [max(mark.log_requests_per_s or 0.0, mark.curve_requests_per_s) for mark in marks]
    top = max(tops, default=0.0)
    if not top:
        return ()
    labels = [f"{top:.3g}", *[""] * (_HEIGHT - 2), "0"]
    room = max(map(len, labels))
    repeat = max(1, min(4, (width - room - 2) // len(marks)))
    columns = [column for mark in marks for column in [_column(mark, top)] * repeat]
    lines = [
        f"{label:>{room}} ┤{''.join(column[-1 - line] for column in columns)}".rstrip()
        for line, label in enumerate(labels)
    ]
    axis = _axis([mark.label for mark in marks], repeat)
    return (f"{title}: █ log, {_LINE} curve", *lines, f"{'':{room}}  {axis}")


def _column(mark: Mark, top: float) -> str:
    """Draw one column from the bottom up; the curve's line lies over the bar."""
    eighths = round((mark.log_requests_per_s or 0.0) / top * _HEIGHT * _EIGHTHS)
    whole, part = divmod(eighths, _EIGHTHS)
    bar = (_PARTS[-1] * whole + (_PARTS[part] if part else "")).ljust(_HEIGHT)
    at = min(_HEIGHT - 1, int(mark.curve_requests_per_s / top * _HEIGHT))
    return f"{bar[:at]}{_LINE}{bar[at + 1 :]}"


def _axis(labels: Sequence[str], repeat: int) -> str:
    """Write a label where there is room for it, each below its column."""
    line = ""
    for at, label in enumerate(labels):
        start = at * repeat
        is_last = start + len(label) > len(labels) * repeat
        if start >= len(line) + 3 * bool(line) and not is_last:
            line = f"{line:{start}}{label}"
    return line


def _curve_lines(profile: LoadProfile) -> Iterator[str]:
    curve = profile.curve
    values = {
        "mean": f"{curve.mean:g}",
        "peak": f"{curve.peak:g}",
        "peak_hour": f"{curve.peak_hour:g}",
        "timezone": curve.timezone,
        "weekend_factor": f"{curve.weekend_factor:g}",
    }
    yield "traffic:"
    yield "  requests_per_s:"
    yield f"    {{{', '.join(f'{key}: {value}' for key, value in values.items())}}}"


def _size_lines(classes: Sequence[ClassMembers]) -> Iterator[str]:
    if not classes:
        yield "# sizes: not in the log; write [{input_tokens: …, output_tokens: …}]"
        return
    yield "sizes:"
    for one in classes:
        size = one.size
        yield (
            f"  - {{input_tokens: {size.input_tokens}, output_tokens: {size.output_tokens}, "
            f"share: {size.share:g}}}"
        )


def _comments(profile: LoadProfile) -> Iterator[str]:
    told = [f"From {_what(profile)}.", f"{_error(profile)}."]
    told += [f"Left out: {one}." for one in _left_out(profile)]
    told += [f"Not known: {note}." for note in profile.notes]
    for one in told:
        yield from textwrap.wrap(one, _WIDE, initial_indent="# ", subsequent_indent="#   ")


def _what(profile: LoadProfile) -> str:
    requests = "rates" if profile.request_count is None else f"{profile.request_count:,} requests"
    same_day = profile.from_at.date() == profile.to_at.date()
    end = f"{profile.to_at:%H:%M}" if same_day else _moment(profile.to_at)
    return f"{profile.source}: {requests}, {_moment(profile.from_at)} to {end} UTC"


def _error(profile: LoadProfile) -> str:
    error = profile.error
    said = (
        f"The curve is {error.rms_fraction:.0%} of the mean off the log (root mean square, steps "
        f"of {error.step_s / 60:.0f} min); {_percent(error.above_share)} of the load is above it"
    )
    if error.worst_requests_per_s <= _ENOUGH * profile.curve.peak:
        return said
    return (
        f"{said}, most on {_moment(error.worst_at)} UTC by {error.worst_requests_per_s:.3g} "
        "requests/s"
    )


def _classes(classes: Sequence[ClassMembers]) -> Report[_ClassRow]:
    rows = tuple(
        _ClassRow(
            share=one.size.share,
            requests=one.request_count,
            input_tokens=one.size.input_tokens,
            most_input_tokens=one.most_input_tokens,
            output_tokens=one.size.output_tokens,
            most_output_tokens=one.most_output_tokens,
        )
        for one in classes
    )
    columns = (
        Column[_ClassRow]("share", lambda row: f"{row.share:.1%}", "right"),
        Column[_ClassRow]("requests", lambda row: f"{row.requests:,}", "right"),
        Column[_ClassRow]("input tokens", lambda row: f"{row.input_tokens:,}", "right"),
        Column[_ClassRow]("at most", lambda row: f"{row.most_input_tokens:,}", "right"),
        Column[_ClassRow]("output tokens", lambda row: f"{row.output_tokens:,}", "right"),
        Column[_ClassRow]("at most", lambda row: f"{row.most_output_tokens:,}", "right"),
    )
    return Report(_SCHEMA, "classes", _ClassRow, rows, columns, {})


def _kept(profile: LoadProfile) -> str:
    given = (("input", profile.kept_input_fraction), ("output", profile.kept_output_fraction))
    return ", ".join(f"{kept:.2%} of {name}" for name, kept in given if kept is not None)


def _left_out(profile: LoadProfile) -> Iterator[str]:
    for one in profile.left_out:
        rows = "row" if one.row_count == 1 else "rows"
        yield f"{one.row_count:,} {rows}: {one.reason} ({one.example})"


def _percent(share: float) -> str:
    return f"{share * _PERCENT:.2g}%" if share else "none"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(20, width), subsequent_indent="  ", break_on_hyphens=False)


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"
