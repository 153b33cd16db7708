"""From a command line to the planning service: logs, settings, service, in that order."""

from typing import TYPE_CHECKING

from cli.output import LogFormat, Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from broker.planning.alerting import AlertService
    from broker.planning.catalog_service import CatalogService
    from broker.planning.measured.service import MeasurementService
    from broker.planning.nightly.service import NightlyService
    from broker.planning.offers import OfferService
    from broker.planning.purchasing import PurchasingService
    from broker.planning.recording import RecordingService
    from broker.planning.scenarios import ScenarioService
    from broker.planning.service import PlanningService
    from broker.planning.sizing.service import SizingService
    from broker.scheduler.service import ScheduleService


def open_planning(terminal: Terminal) -> "PlanningService":
    """Open the planning service for a command.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    # Imported here: commands are loaded for every `--help`, the service only where one runs.
    from broker.planning.service import open_service  # noqa: PLC0415 - see above
    from broker.settings import load_settings  # noqa: PLC0415 - see above

    _configure_logs(terminal)
    return open_service(load_settings(terminal.note))


def open_offers(terminal: Terminal) -> "OfferService":
    """Open the service that answers questions to the catalog.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.offers import open_offers as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    return opened(load_settings(terminal.note), prepare=lambda: _configure_logs(terminal))


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
    return opened(load_settings(terminal.note))


def open_recording(terminal: Terminal) -> "RecordingService":
    """Open the service that records what providers answer.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.recording import open_recording as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    _configure_logs(terminal)
    return opened(load_settings(terminal.note))


def open_scenarios(terminal: Terminal, workers: int | None = None) -> "ScenarioService":
    """Open the service that sets plans side by side, so many at a time.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    planning = open_planning(terminal)
    from broker.planning.executor import LocalProcesses  # noqa: PLC0415 - as above
    from broker.planning.scenarios import ScenarioService  # noqa: PLC0415 - as above

    return ScenarioService(planning, LocalProcesses(workers) if workers else None)


def open_alerts(terminal: Terminal) -> "AlertService":
    """Open the service that tells people.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.alerting import open_alerts as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    _configure_logs(terminal)
    return opened(load_settings(terminal.note))


def open_sizing(terminal: Terminal, measurements: "Path | None" = None) -> "SizingService":
    """Open the service that sizes models.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    planning = open_planning(terminal)
    from broker.planning.sizing.service import SizingService  # noqa: PLC0415 - as above

    return SizingService(planning, measurements)


def open_measurements(terminal: Terminal) -> "MeasurementService":
    """Open the service that keeps own measurements.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    planning = open_planning(terminal)
    from broker.planning.measured.service import MeasurementService  # noqa: PLC0415 - as above

    return MeasurementService(planning.settings, planning.specs)


def open_nightly(terminal: Terminal) -> "NightlyService":
    """Open the service that runs nights.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.planning.nightly.service import open_nightly as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    _configure_logs(terminal)
    return opened(load_settings(terminal.note))


def open_schedule(terminal: Terminal) -> "ScheduleService":
    """Open the service that looks after the schedule.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from broker.scheduler.service import open_schedule as opened  # noqa: PLC0415 - as above
    from broker.settings import load_settings  # noqa: PLC0415 - as above

    _configure_logs(terminal)
    return opened(load_settings(terminal.note))


def open_purchasing(terminal: Terminal) -> "PurchasingService":
    """Open the service that takes a plan to its purchase.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    planning = open_planning(terminal)
    from broker.planning.purchasing import PurchasingService  # noqa: PLC0415 - as above

    return PurchasingService(planning)


def prepare_logs(log_format: LogFormat, *, quiet: bool) -> None:
    """Set up the logs of a process that a command starts."""
    _configure_logs(Terminal(quiet=quiet, log_format=log_format))


def _configure_logs(terminal: Terminal) -> None:
    from cli.logs import configure_logs  # noqa: PLC0415 - as above

    configure_logs(terminal.log_format, quiet=terminal.quiet)
