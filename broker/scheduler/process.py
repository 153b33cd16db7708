"""A job in a process of its own: it can be ended at any moment, and it ends with its runner.

What it had begun to write is rolled back by the database, as a transaction is all or nothing. It
writes nothing once its runner has lost the lease: each transaction looks at the token before its
end. The processes that it starts, such as the solver's, are of its group and end with it.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

import structlog
from sqlalchemy import Connection, Engine, event

from broker.domain.errors import BrokerError
from broker.planning.alerting import scrub_from
from broker.scheduler.lease import guard
from broker.scheduler.records import Ended, RunState
from broker.scheduler.work import Perform, Prepare, Work

Halted = Callable[[], Ended | None]
"""Tells why a job has to end now and what that makes of its run; None while it may go on."""

_LOOK_S = 0.1
_DIES_IN_S = 10.0
_log = structlog.get_logger(__name__)


def run_apart(work: Work, perform: Perform, prepare: Prepare, halted: Halted) -> Ended:
    """Run a job in a process of its own until it is done or has to end."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_in_child, args=(work, perform, prepare, theirs))
    process.start()
    theirs.close()
    try:
        return _await(process, ours, halted)
    finally:
        _end(process)
        ours.close()


def broken(work: Work, error: Exception) -> Ended:
    """Say that a job, or what runs it, has a bug; where it happened is for the log.

    A traceback is written without the values of variables, as these may be keys.
    """
    scrub = scrub_from(work.settings)
    where = scrub.text("".join(traceback.format_exception(error)))
    _log.error("job_broke", job=work.job.name, traceback=where)
    return Ended(
        RunState.FAILED,
        error=scrub.text(f"gpubroker has a bug: {type(error).__name__}: {error}"),
        hint="run it by hand with --debug, and report it",
    )


def _await(process: BaseProcess, answers: Pipe, halted: Halted) -> Ended:
    while not wait([answers, process.sentinel], timeout=_LOOK_S):
        why = halted()
        if why is not None:
            return why
    try:
        answer: object = answers.recv() if answers.poll() else None
    except EOFError:
        answer = None
    if isinstance(answer, Ended):
        return answer
    process.join(_DIES_IN_S)
    how = f"the job's process ended without an answer, exit code {process.exitcode}"
    return Ended(RunState.INTERRUPTED, error=how)


def _end(process: BaseProcess) -> None:
    """End what is left of the job's processes."""
    number = process.pid or 0
    with contextlib.suppress(ProcessLookupError):  # before it has a group, and once all are gone
        os.killpg(number, signal.SIGKILL)
    process.kill()
    process.join(_DIES_IN_S)
    process.close()


def _in_child(work: Work, perform: Perform, prepare: Prepare, answers: Pipe) -> None:
    os.setsid()
    # Whoever stops a service may tell all of its processes; the runner says whether the job ends.
    # A handler, not SIG_IGN, as the processes that the job starts would inherit that.
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.signal(signal.SIGINT, lambda *_: None)
    threading.Thread(target=_end_with_runner, daemon=True).start()
    prepare()
    event.listen(Engine, "commit", _fence(work.token))
    answers.send(_performed(work, perform))


def _performed(work: Work, perform: Perform) -> Ended:
    started_s = time.monotonic()
    try:
        ended = perform(work)
    except BrokerError as error:
        scrub = scrub_from(work.settings)
        error_text, hint = scrub.text(str(error)), scrub.text(error.hint)
        ended = Ended(RunState.FAILED, error=error_text, hint=hint)
    except Exception as error:  # noqa: BLE001 - the job loop goes on, whatever a job does
        ended = broken(work, error)
    elapsed_s = round(time.monotonic() - started_s, 3)
    _log.info("job_performed", job=work.job.name, state=str(ended.state), elapsed_s=elapsed_s)
    return ended


def _end_with_runner() -> None:
    """End this group of processes when the runner's process is gone, however it ended."""
    runner = multiprocessing.parent_process()
    if runner is not None:
        wait([runner.sentinel])
        os.killpg(0, signal.SIGKILL)


def _fence(token: int) -> Callable[[Connection], None]:
    """Make what looks at the lease before each transaction of this process ends.

    Raises:
        LeaseLostError: another runner has taken the lease over; the transaction is rolled back.
    """
    return lambda connection: guard(connection, token)
