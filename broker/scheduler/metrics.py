"""What Prometheus reads: ages and counts of the catalog, runs of jobs, cost and gap of plans.

All of it comes from the database at the moment of the question, in a registry of its own, so two
runners tell the same. Nothing is told of the process itself.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from broker.clock import Clock
from broker.domain.errors import BrokerError
from broker.planning.service import PlanningService
from broker.scheduler.book import Book
from broker.scheduler.pulse import Pulse
from broker.scheduler.records import JobKind, JobRun, RunState, Scheduled

_PREFIX = "gpubroker_"


class StoreCollector(Collector):
    """Reads the catalog and the schedule at each scrape."""

    def __init__(self, planning: PlanningService, book: Book, pulse: Pulse, clock: Clock) -> None:
        self._planning = planning
        self._book = book
        self._pulse = pulse
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        """Name nothing beforehand: that would read the database at the start."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Give all metrics; where the database cannot be reached, only that."""
        yield _gauge("runner_running", "1 where this runner holds the lease.", self._runs())
        try:
            found = [*self._of_catalog(), *self._of_jobs()]
        except BrokerError:
            yield _gauge("database_up", "1 where the database can be read.", 0)
            return
        yield _gauge("database_up", "1 where the database can be read.", 1)
        yield from found

    def _runs(self) -> int:
        return int(self._pulse.health.role == "running")

    def _of_catalog(self) -> Iterator[Metric]:
        now = self._clock()
        newest = _by("catalog_age_seconds", "Age of a provider's newest observation.", "provider")
        oldest = _by("catalog_oldest_age_seconds", "Age of its oldest observation.", "provider")
        offers = _by("catalog_offers", "Offers that stand in the catalog.", "provider")
        held = _by("catalog_quarantined_rows", "Rows held back now.", "provider", "reason")
        rejected = _by(
            "refresh_rejected_rows", "Rows of the last one that were no offers.", "provider"
        )
        seconds = _by("refresh_duration_seconds", "How long the last refresh took.", "provider")
        failing = _by("refresh_failing", "1 where the last refresh failed.", "provider")
        for run in self._planning.catalog.last_runs():
            of = [run.provider]
            for ages, seen in ((newest, run.newest_observed_at), (oldest, run.oldest_observed_at)):
                if seen is not None:
                    ages.add_metric(of, (now - seen).total_seconds())
            offers.add_metric(of, run.offers)
            for reason, rows in run.quarantined.items():
                held.add_metric([run.provider, reason], rows)
            rejected.add_metric(of, sum(run.rejected.values()))
            seconds.add_metric(of, (run.finished_at - run.started_at).total_seconds())
            failing.add_metric(of, int(run.status == "failed"))
        yield from (newest, oldest, offers, held, rejected, seconds, failing)

    def _of_jobs(self) -> Iterator[Metric]:
        jobs = self._book.jobs()
        yield _outcomes(jobs)
        next_at = _by("job_next_run_timestamp_seconds", "When a job runs next.", "job", "kind")
        for one in jobs:
            next_at.add_metric([one.job.name, one.job.kind], one.due_at.timestamp())
        yield next_at
        last = {run.schedule_id: run for run in self._book.last_runs()}
        done = {run.schedule_id: run for run in self._book.last_runs(RunState.DONE)}
        yield from _of_last_runs(jobs, last.get, done.get)
        yield from _of_plans(jobs, done.get)


_RunOf = Callable[[int], JobRun | None]


def _outcomes(jobs: Iterable[Scheduled]) -> Metric:
    runs = CounterMetricFamily(
        f"{_PREFIX}job_runs", "Runs of a job by how they ended.", labels=("job", "kind", "outcome")
    )
    for one in jobs:
        for state in (RunState.DONE, RunState.FAILED, RunState.INTERRUPTED):
            count = {"done": one.done, "failed": one.failed, "interrupted": one.interrupted}[state]
            runs.add_metric([one.job.name, one.job.kind, state], count)
    return runs


def _of_last_runs(jobs: Iterable[Scheduled], last: _RunOf, done: _RunOf) -> Iterator[Metric]:
    seconds = _by("job_last_duration_seconds", "How long the last run took.", "job", "kind")
    failing = _by("job_failing", "1 where the last run did not succeed.", "job", "kind")
    succeeded = _by(
        "job_last_success_timestamp_seconds", "When the job last succeeded.", "job", "kind"
    )
    for one in jobs:
        of = [one.job.name, one.job.kind]
        run, good = last(one.id), done(one.id)
        if run is not None:
            if run.elapsed_s is not None:
                seconds.add_metric(of, run.elapsed_s)
            bad = (RunState.FAILED, RunState.INTERRUPTED)
            failing.add_metric(of, int(run.ended.state in bad))
        if good is not None and good.finished_at is not None:
            succeeded.add_metric(of, good.finished_at.timestamp())
    yield from (seconds, failing, succeeded)


def _of_plans(jobs: Iterable[Scheduled], done: _RunOf) -> Iterator[Metric]:
    cost = _by("plan_cost_usd", "Cost of the last nightly plan, in USD.", "job", "workloads")
    gap = _by("plan_gap_ratio", "Its proven gap: (total - bound) / total.", "job", "workloads")
    for one in jobs:
        run = done(one.id) if one.job.kind is JobKind.NIGHTLY else None
        if run is None:
            continue
        of = [one.job.name, one.job.subject]
        if run.ended.usd is not None:
            cost.add_metric(of, float(run.ended.usd))  # what Prometheus has: a double
        if run.ended.gap_fraction is not None:
            gap.add_metric(of, run.ended.gap_fraction)
    yield from (cost, gap)


def _by(name: str, told: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", told, labels=labels)


def _gauge(name: str, told: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", told, value=value)
