"""`gpubroker audit`: who did what to which plan, and whether the log is whole."""

import typer

from broker.domain.errors import ConfigurationError
from cli.entry import open_purchasing
from cli.output import FormatOption, Terminal


def audit(context: typer.Context, *, form: FormatOption = "table") -> None:
    """List the audit log, the oldest entry first, and check that nobody changed it.

    Each entry is sealed with the one before it; plans, approvals and bought lines are held to it.

    A log that does not hold ends with exit code 2.
    """
    from broker.planning.purchase_rows import entry_rows  # noqa: PLC0415 - keeps `--help` quick
    from broker.reports.purchases_view import audit_report  # noqa: PLC0415 - the same

    terminal = Terminal.of(context)
    log, problems = open_purchasing(terminal).audit()
    terminal.show(audit_report(entry_rows(log), problems), form)
    if problems:
        told = "; ".join(problems)
        raise ConfigurationError(
            f"the audit log does not hold: {told}",
            hint="somebody changed the database by hand; compare it with a backup",
        )
    terminal.note(f"{len(log)} entries, and each one holds" if log else "nothing was done yet")
