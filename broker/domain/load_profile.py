"""What a log says of a service's load: a curve, size classes, and what it cannot say."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from broker.domain.load import LoadCurve
from broker.domain.quantities import Frozen, Share
from broker.domain.workload import SizeClass

Count = Annotated[int, Field(ge=0)]


class LeftOut(Frozen):
    """Rows of a log that were not taken, by reason, with the first of them as an example."""

    reason: str
    row_count: Count
    example: str


class CurveError(Frozen):
    """How far the curve is from the log, over the steps of `step_s` seconds that the log covers.

    `rms_fraction` is the root mean square of the difference over the log's mean. `above_share` is
    the part of the requests that came above the curve; in the worst step, at `worst_at`, the log
    was `worst_requests_per_s` above it.
    """

    step_s: float
    rms_fraction: float
    above_share: Share
    worst_requests_per_s: float
    worst_at: datetime


class ClassMembers(Frozen):
    """A size class and the requests that it stands for."""

    size: SizeClass
    request_count: Count
    most_input_tokens: Count
    most_output_tokens: Count


class Mark(Frozen):
    """One column of a chart: what the log had there, None where it had nothing, and the curve."""

    label: str
    log_requests_per_s: float | None
    curve_requests_per_s: float


class LoadProfile(Frozen):
    """What a log says. `request_count` is None where rates were read, which have no sizes either.

    `kept_input_fraction` is the input tokens of the size classes over those of the log, and
    `kept_output_fraction` the same for output. `notes` say what is not known and was assumed.
    """

    source: str
    sha256: str
    from_at: datetime
    to_at: datetime
    request_count: Count | None
    input_tokens: Count | None
    output_tokens: Count | None
    curve: LoadCurve
    error: CurveError
    classes: tuple[ClassMembers, ...]
    kept_input_fraction: float | None
    kept_output_fraction: float | None
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    chart: tuple[Mark, ...]
    chart_title: str
