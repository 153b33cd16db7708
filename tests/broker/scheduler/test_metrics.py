import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from price_lists import GATES, NOON, a_reading, an_offer
from prometheus_client.parser import text_string_to_metric_families
from schedules import START, Watch, at_night, hourly, settings_over

from broker.domain.errors import ConfigurationError
from broker.planning.service import open_service
from broker.scheduler.book import Book
from broker.scheduler.endpoint import serve_metrics
from broker.scheduler.lease import Leases
from broker.scheduler.metrics import StoreCollector
from broker.scheduler.pulse import Pulse
from broker.scheduler.records import Ended, Job, RunState
from broker.settings import Settings
from broker.store.database import open_store
from broker.store.place import Place

pytestmark = [pytest.mark.local_server, pytest.mark.allow_hosts(["127.0.0.1"])]


@dataclass
class World:
    """A store with a catalog and a schedule, and the page that tells of it."""

    settings: Settings
    book: Book
    watch: Watch
    pulse: Pulse
    port: int = 0

    def run(self, job: Job, *endings: Ended, took_s: float = 30) -> None:
        leases = Leases(open_store(self.settings), self.watch)
        lease = leases.take("a", timedelta(hours=1))
        token = lease.token
        one = self.book.add(job, due_at=self.watch(), now=self.watch())
        for ended in endings:
            self.watch.now = next(j.due_at for j in self.book.jobs() if j.id == one.id)
            claim = self.book.claim(token, one.id, self.watch())
            assert claim is not None
            self.watch.forward(seconds=took_s)
            self.book.finish(claim, ended, self.watch())

    def get(self, path: str) -> httpx.Response:
        return httpx.get(f"http://127.0.0.1:{self.port}{path}")

    def metrics(self) -> Mapping[str, float]:
        """Read the page as Prometheus would: the value of each series by its name and labels."""
        found = {}
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for sample in family.samples:
                labels = ",".join(sample.labels.values())
                found[f"{sample.name.removeprefix('gpubroker_')}({labels})"] = sample.value
        return found


@pytest.fixture
def world(new_place: Callable[[], Place], tmp_path: Path) -> Iterator[World]:
    settings = settings_over(new_place(), tmp_path)
    book, watch, pulse = Book(open_store(settings)), Watch(), Pulse("here:1", 60)
    made = World(settings, book, watch, pulse)
    collector = StoreCollector(open_service(settings, watch), book, pulse, watch)
    with serve_metrics(0, collector, lambda: pulse.health) as port:
        made.port = port
        yield made


def test_the_catalog_is_told_by_provider_with_ages_and_what_is_held(world: World) -> None:
    catalog = open_service(world.settings, world.watch).catalog
    cheap = an_offer("0.001", name="too cheap", seen_at=NOON)  # below the band of its GPU
    catalog.replace(a_reading(an_offer(seen_at=NOON), cheap), GATES, now=NOON)
    world.watch.now = NOON + timedelta(hours=2)
    told = world.metrics()
    assert told["catalog_age_seconds(acme)"] == 7200
    assert told["catalog_offers(acme)"] == 1
    (held,) = [name for name in told if name.startswith("catalog_quarantined_rows")]
    assert (told[held], held.startswith("catalog_quarantined_rows(acme,")) == (1, True)
    assert told["refresh_failing(acme)"] == 0
    assert told["database_up()"] == 1


def test_jobs_are_told_with_outcomes_durations_cost_and_gap(world: World) -> None:
    done = Ended(RunState.DONE, usd=Decimal("1234.5"), gap_fraction=0.02)
    world.run(at_night(), done, Ended(RunState.FAILED, error="no plan"), took_s=90)
    world.run(hourly(), done, took_s=2)
    told = world.metrics()
    assert told["job_runs_total(night,nightly,done)"] == 1
    assert told["job_runs_total(night,nightly,failed)"] == 1
    assert told["job_last_duration_seconds(night,nightly)"] == 90
    assert (told["job_failing(night,nightly)"], told["job_failing(hourly,reprice)"]) == (1, 0)
    night = next(one for one in world.book.jobs() if one.job.name == "night")
    assert told["job_next_run_timestamp_seconds(night,nightly)"] == night.due_at.timestamp()
    succeeded = START + timedelta(seconds=90)
    assert told["job_last_success_timestamp_seconds(night,nightly)"] == succeeded.timestamp()
    assert told["plan_cost_usd(night,)"] == 1234.5
    assert told["plan_gap_ratio(night,)"] == 0.02
    assert "plan_cost_usd(hourly,)" not in told


def test_health_is_that_of_the_runner_and_bad_when_it_was_silent_for_a_lease(
    world: World,
) -> None:
    world.pulse.beat("running")
    said = world.get("/healthz")
    assert said.status_code == 200
    assert said.json()["role"] == "running"
    assert world.metrics()["runner_running()"] == 1
    world.pulse.well_for_s = 0
    assert world.get("/healthz").status_code == 503
    assert json.loads(world.get("/secrets").text) == {"there_are": ["/metrics", "/healthz"]}


def test_a_database_that_is_gone_is_told_and_nothing_else(world: World) -> None:
    if world.settings.database is not None:
        pytest.skip("a server is not taken away by a test of its page")
    world.settings.database_path.unlink()
    world.settings.database_path.mkdir()
    assert world.metrics() == {"runner_running()": 0, "database_up()": 0}


def test_a_port_that_is_taken_is_named(world: World) -> None:
    taken = StoreCollector(
        open_service(world.settings, world.watch), world.book, world.pulse, world.watch
    )
    with (
        pytest.raises(ConfigurationError, match=str(world.port)),
        serve_metrics(world.port, taken, lambda: world.pulse.health),
    ):
        pass
    with (
        pytest.raises(ConfigurationError, match="no port"),
        serve_metrics(70000, taken, lambda: world.pulse.health),
    ):
        pass
