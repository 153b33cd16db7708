"""`gpubroker schema`: the JSON Schemas of our files, for editors and other programs."""

from typing import Annotated, Literal

import typer

from cli.output import Terminal

KindName = Literal["workloads", "plan", "explanation"]


def schema(
    context: typer.Context,
    kind: Annotated[
        KindName, typer.Argument(metavar="KIND", help="workloads, plan or explanation.")
    ],
) -> None:
    """Print the JSON Schema of workloads files, of plans, or of what `explain` writes.

    An editor that knows it completes and checks a workloads file while it is written.
    """
    from broker.reports.schemas import FileKind, schema_text  # noqa: PLC0415 - keeps `--help` quick

    Terminal.of(context).write(schema_text(FileKind(kind)) + "\n")
