"""`gpubroker measurements`: the user's own benchmarks, which win over estimates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.entry import open_measurements
from cli.output import FormatName, FormatOption, Terminal

if TYPE_CHECKING:
    from broker.reports.measured_rows import MeasuredRow

measurements = typer.Typer(
    help="Import your own benchmarks: they correct the estimates of what they measured.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_IntoOption = Annotated[
    Path | None,
    typer.Option(
        "--into", metavar="FILE", help="Where they are kept (default: in the data folder)."
    ),
]


@measurements.command("import")
def import_file(  # noqa: PLR0913 - the options of a command are the parameters of its function
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Result of vllm bench serve, sglang.bench_serving, GuideLLM, genai-perf or "
            "AIPerf, or a plain CSV.",
        ),
    ],
    *,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Model, where the file has another name.")
    ] = None,
    gpu: Annotated[
        str | None, typer.Option(metavar="NAME", help="GPU that it ran on: H100-SXM, L40S ...")
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="GPUs of one replica, or of a run.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="Engine: vllm, sglang, tensorrt-llm ...")
    ] = None,
    engine_version: Annotated[
        str | None, typer.Option(metavar="VERSION", help="Version of the engine.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="Format of the weights: bf16, fp8, int4, nvfp4 ..."),
    ] = None,
    input_tokens: Annotated[
        float | None,
        typer.Option("--input", min=1, metavar="TOKENS", help="Mean tokens of a prompt."),
    ] = None,
    output_tokens: Annotated[
        float | None,
        typer.Option("--output", min=1, metavar="TOKENS", help="Mean tokens of an answer."),
    ] = None,
    concurrency: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="NUMBER", help="Requests in flight at a time."),
    ] = None,
    into: _IntoOption = None,
    output_format: FormatOption = "table",
) -> None:
    """Read a benchmark and keep its points; an option wins over what the file says.

    Three points of serving, or one training run, correct the estimates of their own deployment
    (model, GPU, engine, format), and of no other.
    """
    from broker.planning.measured.resolving import Said  # noqa: PLC0415 - keeps `--help` quick

    said = Said(
        model=model,
        gpu=gpu,
        gpus=gpus,
        engine=engine,
        engine_version=engine_version,
        precision=precision,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        concurrency=concurrency,
    )
    terminal = Terminal.of(context)
    service = open_measurements(terminal)
    done = service.import_file(file, said, into)
    terminal.note(f"{done.format}: {len(done.taken)} points taken, {len(done.kept)} kept")
    for note in done.notes:
        terminal.note(f"note: {note}")
    for one in done.skipped:
        terminal.note(f"not taken: {one.where}: {one.reason}")
    _show(terminal, service.rows(into), output_format)


@measurements.command("list")
def list_kept(
    context: typer.Context, *, into: _IntoOption = None, output_format: FormatOption = "table"
) -> None:
    """List the deployments that have points of their own, and what these say of the estimates."""
    terminal = Terminal.of(context)
    rows = open_measurements(terminal).rows(into)
    if not rows:
        terminal.note("none are kept; gpubroker measurements import FILE")
    _show(terminal, rows, output_format)


def _show(terminal: Terminal, rows: "tuple[MeasuredRow, ...]", output_format: FormatName) -> None:
    from broker.reports.measured_rows import measured_report  # noqa: PLC0415 - keeps `--help` quick

    terminal.show(measured_report(rows), output_format)
