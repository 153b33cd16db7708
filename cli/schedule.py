"""`gpubroker schedule`: what runs when, and the runner that runs it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ProviderError
from cli.entry import open_schedule, prepare_logs
from cli.output import FormatOption, Terminal
from cli.plan_options import GapOption, TimeLimitOption, solve_settings

if TYPE_CHECKING:
    from broker.scheduler.lease import Held
    from broker.scheduler.records import Ended, Scheduled
    from broker.scheduler.runner import Runner
    from broker.scheduler.service import MetricsAt, ScheduleService

schedule = typer.Typer(help="Run jobs again and again, each at its time.", no_args_is_help=True)
add = typer.Typer(help="Put a job into the schedule.", no_args_is_help=True)
schedule.add_typer(add, name="add")

_LONGEST_S = 30 * 24 * 3600
"""Who waits for more than a month waits for ever; beyond it dates come to an end."""

NameOption = Annotated[
    str, typer.Option("--name", metavar="NAME", help="What to call the job. Default: by its kind.")
]
AtOption = Annotated[
    str, typer.Option("--at", metavar="HH:MM", help="The time on the clocks of the zone.")
]
ZoneOption = Annotated[
    str, typer.Option("--zone", metavar="ZONE", help="A time zone, as Europe/Berlin.")
]
RecordedOption = Annotated[
    bool, typer.Option("--recorded", help="Read the recorded replies; works offline.")
]


@add.command()
def reprice(
    context: typer.Context,
    *,
    every: Annotated[str, typer.Option(metavar="INTERVAL", help="How often, as 30 min or 6 h.")],
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider",
            metavar="NAME",
            help="Ask this one; may be given again, each is a job. Default: all, as one job.",
        ),
    ] = None,
    name: NameOption = "",
    recorded: RecordedOption = False,
) -> None:
    """Read the prices of providers again and again, the first time at once."""
    from broker.scheduler.rules import Every, interval_of  # noqa: PLC0415 - keeps `--help` quick

    service = open_schedule(Terminal.of(context))
    rule = Every(interval_of(every), service.clock().replace(microsecond=0))
    for one in provider or [""]:
        called = f"{name}-{one}" if name and len(provider or ()) > 1 else name
        _confirm(context, service.add_reprice(one, rule, name=called, recorded=recorded))


@add.command()
def nightly(
    context: typer.Context,
    workloads: Annotated[Path, typer.Argument(metavar="WORKLOADS", help="The workloads file.")],
    *,
    at: AtOption = "02:30",
    zone: ZoneOption = "UTC",
    name: NameOption = "",
    time_limit: TimeLimitOption = 40,
    gap: GapOption = 0.01,
    recorded: RecordedOption = False,
) -> None:
    """Plan a workloads file each night, as gpubroker nightly does.

    A night that skips the time or has it twice has one run, and so has one that was missed.
    """
    from broker.scheduler.rules import (  # noqa: PLC0415 - keeps `--help` quick
        LocalTime,
        local_time_of,
        zone_of,
    )

    rule = LocalTime(local_time_of(at), zone_of(zone))
    service = open_schedule(Terminal.of(context))
    solve = solve_settings(gap, time_limit, seed=0)
    _confirm(context, service.add_nightly(workloads, rule, solve, name=name, recorded=recorded))


@add.command()
def digest(
    context: typer.Context,
    *,
    weekly: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="On this day of the week, as mon. Default: each day."),
    ] = None,
    at: AtOption = "08:00",
    zone: ZoneOption = "UTC",
    name: NameOption = "",
) -> None:
    """Send a summary of what happened to where alerts go, each day or each week."""
    from broker.scheduler.rules import (  # noqa: PLC0415 - keeps `--help` quick
        LocalTime,
        local_time_of,
        weekday_of,
        zone_of,
    )

    day = None if weekly is None else weekday_of(weekly)
    rule = LocalTime(local_time_of(at), zone_of(zone), day)
    _confirm(context, open_schedule(Terminal.of(context)).add_digest(rule, name=name))


@schedule.command(name="list")
def list_jobs(context: typer.Context, *, form: FormatOption = "table") -> None:
    """List what is scheduled: what each job is for, and when it runs."""
    from broker.reports.jobs_view import schedule_report  # noqa: PLC0415 - keeps `--help` quick
    from broker.scheduler.shown import job_rows  # noqa: PLC0415 - the same

    terminal = Terminal.of(context)
    rows = job_rows(open_schedule(terminal).status())
    terminal.show(schedule_report(rows), form)
    if not rows:
        terminal.note("nothing is scheduled: gpubroker schedule add --help says what can be")


@schedule.command()
def remove(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Jobs, by their names.")],
) -> None:
    """Take jobs out of the schedule; what they did stays recorded."""
    terminal = Terminal.of(context)
    service = open_schedule(terminal)
    for name in names:
        terminal.note(f"removed: {service.remove(name).job.name}")


@schedule.command()
def run(
    context: typer.Context,
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Run what is due, and end: for cron.")
    ] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(metavar="N", help="Serve /metrics and /healthz here. Default: nowhere."),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen for them.")
    ] = "127.0.0.1",
    lease: Annotated[
        float,
        typer.Option(
            metavar="S", min=1, max=_LONGEST_S, help="A runner silent so long is dead, seconds."
        ),
    ] = 60,
    grace: Annotated[
        float,
        typer.Option(
            metavar="S", min=0, max=_LONGEST_S, help="Time for jobs to end in at SIGTERM, seconds."
        ),
    ] = 60,
    job_limit: Annotated[
        float,
        typer.Option(metavar="S", min=1, max=_LONGEST_S, help="Longest time of one job, seconds."),
    ] = 6 * 3600,
) -> None:
    """Run jobs when they are due, until told to end by SIGTERM or Ctrl-C.

    One runner at a time runs jobs; another one waits until that one ends or dies. A run that was
    missed is made up for once. The exit code is 3 with --once if a job failed.
    """
    from broker.scheduler.runner import Bounds  # noqa: PLC0415 - keeps `--help` quick
    from broker.scheduler.service import MetricsAt  # noqa: PLC0415 - the same

    bounds = Bounds(*(timedelta(seconds=one) for one in (lease, grace, job_limit)))
    terminal = Terminal.of(context)
    service = open_schedule(terminal)
    heard = _Heard(terminal, service)
    runner = service.runner(
        bounds,
        prepare=partial(prepare_logs, terminal.log_format, quiet=terminal.quiet),
        told=heard.note,
        waits=lambda held: terminal.note(f"waiting: {_holder(held)}"),
    )
    at = None if metrics_port is None else MetricsAt(metrics_port, metrics_host)
    with _stopped_by_signals(runner) as came, _metrics(terminal, service, runner, at):
        if once:
            _run_due(terminal, runner)
        else:
            runner.serve()
    _end(came, heard.ended, once=once)


class _Heard:
    """What came of the jobs that were run; each is told as it ends."""

    def __init__(self, terminal: Terminal, service: "ScheduleService") -> None:
        self._terminal = terminal
        self._service = service
        self.ended: list[Ended] = []

    def note(self, scheduled: "Scheduled", ended: "Ended") -> None:
        self.ended.append(ended)
        said = (f"{scheduled.job.name}: {ended.state}", ended.detail, ended.error)
        now = f"{self._service.clock():%Y-%m-%d %H:%M:%SZ}"
        self._terminal.note(f"{now} {', '.join(part for part in said if part)}")


def _run_due(terminal: Terminal, runner: "Runner") -> None:
    held = runner.run_due()
    if held is not None:
        terminal.note(f"nothing done: {_holder(held)}, and runs what is due")


def _end(came: list[int], ended: "list[Ended]", *, once: bool) -> None:
    """End with the code of what happened.

    Raises:
        ProviderError: a job failed of those that were run once.
    """
    if signal.SIGINT in came:
        raise typer.Exit(130)
    failed = [one for one in ended if one.state == "failed"]
    if once and failed:
        said = f"{len(failed)} of {len(ended)} jobs failed: {failed[0].error}"
        raise ProviderError(said, hint=failed[0].hint or "gpubroker status --jobs")


@contextmanager
def _stopped_by_signals(runner: "Runner") -> Iterator[list[int]]:
    """Let SIGTERM and Ctrl-C end the runner in good order; yield the signals that came."""
    came: list[int] = []

    def stop(number: int, _frame: object) -> None:
        came.append(number)
        runner.stop()

    before = {one: signal.signal(one, stop) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def _metrics(
    terminal: Terminal, service: "ScheduleService", runner: "Runner", at: "MetricsAt | None"
) -> Iterator[None]:
    if at is None:
        yield
        return
    with service.metrics(runner, at) as port:
        terminal.note(f"metrics: http://{at.host}:{port}/metrics")
        yield


def _holder(held: "Held") -> str:
    return (
        f"{held.holder} holds the lease since {held.taken_at:%Y-%m-%d %H:%M:%SZ}, "
        f"its last heartbeat was at {held.renewed_at:%H:%M:%SZ}"
    )


def _confirm(context: typer.Context, added: "Scheduled") -> None:
    job = added.job
    note = f"added: {job.name}, {job.rule.told}, first at {added.due_at:%Y-%m-%d %H:%M} UTC"
    Terminal.of(context).note(note)
