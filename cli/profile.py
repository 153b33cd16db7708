"""`gpubroker profile`: from a log of requests to a load curve and size classes."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from broker.domain.errors import ConfigurationError
from cli.output import Terminal

ProfileFormat = Literal["yaml", "json"]


def profile(  # noqa: PLR0913 - one parameter an option
    context: typer.Context,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="CSV file with a row a request (gzip will do), or what a range query of "
            "Prometheus answered, as JSON.",
        ),
    ],
    *,
    service: Annotated[
        str | None, typer.Option(metavar="NAME", help="Write it as the service of this name.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the instants.")
    ] = None,
    input_: Annotated[
        str | None, typer.Option("--input", metavar="COLUMN", help="Column of the prompt tokens.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the output tokens.")
    ] = None,
    log_timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="Zone of instants that name none.")
    ] = "UTC",
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="Zone of the curve, such as America/New_York.")
    ] = "UTC",
    start: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ"],
            help="When the log began (UTC), if its instants count in seconds from there.",
        ),
    ] = None,
    classes: Annotated[int, typer.Option(min=1, max=12, help="Most size classes.")] = 4,
    form: Annotated[
        ProfileFormat, typer.Option("--format", help="How to print the profile.")
    ] = "yaml",
) -> None:
    """Turn a log of requests into a load curve and size classes for a workloads file.

    The part of the workloads file goes to stdout; a chart, and what the log cannot tell, to stderr.
    Columns are found by their usual names, if they are not named.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.profiling.columns import ColumnNames  # noqa: PLC0415 - see above
    from broker.planning.profiling.options import profile_options  # noqa: PLC0415 - see above
    from broker.planning.profiling.profiler import profile_file  # noqa: PLC0415 - see above
    from broker.reports import profile_view as view  # noqa: PLC0415 - see above

    if service is not None and not _is_name(service):
        raise ConfigurationError(
            f"--service {service!r} is no name", hint="use a-z, 0-9, '.', '_' and '-'"
        )
    options = profile_options(
        ColumnNames(time, input_, output),
        log_timezone=log_timezone,
        timezone=timezone,
        start=start,
        most_classes=classes,
    )
    terminal = Terminal.of(context)
    with terminal.working(f"reading {log.name}"):
        found = profile_file(log, options)
    terminal.note(view.profile_page(found, terminal.width))
    terminal.write(
        view.profile_json(found) if form == "json" else view.profile_yaml(found, service)
    )


def _is_name(text: str) -> bool:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - keeps `--help` quick

    from broker.domain.parts import Name  # noqa: PLC0415 - the same

    try:
        TypeAdapter(Name).validate_python(text)
    except ValidationError:
        return False
    return True
