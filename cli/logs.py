"""Logs of a command: to stderr, for people or as JSON lines for machines."""

import logging
import sys

import structlog
from rich.console import Console

from cli.output import LogFormat


def configure_logs(log_format: LogFormat, *, quiet: bool) -> None:
    """Route structlog to stderr.

    People see warnings, as results are printed anyway; JSON has every event; `quiet` only errors.
    """
    level = logging.INFO if log_format == "json" else logging.WARNING
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _renderer(log_format),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR if quiet else level),
        logger_factory=_to_stderr,
        cache_logger_on_first_use=False,
    )
    for library in ("httpx", "httpcore"):  # they tell addresses and headers, which may hold keys
        logging.getLogger(library).setLevel(logging.WARNING)


def _renderer(log_format: LogFormat) -> structlog.typing.Processor:
    if log_format == "json":
        return structlog.processors.JSONRenderer()
    console = Console(stderr=True)  # knows of NO_COLOR
    return structlog.dev.ConsoleRenderer(colors=console.is_terminal and not console.no_color)


def _to_stderr(*_names: object) -> structlog.PrintLogger:
    """Find stderr at each event, as a progress bar replaces it while it is drawn."""
    return structlog.PrintLogger(sys.stderr)
