"""`gpubroker size`: what serves or trains a model, at what price, and why the rest does not."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from broker.domain.errors import ConfigurationError
from cli import size_options as opt
from cli.entry import open_sizing
from cli.output import FormatName, FormatOption, Terminal
from cli.sources import AsOfOption, RecordedOption, SheetOption, SnapshotOption, source_from

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from broker.domain.gpu import Precision
    from broker.domain.latency import LatencyObjective
    from broker.domain.workload import Method, TrainingStack
    from broker.planning.catalog_view import CatalogSource
    from broker.planning.sizing.asked import Among, ServeAsked, TrainAsked
    from broker.planning.sizing.opinion import Estimator
    from broker.planning.sizing.service import SizingService
    from broker.reports.formats import Plain, Report, RowT
    from broker.reports.size_view import ServeRow, TrainRow, UnfitRow
    from cli.offer_options import Kind

SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Numbers of GPUs to train on where none are given."""

PERCENTILES: Final = ("p50", "p90", "p95", "p99")

_Time = str | None


def _limit(what: str, percentile: str) -> object:
    return typer.Option(
        f"--{what}-{percentile}",
        metavar="DURATION",
        help=f"Limit on the {what.upper()} of {percentile[1:]} % of the requests, such as 800ms.",
    )


def size(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    model: opt.ModelArgument,
    *,
    serve: opt.ServeOption = False,
    train: opt.TrainOption = False,
    input_tokens: opt.InputOption = 1000,
    output_tokens: opt.OutputOption = 300,
    ttft_p50: Annotated[_Time, _limit("ttft", "p50")] = None,
    ttft_p90: Annotated[_Time, _limit("ttft", "p90")] = None,
    ttft_p95: Annotated[_Time, _limit("ttft", "p95")] = None,
    ttft_p99: Annotated[_Time, _limit("ttft", "p99")] = None,
    tpot_p50: Annotated[_Time, _limit("tpot", "p50")] = None,
    tpot_p90: Annotated[_Time, _limit("tpot", "p90")] = None,
    tpot_p95: Annotated[_Time, _limit("tpot", "p95")] = None,
    tpot_p99: Annotated[_Time, _limit("tpot", "p99")] = None,
    users: opt.UsersOption = None,
    tokens: opt.TokensOption = None,
    deadline: opt.DeadlineOption = None,
    method: Annotated[
        opt.MethodWord, typer.Option(metavar="METHOD", help="full, lora or qlora.")
    ] = "full",
    stack: Annotated[
        opt.StackWord,
        typer.Option(
            metavar="STACK", help="tuned (Megatron, NeMo), torch (FSDP) or hf (Transformers)."
        ),
    ] = "torch",
    sequence_length: Annotated[
        int,
        typer.Option(min=1, max=opt.MOST, metavar="TOKENS", help="Tokens of a training sequence."),
    ] = 4096,
    batch_tokens: Annotated[
        int,
        typer.Option(min=1, max=opt.MOST, metavar="TOKENS", help="Tokens of the global batch."),
    ] = 4_194_304,
    gpus: Annotated[
        list[int] | None,
        typer.Option(
            "--gpus",
            min=1,
            max=opt.MOST,
            metavar="NUMBER",
            help="GPUs to train on, may be given again (default: 1 to 256 by doubling).",
        ),
    ] = None,
    gpu: opt.GpuOption = None,
    provider: opt.ProviderOption = None,
    region: opt.RegionOption = None,
    price_kind: opt.KindOption = None,
    precision: opt.PrecisionOption = None,
    margin: opt.MarginOption = 0.15,
    layouts: opt.LayoutsOption = False,
    mig: opt.MigOption = False,
    limit: opt.LimitOption = None,
    measurements: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Own measurements other than those imported."),
    ] = None,
    backend: opt.BackendOption = "own",
    compare: opt.CompareOption = False,
    recorded: RecordedOption = False,
    sheet: SheetOption = None,
    snapshot: SnapshotOption = None,
    as_of: AsOfOption = None,
    output: FormatOption = "table",
) -> None:
    """Say what serves or trains a model, cheapest first, and why the rest does not.

    Give --serve with a limit of the TTFT and one of the TPOT, or --train with --tokens.
    """
    from broker.planning.sizing.asked import ServeAsked, TrainAsked  # noqa: PLC0415 - quick help

    _check(serve=serve, train=train, tokens=tokens)
    source = source_from(recorded=recorded, sheet=sheet, snapshot=snapshot, as_of=as_of)
    sizing = _Sizing(Terminal.of(context), measurements, source, limit, output)
    formats = _formats(precision or ["bf16", *(["fp8"] if serve else [])])
    if serve:
        limits = (ttft_p50, ttft_p90, ttft_p95, ttft_p99, tpot_p50, tpot_p90, tpot_p95, tpot_p99)
        asked = ServeAsked(
            model=model,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            slo=_objective(limits[:4], limits[4:]),
            precisions=formats,
            among=_among(gpu, provider, region, price_kind),
            users=users,
            safety_margin=margin,
            every_layout=layouts,
            mig=mig,
        )
        sizing.serve(asked, backend, compare=compare)
        return
    run = TrainAsked(
        model=model,
        tokens=tokens or 0.0,
        deadline=deadline,
        how=_how(method, stack),
        precision=formats[0],
        sequence_length=sequence_length,
        global_batch_tokens=batch_tokens,
        gpus=tuple(gpus or SIZES),
        among=_among(gpu, provider, region, price_kind),
        safety_margin=margin,
        every_size=layouts or bool(gpus),
    )
    sizing.train(run)


@dataclass(frozen=True, slots=True)
class _Sizing:
    """One call of the command: whom to ask, over which catalog, how to print."""

    terminal: Terminal
    measurements: Path | None
    source: "CatalogSource"
    limit: int | None
    output: FormatName

    @property
    def service(self) -> "SizingService":
        """Open whom to ask."""
        return open_sizing(self.terminal, self.measurements)

    @property
    def most(self) -> int | None:
        """Give the rows to print at most."""
        usual = opt.TABLE_LIMIT if self.output == "table" else None
        return (usual if self.limit is None else self.limit) or None

    def serve(self, asked: "ServeAsked", backend: opt.BackendWord, *, compare: bool) -> None:
        """Print what serves."""
        from broker.reports.size_view import (  # noqa: PLC0415 - as above
            SERVE_LEGEND,
            opinion_report,
            serve_report,
        )

        other = _estimator() if compare or backend != "own" else None
        with self.terminal.working("sizing"):
            found = self.service.serve(
                asked,
                self.source,
                most=self.most,
                backend=other if backend != "own" else None,
                beside=other if compare else None,
            )
        report = serve_report(found.rows, found.unfit, found.facts, found.opinions)
        self._print(report, found.rows, found.unfit)
        if found.opinions and self.output == "table":
            self.terminal.write(f"\nbeside ours: {found.facts['other']}\n")
            self.terminal.show(opinion_report(found.opinions), "table")
        if found.rows and self.output == "table":
            self.terminal.note(SERVE_LEGEND)
        self._note(len(found.rows), found.facts, "no shape serves it within these limits")

    def train(self, asked: "TrainAsked") -> None:
        """Print what trains."""
        from broker.reports.size_view import TRAIN_LEGEND, train_report  # noqa: PLC0415 - as above

        with self.terminal.working("sizing"):
            found = self.service.train(asked, self.source, most=self.most)
        self._print(train_report(found.rows, found.unfit, found.facts), found.rows, found.unfit)
        if found.rows and self.output == "table":
            self.terminal.note(TRAIN_LEGEND)
        self._note(len(found.rows), found.facts, "no shape trains it in time")

    def _print(
        self,
        report: "Report[RowT]",
        rows: "tuple[ServeRow, ...] | tuple[TrainRow, ...]",
        unfit: "tuple[UnfitRow, ...]",
    ) -> None:
        from broker.reports.size_view import offer_lines, unfit_report  # noqa: PLC0415 - as above

        if self.output != "table":
            self.terminal.show(report, self.output)
            return
        if rows:
            self.terminal.show(report, "table")
            self.terminal.write("\n" + "".join(f"{line}\n" for line in offer_lines(rows)))
        if unfit:
            shown = unfit[: self.most]
            self.terminal.write("\n" if rows else "")
            self.terminal.show(unfit_report(shown), "table")
            if len(shown) < len(unfit):
                self.terminal.note(f"{len(shown)} of {len(unfit)} that do not work; --limit 0: all")

    def _note(self, shown: int, facts: "Mapping[str, Plain]", none: str) -> None:
        found = facts["found"]
        if not shown:
            self.terminal.note(none)
        elif isinstance(found, int) and shown < found:
            self.terminal.note(f"{shown} of {found} that work; --limit 0 prints all")


def _check(*, serve: bool, train: bool, tokens: float | None) -> None:
    if serve == train:
        raise ConfigurationError(
            "give one of --serve and --train",
            hint="such as --serve --ttft-p95 800ms --tpot-p95 40ms, or --train --tokens 60e9",
        )
    if train and tokens is None:
        raise ConfigurationError("--train needs --tokens", hint="how many to train on: 60e9, 60B")


def _among(
    gpu: list[str] | None,
    provider: list[str] | None,
    region: list[str] | None,
    kinds: "list[Kind] | None",
) -> "Among":
    from broker.domain.offer import PriceKind  # noqa: PLC0415 - keeps `--help` quick
    from broker.planning.sizing.asked import Among  # noqa: PLC0415 - the same

    asked = tuple(PriceKind(one) for one in kinds or ("on_demand",))
    return Among(tuple(gpu or ()), tuple(provider or ()), tuple(region or ()), asked)


def _objective(ttft: "Sequence[str | None]", tpot: "Sequence[str | None]") -> "LatencyObjective":
    from broker.planning.sizing.asked import objective  # noqa: PLC0415 - keeps `--help` quick

    return objective(_given(ttft), _given(tpot))


def _given(limits: "Sequence[str | None]") -> list[tuple[str, str]]:
    """Name the limits that are given by their percentile."""
    named = zip(PERCENTILES, limits, strict=True)
    return [(name, limit) for name, limit in named if limit is not None]


def _formats(names: "Sequence[str]") -> "tuple[Precision, ...]":
    from broker.domain.gpu import Precision  # noqa: PLC0415 - keeps `--help` quick

    return tuple(Precision(one) for one in names)


def _how(method: str, stack: str) -> "tuple[Method, TrainingStack]":
    from broker.domain.workload import Method, TrainingStack  # noqa: PLC0415 - quick help

    return Method(method), TrainingStack(stack)


def _estimator() -> "Estimator":
    from broker.planning.sizing.aiconfigurator import open_estimator  # noqa: PLC0415 - optional

    return open_estimator()
