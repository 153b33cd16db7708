"""From a command line to the planning service: logs, settings, service, in that order."""

from typing import TYPE_CHECKING

from cli.output import Terminal

if TYPE_CHECKING:
    from broker.planning.catalog_service import CatalogService
    from broker.planning.offers import OfferService
    from broker.planning.recording import RecordingService
    from broker.planning.scenarios import ScenarioService
    from broker.planning.service import PlanningService


def open_planning(terminal: Terminal) -> "PlanningService":
    """Open the planning service for a command.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    # Imported here: commands are loaded for every `--help`, the service only where one runs.
    from broker.planning.service import open_service  # noqa: PLC0415 - see above
    from broker.settings import load_settings  # noqa: PLC0415 - see above

    _configure_logs(terminal)
    return open_service(load_settings())


def open_offers(terminal: Terminal) -> "OfferService":
    """Open the service that answers questions to the catalog.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.offers import open_offers as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    return opened(load_settings(), prepare=lambda: _configure_logs(terminal))


def open_catalog_service(terminal: Terminal) -> "CatalogService":
    """Open the service that looks after the catalog.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.catalog_service import (  # noqa: PLC0415 - as above
        open_catalog_service as opened,
    )
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    _configure_logs(terminal)
    return opened(load_settings())


def open_recording(terminal: Terminal) -> "RecordingService":
    """Open the service that records what providers answer.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.recording import open_recording as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    _configure_logs(terminal)
    return opened(load_settings())


def open_scenarios(terminal: Terminal, workers: int | None = None) -> "ScenarioService":
    """Open the service that sets plans side by side, so many at a time.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    planning = open_planning(terminal)
    from broker.planning.executor import LocalProcesses  # noqa: PLC0415 - as above
    from broker.planning.scenarios import ScenarioService  # noqa: PLC0415 - as above

    return ScenarioService(planning, LocalProcesses(workers) if workers else None)


def _configure_logs(terminal: Terminal) -> None:
    from cli.logs import configure_logs  # noqa: PLC0415 - as above

    configure_logs(terminal.log_format, quiet=terminal.quiet)
