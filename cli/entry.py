"""From a command line to the planning service: logs, settings, service, in that order."""

from typing import TYPE_CHECKING

from cli.output import Terminal

if TYPE_CHECKING:
    from broker.planning.service import PlanningService


def open_planning(terminal: Terminal) -> "PlanningService":
    """Open the planning service for a command.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    # Imported here: commands are loaded for every `--help`, the service only where one runs.
    from broker.planning.service import open_service  # noqa: PLC0415 - see above
    from broker.settings import load_settings  # noqa: PLC0415 - see above
    from cli.logs import configure_logs  # noqa: PLC0415 - see above

    configure_logs(terminal.log_format, quiet=terminal.quiet)
    return open_service(load_settings())
