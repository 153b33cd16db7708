"""What is shown of a sizing: shapes that work, in order of price, and why the others do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from broker.reports import words
from broker.reports.formats import Column, Plain, Report
from broker.reports.layout import Fit

_MS = 1000
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class WhereRow:
    """One real offer: its price is that of the whole node, upfront parts spread over the term."""

    offer: str
    price_kind: str
    usd_per_hour: Decimal
    node_gpus: int


@dataclass(frozen=True, slots=True)
class TrustRow:
    """How far the rate of a row can be trusted: the 90 % band as factors on it."""

    label: str
    low_factor: float
    high_factor: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServeRow:
    """One replica that keeps the objective. Rows with one rank are a tie.

    Memory is of one GPU. Latencies are those tested against the objective, at its percentiles;
    prices are of a node filled with such replicas at their full rate.
    """

    rank: int
    tied: bool
    model: str
    gpu: str
    gpus: int
    precision: str
    layout: str
    used_gib: float
    memory_gib: float
    concurrency: float
    requests_per_s: float
    tokens_per_s: float
    ttft_s: float
    tpot_s: float
    usd_per_million_output_tokens: Decimal
    usd_per_million_tokens: Decimal
    trust: TrustRow
    where: WhereRow


@dataclass(frozen=True, slots=True)
class HoursRow:
    """Where the hours of a run go on its nodes, on demand where that is on offer; None unknown."""

    steps_h: float | None
    evaluation_h: float | None
    checkpoints_h: float | None
    losses_h: float | None
    initialisation_h: float | None
    spot_makespan_low_h: float | None
    spot_makespan_high_h: float | None


@dataclass(frozen=True, slots=True)
class TrainRow:
    """One number of GPUs that does the run in time, on demand and on spot; None is not on offer."""

    rank: int
    tied: bool
    model: str
    gpu: str
    gpus: int
    nodes: int
    precision: str
    layout: str
    used_gib: float
    memory_gib: float
    tokens_per_s: float
    mfu: float
    days: float
    usd_total: Decimal | None
    offer: str
    spot_days: float | None
    spot_usd_total: Decimal | None
    spot_offer: str
    hours: HoursRow
    trust: TrustRow


@dataclass(frozen=True, slots=True)
class UnfitRow:
    """A shape that does not do it, and why."""

    shape: str
    precision: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class OpinionRow:
    """What another estimator says of a row, and how its rate differs; None where it has none."""

    gpu: str
    gpus: int
    precision: str
    layout: str
    requests_per_s: float
    ttft_s: float
    tpot_s: float
    other_requests_per_s: float | None
    other_ttft_s: float | None
    other_tpot_s: float | None
    difference_fraction: float | None
    note: str


def serve_report(
    rows: tuple[ServeRow, ...],
    unfit: tuple[UnfitRow, ...],
    facts: Mapping[str, Plain],
    opinions: tuple[OpinionRow, ...] = (),
) -> Report[ServeRow]:
    """Show what serves a model."""
    return Report(
        schema="gpubroker.size-serve/1",
        name="replicas",
        row_type=ServeRow,
        rows=rows,
        columns=(
            Column("#", _rank, "right"),
            Column("GPUs", lambda row: f"{row.gpus}×{row.gpu}"),
            Column("as", lambda row: f"{row.precision} {row.layout}"),
            Column("GiB", lambda row: f"{row.used_gib:.0f}/{row.memory_gib:.0f}", "right", spare=3),
            Column("busy", lambda row: f"{row.concurrency:.0f}", "right", spare=2),
            Column("req/s", lambda row: f"{row.requests_per_s:.3g}", "right"),
            Column("TTFT", lambda row: f"{row.ttft_s:.2f}s", "right"),
            Column("TPOT", lambda row: f"{row.tpot_s * _MS:.0f}ms", "right"),
            Column("$/Mtok", lambda row: words.usd(row.usd_per_million_output_tokens), "right"),
            Column("band", _band, "right"),
            Column("$/h", lambda row: words.usd(row.where.usd_per_hour), "right", spare=4),
            Column("offer", lambda row: row.where.offer, fit=Fit.BREAK, spare=5),
        ),
        facts=facts,
        beside={"unfit": unfit, "opinions": opinions},
    )


def train_report(
    rows: tuple[TrainRow, ...], unfit: tuple[UnfitRow, ...], facts: Mapping[str, Plain]
) -> Report[TrainRow]:
    """Show what trains a model."""
    return Report(
        schema="gpubroker.size-train/1",
        name="clusters",
        row_type=TrainRow,
        rows=rows,
        columns=(
            Column("#", _rank, "right"),
            Column("GPUs", lambda row: f"{row.gpus}×{row.gpu}"),
            Column("layout", lambda row: row.layout),
            Column("GiB", lambda row: f"{row.used_gib:.0f}/{row.memory_gib:.0f}", "right", spare=2),
            Column("MFU", lambda row: f"{row.mfu * _PERCENT:.0f}%", "right"),
            Column("days", lambda row: _days(row.days), "right"),
            Column("$ on demand", lambda row: _total(row.usd_total), "right"),
            Column("days", lambda row: _days(row.spot_days), "right"),
            Column("$ spot", lambda row: _total(row.spot_usd_total), "right"),
            Column("band", _band, "right"),
        ),
        facts=facts,
        beside={"unfit": unfit},
    )


def unfit_report(rows: tuple[UnfitRow, ...]) -> Report[UnfitRow]:
    """Show what does not do it."""
    return Report(
        schema="gpubroker.size-unfit/1",
        name="unfit",
        row_type=UnfitRow,
        rows=rows,
        columns=(
            Column("does not work", lambda row: row.shape),
            Column("as", lambda row: row.precision),
            Column("because", lambda row: row.detail, fit=Fit.WRAP),
        ),
        facts={},
    )


def opinion_report(rows: tuple[OpinionRow, ...]) -> Report[OpinionRow]:
    """Show two estimates side by side."""
    return Report(
        schema="gpubroker.size-opinions/1",
        name="opinions",
        row_type=OpinionRow,
        rows=rows,
        columns=(
            Column("GPUs", lambda row: f"{row.gpus}×{row.gpu}"),
            Column("as", lambda row: f"{row.precision} {row.layout}"),
            Column("req/s", lambda row: f"{row.requests_per_s:.3g}", "right"),
            Column("theirs", lambda row: _figure(row.other_requests_per_s), "right"),
            Column("differs", _difference, "right"),
            Column("their TTFT", lambda row: _figure(row.other_ttft_s, "s"), "right", spare=2),
            Column("their TPOT", lambda row: _tpot(row.other_tpot_s), "right", spare=1),
            Column("", lambda row: row.note, fit=Fit.WRAP),
        ),
        facts={},
    )


SERVE_LEGEND = (
    "$/Mtok: per million output tokens; busy: requests in flight; = marks a tie\n"
    "band: measured, calibrated or estimated, with the 90 % band of the rate in percent"
)
TRAIN_LEGEND = "= marks a tie; band: measured, calibrated or estimated, 90 % of the pace in percent"
"""What the headings of the tables mean."""


def offer_lines(rows: tuple[ServeRow, ...] | tuple[TrainRow, ...]) -> tuple[str, ...]:
    """Say of each row where it can be bought."""
    lines: list[str] = []
    for row in rows:
        what = f"{_rank(row):>3}  {row.gpus}×{row.gpu} {row.precision}"
        if isinstance(row, ServeRow):
            lines.append(f"{what}  {words.usd(row.where.usd_per_hour)} $/h  {row.where.offer}")
        else:
            lines += [f"{what}  {one}" for one in (row.offer, row.spot_offer) if one]
    return tuple(lines)


def _rank(row: ServeRow | TrainRow) -> str:
    return f"={row.rank}" if row.tied else f"{row.rank}"


def _band(row: ServeRow | TrainRow) -> str:
    """Show the label's first letter and the band in percent of the rate: c 70–130."""
    trust = row.trust
    low, high = trust.low_factor * _PERCENT, trust.high_factor * _PERCENT
    return f"{trust.label[0]} {low:.0f}–{high:.0f}"


def _total(usd: Decimal | None) -> str:
    return "–" if usd is None else f"{usd:,.0f}"


def _days(days: float | None) -> str:
    """Show days, and hundredths of them below one."""
    if days is None:
        return "–"
    return f"{days:.1f}" if days >= 1 else f"{days:.2f}"


def _figure(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:.3g}{unit}"


def _tpot(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * _MS:.0f}ms"


def _difference(row: OpinionRow) -> str:
    if row.difference_fraction is None:
        return "–"
    return f"{row.difference_fraction * _PERCENT:+.0f}%"
