"""`gpubroker refresh`: ask the providers and fill the catalog."""

from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ProviderError
from cli.entry import open_planning
from cli.output import FormatOption, Terminal

if TYPE_CHECKING:
    from broker.reports.rows import RefreshRow


def refresh(
    context: typer.Context,
    provider: Annotated[
        list[str] | None,
        typer.Option("--provider", metavar="NAME", help="Ask this one; may be given again."),
    ] = None,
    *,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Read the recorded replies; works offline.")
    ] = False,
    form: FormatOption = "table",
) -> None:
    """Ask the providers for their offers and fill the catalog.

    Each provider's offers replace its last ones in one step.

    One that fails keeps its last offers with their true age, and so does a region or a page that
    fails alone; the exit code is 3 then.
    """
    # Imported here, so that `--help` is quick.
    from broker.planning.shown import refresh_rows  # noqa: PLC0415 - see above
    from broker.reports.views import refresh_report  # noqa: PLC0415 - see above

    terminal = Terminal.of(context)
    service = open_planning(terminal)
    total = len(set(provider)) if provider else len(service.asked(recorded=recorded))
    with terminal.progress("refreshing", total) as advance:
        report = service.refresh(
            provider, recorded=recorded, on_done=lambda outcome: advance(outcome.provider)
        )
    rows = refresh_rows(report, service.clock())
    terminal.show(refresh_report(rows), form)
    _explain(rows, terminal)


def _explain(rows: "tuple[RefreshRow, ...]", terminal: Terminal) -> None:
    """Say what was kept or held back, and why.

    Raises:
        ProviderError: a provider failed, or a part of one could not be read.
    """
    held = sum(sum(row.quarantined.values()) for row in rows)
    if held:
        terminal.note(
            f"{held} offers are held back from planning: gpubroker quarantine list shows why"
        )
    for row in rows:
        if row.error:
            terminal.note(f"{row.provider}: {row.error}; {_kept(row)}")
    failed = [row for row in rows if row.status == "failed"]
    partial = [row for row in rows if row.status == "partial"]
    said = [f"{len(failed)} of {len(rows)} failed: {_names(failed)}"] if failed else []
    said += [f"{len(partial)} of {len(rows)} read in part: {_names(partial)}"] if partial else []
    if said:
        raise ProviderError("; ".join(said), hint=(failed or partial)[0].hint)


def _names(rows: "list[RefreshRow]") -> str:
    return ", ".join(row.provider for row in rows)


def _kept(row: "RefreshRow") -> str:
    if row.status == "partial":
        return f"{row.kept} earlier offers of that are kept with their age"
    if not row.offers or row.age_h is None:
        return "there are no earlier offers to keep"
    return f"its {row.offers} earlier offers are kept, the newest {row.age_h:g} h old"
