"""APScheduler, kept in step with the schedule in the database: it wakes jobs at their instants.

Each job of the schedule is one job of APScheduler's, which fires once at the instant that is due;
whether it still is, and what comes next, is decided in the database.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from threading import Lock

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from broker.scheduler.records import JobKind, Scheduled

_LANES = {"prices": 2, "plans": 1}
"""Jobs that run at one time: a long plan does not keep prices from being read."""


class Alarm:
    """Calls `ring` with the id of a job when it is due, in a thread of a few.

    A job that rang does not ring again before it is answered; `answered` is called after that.
    """

    def __init__(self, ring: Callable[[int], None], answered: Callable[[], None]) -> None:
        # It warns of what is no fault here: that a job was missed and is made up for.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._ring = ring
        self._answered = answered
        self._set: dict[int, datetime] = {}
        self._lock = Lock()
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={lane: ThreadPoolExecutor(size) for lane, size in _LANES.items()},
            # It counts a run that has just been answered; that one runs at a time is seen to here.
            job_defaults={"coalesce": True, "max_instances": 100, "misfire_grace_time": None},
        )

    @property
    def busy(self) -> bool:
        """Tell whether a job runs, or waits for its turn."""
        with self._lock:
            return bool(self._set.keys() - self._waiting())

    def start(self) -> None:
        """Begin to wake jobs."""
        self._scheduler.start()

    def keep_step(self, schedule: Iterable[Scheduled]) -> None:
        """Take over what the schedule says now; what is not in it does not ring any more."""
        wanted = {one.id: one for one in schedule}
        with self._lock:
            waiting = self._waiting()
            rang = self._set.keys() - waiting
            for number in waiting - wanted.keys():
                self._scheduler.remove_job(str(number))
                del self._set[number]
            for number in wanted.keys() - rang:
                if self._set.get(number) != wanted[number].due_at:
                    self._wind(wanted[number])
        self._scheduler.wakeup()  # it may have slept over a change of the clock

    def rest(self) -> None:
        """Wake nobody any more; what runs goes on."""
        self._scheduler.pause()

    def stop(self) -> None:
        """End, after what runs has ended."""
        self._scheduler.shutdown(wait=True)

    def _waiting(self) -> set[int]:
        return {int(job.id) for job in self._scheduler.get_jobs()}

    def _wind(self, one: Scheduled) -> None:
        self._set[one.id] = one.due_at
        self._scheduler.add_job(
            self._answer,
            "date",
            run_date=one.due_at,
            args=(one.id,),
            id=str(one.id),
            name=one.job.name,
            executor="prices" if one.job.kind is JobKind.REPRICE else "plans",
            replace_existing=True,
        )

    def _answer(self, schedule_id: int) -> None:
        try:
            self._ring(schedule_id)
        finally:
            with self._lock:
                self._set.pop(schedule_id, None)
            self._answered()
