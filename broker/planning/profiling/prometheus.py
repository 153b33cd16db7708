"""Reading what Prometheus answers to a range query: requests per second over time.

    GET /api/v1/query_range?query=sum(rate(http_requests_total[5m]))&start=…&end=…&step=300
    {"status": "success", "data": {"resultType": "matrix",
     "result": [{"metric": {…}, "values": [[1763300000, "12.5"], …]}]}}

Several series (one a pod, say) are added up. A step without a sample is unknown, not zero.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ValidationError

from broker.domain.errors import ConfigurationError
from broker.domain.load_profile import LeftOut
from broker.planning.profiling.instants import is_instant
from broker.planning.profiling.rates import STEP_S, Rates

_FEWEST = 4
"""Quarters of an hour that samples must fill, for their rates to be put together."""
_HINT = (
    "save what /api/v1/query_range answers, such as to "
    "query=sum(rate(http_requests_total[5m])) with step=300"
)


class _Series(BaseModel):
    values: tuple[tuple[float, str], ...]


class _Data(BaseModel):
    resultType: Literal["matrix"]  # noqa: N815 - the name on the wire
    result: tuple[_Series, ...]


class _Reply(BaseModel):
    status: Literal["success"]
    data: _Data


def is_reply(path: Path) -> bool:
    """Tell a saved reply from a table by its first character.

    Raises:
        ConfigurationError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(b"{")
    except OSError as cause:
        raise ConfigurationError(
            f"cannot read the log {str(path)!r}: {cause.strerror}", hint="check the path"
        ) from cause


def read_rates(path: Path) -> tuple[Rates, int, tuple[LeftOut, ...]]:
    """Read a saved reply: the rates, how many series were added up, and what was left out.

    Raises:
        ConfigurationError: it is no reply to a range query, or has fewer than two samples.
    """
    try:
        reply = _Reply.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as cause:
        said = _problem(cause) if isinstance(cause, ValidationError) else str(cause)
        raise ConfigurationError(
            f"{str(path)!r} is no reply of Prometheus to a range query: {said}", hint=_HINT
        ) from cause
    sums, left_out = _summed(reply.data.result)
    if len(sums) < 2:  # noqa: PLR2004 - a step has two ends
        raise ConfigurationError(
            f"{str(path)!r} has {len(sums)} samples, which are no curve", hint=_HINT
        )
    return _rates(sums), len(reply.data.result), left_out


def _summed(series: Sequence[_Series]) -> tuple[dict[float, float], tuple[LeftOut, ...]]:
    sums: dict[float, float] = defaultdict(float)
    bad, example = 0, ""
    for one in series:
        for at, text in one.values:
            value = _rate(text)
            if math.isnan(value) or not is_instant(at):
                bad, example = bad + 1, example or f"{text} at {at:g}"
            else:
                sums[at] += value
    left_out = LeftOut(reason="no rate at an instant", row_count=bad, example=example)
    return dict(sorted(sums.items())), (left_out,) if bad else ()


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if 0 <= value < math.inf else math.nan


def _rates(sums: dict[float, float]) -> Rates:
    """Put samples into equal steps, those of the query or a quarter of an hour if they are less.

    A sample stands at the end of the time that its rate is of.
    """
    times = np.array(list(sums))
    step = float(np.diff(times).min())
    if step < STEP_S and times[-1] - times[0] >= _FEWEST * STEP_S:
        step = STEP_S
    start = float(times[0])
    slots = np.asarray((times - start) // step, dtype=np.int64)
    counts = np.bincount(slots)
    totals = np.bincount(slots, np.array(list(sums.values())))
    return Rates(start, step, np.where(counts > 0, totals / np.maximum(counts, 1), np.nan))


def _problem(cause: ValidationError) -> str:
    first = cause.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]
