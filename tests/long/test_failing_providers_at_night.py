"""`gpubroker nightly` as people start it, while a provider, Slack or the database fails.

The providers are behind a proxy on loopback that speaks TLS; the environment names it, as for
every user behind a proxy.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from alert_receivers import Reply, receiver
from command_line import ROOT
from provider_proxy import Mood, ProviderProxy, provider_proxy
from pydantic import BaseModel, ConfigDict

from broker.clock import system_clock
from broker.store.place import Place

pytestmark = [
    pytest.mark.long,
    pytest.mark.local_server,
    pytest.mark.allow_hosts(["127.0.0.1"]),
]

COMMAND = "from cli.app import main; main()"
TEAM = """\
schema: gpubroker.workloads/1
horizon: {{start: {today}, days: 2, slot: 6h}}
services:
  - name: chat
    model: mistral-7b
    traffic: {{requests_per_s: {{mean: 0.2, peak: 0.2, peak_hour: 12, timezone: UTC}}}}
    sizes: [{{input_tokens: 300, output_tokens: 100, share: 1.0}}]
    slo: {{ttft: {{p95: 4 s}}, tpot: {{p95: 200 ms}}}}
    users: {{us-east: 1.0}}
"""


class Step(BaseModel):
    """One step as the command prints it."""

    step: str
    outcome: str


class Shown(BaseModel):
    """What the command prints of a night."""

    model_config = ConfigDict(extra="ignore")

    verdict: str
    steps: list[Step]

    def outcome(self, step: str) -> dict[str, object]:
        text = next(one.outcome for one in self.steps if one.step == step)
        read: dict[str, object] = json.loads(text)
        return read


@dataclass
class World:
    """A store, a workloads file, and the network as the night's process sees it."""

    folder: Path
    place: Place
    proxy: ProviderProxy

    def start(self, *options: str, **settings: str) -> subprocess.Popen[str]:
        """Start a night; `settings` are variables of gpubroker in small letters."""
        is_file = isinstance(self.place, Path)
        data_dir = self.place.parent if isinstance(self.place, Path) else self.folder / "data"
        store = {} if is_file else {"database": self.place.get_secret_value()}
        given = {
            "data_dir": str(data_dir),
            "settings_file": os.devnull,
            "alert_file": str(self.folder / "alerts.jsonl"),
            "provider_timeout_s": "30",
            **store,
            **settings,
        }
        variables = {f"GPUBROKER_{name.upper()}": value for name, value in given.items()}
        words = ("nightly", str(self.folder / "team.yaml"), "--gap", "0", "--format", "json")
        return subprocess.Popen(  # noqa: S603 - the code is that of this file
            [sys.executable, "-c", COMMAND, *words, *options],
            env={
                "PATH": os.defpath,
                "PYTHONPATH": str(ROOT),
                **self.proxy.environment,
                **variables,
            },
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *options: str, **settings: str) -> tuple[int, str, str]:
        process = self.start(*options, **settings)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def night(self, *options: str, **settings: str) -> Shown:
        code, out, err = self.run(*options, **settings)
        assert code == 0, err
        return Shown.model_validate_json(out)

    def news(self) -> list[tuple[str, str, str]]:
        """List what the file was told: event, kind, subject or its first fact."""
        lines = (self.folder / "alerts.jsonl").read_text(encoding="utf-8").splitlines()
        return [
            (one["event"], one["alert"]["kind"], " ".join(one["alert"]["facts"]))
            for line in lines
            for one in json.loads(line)["news"]
        ]


@pytest.fixture
def world(place: Place, tmp_path: Path) -> Iterator[World]:
    text = TEAM.format(today=system_clock().date())
    (tmp_path / "team.yaml").write_text(text, encoding="utf-8")
    with provider_proxy("oci", tmp_path) as proxy:
        yield World(tmp_path, place, proxy)


@pytest.mark.parametrize(
    ("mood", "settings", "why"),
    [
        (Mood.ERROR, {}, "answered 500"),
        (Mood.GARBAGE, {}, "cannot be read"),
        (Mood.SILENT, {"request_timeout_s": "0.5"}, "no reply (ReadTimeout"),
        (Mood.DRIPPING, {"provider_timeout_s": "4"}, "not done within 4 s"),
    ],
)
def test_a_night_goes_on_with_the_last_offers_of_a_provider_that_fails_and_says_it_once(
    world: World, mood: Mood, settings: dict[str, str], why: str
) -> None:
    first = world.night()
    assert first.verdict == "first"
    assert world.proxy.asked
    world.proxy.mood = mood
    for _ in range(2):
        shown = world.night("--again", **settings)
        assert shown.verdict == "keep"
        assert "oci" in shown.outcome("price")["failed"]
        assert shown.outcome("price")["offers"] == first.outcome("price")["offers"]
    told = [(event, facts) for event, kind, facts in world.news() if kind == "provider_failing"]
    assert len(told) == 1, told
    assert why in told[0][1]
    world.proxy.mood = Mood.GOOD
    assert "oci" not in world.night("--again").outcome("price")["failed"]
    assert [event for event, kind, _ in world.news() if kind == "provider_failing"] == [
        "raised",
        "mended",
    ]


def test_slack_that_is_down_for_a_night_hears_of_it_once_in_the_next(world: World) -> None:
    with receiver([Reply(503)] * 4) as slack:
        code, _, err = world.run(slack_webhook_url=slack.url)
        assert (code, len(slack.heard)) == (3, 4)
        assert "slack" in err
        assert "/hook" not in err
        for _ in range(2):
            world.night("--again", slack_webhook_url=slack.url)
    titles = [json.loads(one.body)["text"] for one in slack.heard]
    assert len(titles) == 5, titles
    assert all(title.startswith("The first plan of") for title in titles)
    assert [kind for _, kind, _ in world.news()].count("better_plan") == 1
