"""`gpubroker status`: what the catalog holds, how old it is, what is held back."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.entry import open_offers, open_schedule
from cli.offer_options import GpuOption, ProviderOption
from cli.output import FormatName, FormatOption, Terminal

if TYPE_CHECKING:
    from broker.planning.offers import CatalogStatus
    from broker.reports.rows import StatusRow


def status(
    context: typer.Context,
    *,
    gpu: GpuOption = None,
    provider: ProviderOption = None,
    jobs: Annotated[
        bool, typer.Option("--jobs", help="Show the jobs of the schedule and their last runs.")
    ] = False,
    form: FormatOption = "table",
) -> None:
    """Show the catalog's coverage: offers by provider, GPU and price kind, ages, what is held back.

    With a GPU or a provider: the cells of the matrix, with the age of the oldest offer of each. A
    mark ! is on what is too old to plan with.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.query import OfferQuery  # noqa: PLC0415 - see above
    from broker.planning.shown import (  # noqa: PLC0415 - see above
        kind_rows,
        status_facts,
        status_rows,
    )
    from broker.reports.status_view import coverage_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    if jobs:
        _show_jobs(terminal, form)
        return
    query = OfferQuery(gpus=frozenset(gpu or ()), providers=frozenset(provider or ()))
    found = open_offers(terminal).status(query, named=form != "table")
    rows = status_rows(found)
    if form == "table":
        _show(terminal, found, rows, whole=not (gpu or provider))
    else:
        facts, kinds = status_facts(found), kind_rows(found)
        terminal.show(coverage_report(found.cells, rows, kinds, facts=facts), form)
    _explain(terminal, rows)


def _show_jobs(terminal: Terminal, form: FormatName) -> None:
    from broker.reports.jobs_view import jobs_report  # noqa: PLC0415 - keeps `--help` quick
    from broker.scheduler.shown import job_facts, job_rows  # noqa: PLC0415 - the same

    found = open_schedule(terminal).status()
    rows = job_rows(found)
    terminal.show(jobs_report(rows, facts=job_facts(found)), form)
    if not rows:
        terminal.note("nothing is scheduled: gpubroker schedule add --help says what can be")
        return
    runner = found.holder
    terminal.note(f"run by {runner}" if runner else "nobody runs them: gpubroker schedule run")
    for row in rows:
        if row.last_error:
            terminal.note(f"{row.job}: {row.last_error}; {row.last_hint}".rstrip("; "))


def _show(
    terminal: Terminal, found: "CatalogStatus", rows: "tuple[StatusRow, ...]", *, whole: bool
) -> None:
    from broker.planning.shown import kind_rows  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.status_view import (  # noqa: PLC0415 - the same
        gpus_table,
        kinds_table,
        matrix_table,
        providers_table,
    )

    if not whole:
        terminal.show(matrix_table(found.cells), "table")
        return
    terminal.show(providers_table(rows, found.cells), "table")
    if found.cells:
        terminal.write("\n")
        terminal.show(gpus_table(found.cells), "table")
        terminal.write("\n")
        terminal.show(kinds_table(kind_rows(found)), "table")


def _explain(terminal: Terminal, rows: "tuple[StatusRow, ...]") -> None:
    """Say which runs went wrong, and what is held back or too old."""
    from broker.planning.shown import summed  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.words import counts  # noqa: PLC0415 - the same

    for row in rows:
        if row.error:
            terminal.note(f"{row.provider}: {row.error}")
    held = summed(row.quarantined for row in rows)
    if held:
        terminal.note(f"held back: {counts(held)}; gpubroker offers --quarantined lists them")
    stale = sum(row.stale for row in rows)
    if stale:
        terminal.note(f"{stale:,} offers are too old to plan with: gpubroker refresh")
