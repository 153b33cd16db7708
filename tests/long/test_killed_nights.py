"""Nights as real processes that are killed, starved and locked out: nothing is lost or told twice.

Two machines are the cheaper one in turn, so that each night adopts another plan and tells of it.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from nights import EVENING, RUN, Nights
from postgres_server import PASSWORD, programs, running_server
from pydantic import SecretStr
from store_places import environment_of

from broker.journal.journal import Journal
from broker.journal.records import NightRun, State, Step
from broker.planning.nightly.deciding import Verdict
from broker.planning.nightly.outcomes import NightOutcome
from broker.purchases.identity import plan_hash
from broker.purchases.plan_book import PlanBook
from broker.store.database import open_store
from broker.store.place import Place

pytestmark = pytest.mark.long

KILLS = 20
LOOSE = "churn: {usd_per_moved_node: 0, min_saving_fraction: 0.01, min_saving_per_disturbance: 0}"
NIGHT = """
import resource
import signal
import sys
from datetime import timedelta
from pathlib import Path
from nights import EVENING, Nights, wish
from store_places import told_place
from broker.domain.errors import BrokerError

def main():
    folder, number, largest_file = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if largest_file:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    nights = Nights(told_place(), folder)
    nights.now = EVENING + timedelta(days=number)
    first, second = ("1.00", "1.20") if number % 2 else ("1.20", "1.00")
    nights.shop.prices = {"box": first, "pod": second}
    try:
        report = nights.service().night(nights.workloads, wish())
    except BrokerError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    print(report.opening)

if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True)
class World:
    """A store, and the nights over it as processes."""

    nights: Nights
    place: Place
    folder: Path

    def start(self, number: int, largest_file: int = 0) -> subprocess.Popen[str]:
        """Start the night of a day; no file may grow beyond so many bytes, where a limit is set."""
        script = str(self.folder / "night.py")
        return subprocess.Popen(  # noqa: S603 - the arguments are those of the tests
            [sys.executable, script, str(self.folder), str(number), str(largest_file)],
            env={"PATH": os.defpath, **environment_of(self.place)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, number: int, largest_file: int = 0) -> tuple[int, str, str]:
        process = self.start(number, largest_file)
        out, err = process.communicate(timeout=180)
        return process.returncode, last_line(out), err

    @property
    def book(self) -> PlanBook:
        return PlanBook(open_store(self.nights.settings))

    def runs(self) -> tuple[NightRun, ...]:
        return Journal(open_store(self.nights.settings), lambda: EVENING).runs("team")

    def check(self, number: int) -> None:
        """Hold the last night to what it is to leave behind, whatever happened to it."""
        run = self.runs()[-1]
        assert run.asked.on_date == (EVENING + timedelta(days=number)).date()
        assert run.state is State.DONE
        done = Counter(one.step for one in run.steps if one.state is State.DONE)
        assert done == dict.fromkeys(Step, 1)
        outcome = NightOutcome.model_validate_json(run.outcome)
        assert outcome.decided.verdict is (Verdict.BETTER if number else Verdict.FIRST)
        in_force = self.book.in_force("team")
        assert in_force
        assert plan_hash(in_force) == outcome.planned.plan
        self.check_told(number)

    def check_told(self, number: int) -> None:
        messages = [json.loads(line) for line in self.nights.told()]
        keys = [one["key"] for one in messages]
        assert len(keys) == len(set(keys))
        at = [one["made_at"][:10] for one in messages]
        assert at == [str((EVENING + timedelta(days=day)).date()) for day in range(number + 1)]

    def check_log(self, nights: int) -> None:
        log, wrong = self.book.audit()
        assert wrong == ()
        assert sum(one.deed.action == "adopted" for one in log) == nights


@pytest.fixture
def world(place: Place, tmp_path: Path) -> World:
    return world_over(place, tmp_path)


def world_over(place: Place, tmp_path: Path) -> World:
    """Write what the processes of a test run, over a store that is there."""
    (tmp_path / "night.py").write_text(NIGHT, encoding="utf-8")
    later = RUN.replace("2026-12-", "2027-01-")  # after all of the nights
    text = later.replace("churn: {usd_per_moved_node: 1}", LOOSE)
    return World(Nights(place, tmp_path, text), place, tmp_path)


def last_line(text: str) -> str:
    """Give what the night prints at its end; its log comes before."""
    return text.strip().rpartition("\n")[2]


def kill(process: subprocess.Popen[str]) -> bool:
    """Kill a night and tell whether it was at work; what it started is left to itself."""
    was_alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return was_alive


def wait_for_step(process: subprocess.Popen[str], step: str) -> None:
    """Read the log of a night until a step is done."""
    assert process.stdout is not None
    assert any(f"step={step}" in line for line in process.stdout), f"{step} was never done"


def is_left(group: int) -> bool:
    """Tell whether a killed night's processes are there; each ends soon after its parent."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


def test_twenty_nights_that_are_killed_at_random_moments_are_gone_on_with(world: World) -> None:
    started_s = time.monotonic()
    assert world.run(0)[:2] == (0, "begun")
    lasts_s = time.monotonic() - started_s
    world.check(0)
    moments = random.Random(7)  # noqa: S311 - no secret is made of it
    hits, found = 0, Counter[str]()
    for number in range(1, KILLS + 1):
        process = world.start(number)
        time.sleep(moments.uniform(0.3, 0.95) * lasts_s)
        hits += kill(process)
        code, out, err = world.run(number)
        assert code == 0, err
        found[out] += 1
        world.check(number)
        assert not is_left(process.pid), "the solver outlived the night that it worked for"
    assert hits >= KILLS // 2
    assert found["resumed"] >= KILLS // 4
    world.check_log(KILLS + 1)


def test_a_disk_that_is_full_fails_the_night_and_the_next_run_does_it(
    world: World, *, is_postgres: bool
) -> None:
    if is_postgres:
        pytest.skip("the disk is the server's")
    assert world.run(0)[0] == 0
    codes = []
    for largest_file in (20_000, 60_000, 100_000, 140_000):  # it fails later and later
        code, _, err = world.run(1, largest_file)
        codes.append(code)
        assert code == 0 or "cannot be used" in err, err
        assert world.book.audit()[1] == ()
    assert codes.count(2) >= 2, codes
    assert world.run(1)[0] == 0
    world.check(1)


def test_a_database_that_stays_locked_fails_the_night_and_the_next_run_does_it(
    world: World, *, is_postgres: bool
) -> None:
    if is_postgres:
        pytest.skip("PostgreSQL has no lock on the whole of it")
    assert world.run(0)[0] == 0
    assert isinstance(world.place, Path)
    with closing(sqlite3.connect(world.place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        code, _, err = world.run(1)
        other.execute("ROLLBACK")
    assert code == 2, err
    assert "locked" in err
    assert world.run(1)[:2] == (0, "begun")
    world.check(1)


def test_a_database_file_that_is_gone_and_comes_back_costs_no_night(
    world: World, *, is_postgres: bool
) -> None:
    if is_postgres:
        pytest.skip("takes a folder away")
    assert isinstance(world.place, Path)
    folder, away = world.place.parent, world.place.parent.with_name("away")
    assert world.run(0)[0] == 0
    for number, step in enumerate(("price", "verify", "decide"), start=1):
        process = world.start(number)
        wait_for_step(process, step)
        folder.rename(away)
        _, err = process.communicate(timeout=180)
        assert process.returncode == 2, err
        away.rename(folder)
        assert world.run(number)[:2] == (0, "resumed")
        world.check(number)
    world.check_log(4)


def test_a_database_server_that_stops_and_comes_back_costs_no_night(tmp_path: Path) -> None:
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server is installed")
    with running_server(found) as server:
        world = world_over(SecretStr(server.url), tmp_path)
        assert world.run(0)[0] == 0
        for number, step in enumerate(("price", "verify", "decide"), start=1):
            process = world.start(number)
            wait_for_step(process, step)
            server.stop()
            _, err = process.communicate(timeout=180)
            server.start()
            assert process.returncode == 2, err
            assert PASSWORD not in err
            assert world.run(number)[:2] == (0, "resumed")
            world.check(number)
        world.check_log(4)


def test_two_runners_of_one_night_do_it_once(world: World) -> None:
    both = [world.start(0), world.start(0)]
    ended = sorted(last_line(process.communicate(timeout=180)[0]) for process in both)
    assert ended in (["begun", "held"], ["begun", "done"])
    world.check(0)
    world.check_log(1)


def test_a_clock_that_was_set_back_loses_no_night_and_tells_nothing_twice(world: World) -> None:
    assert world.run(2)[0] == 0
    code, out, _ = world.run(1)
    assert (code, out) == (0, "begun")
    assert world.run(1)[:2] == (0, "done")
    assert world.run(4)[:2] == (0, "begun")
    keys = [json.loads(line)["key"] for line in world.nights.told()]
    assert len(keys) == len(set(keys)) == 3
    assert [one.state for one in world.runs()] == [State.DONE] * 3
    world.check_log(3)
