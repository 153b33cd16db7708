"""Thirty nights over the moves of a real market: thirty plans, few changes, alerts worth reading.

The moves are those of ../shared/data/prices/history.csv; without it there is nothing to replay.
"""

import json
from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from replayed import Replay, read_history

from broker.domain.plan import SolveSettings
from broker.planning.nightly.asked import NightWish
from broker.planning.nightly.deciding import Verdict
from broker.planning.nightly.service import NightlyService
from broker.purchases.plan_book import PlanBook
from broker.settings import Settings
from broker.store.database import open_store

HISTORY = Path(__file__).parents[3] / "shared" / "data" / "prices" / "history.csv"
NIGHTS = 30
WORKLOADS = """\
schema: gpubroker.workloads/1
horizon: {start: 2026-06-15, days: 14, slot: 6h}
policy:
  commitments: {max_term_months: 0}
  churn: {usd_per_moved_node: 10, min_saving_per_disturbance: 0.05}
services:
  - name: chat
    model: mistral-7b
    traffic: {requests_per_s: {mean: 20, peak: 30, timezone: America/New_York}}
    sizes: [{input_tokens: 1000, output_tokens: 300}]
    slo: {ttft: {p95: 2 s}, tpot: {p95: 80 ms}}
    users: {us-east: 1.0}
    gpu_models: [L40S, A100-80-SXM, H100-SXM]
training:
  - name: tune
    model: mistral-7b
    method: lora
    tokens: 2.0e+9
    window: {earliest: 2026-06-15, deadline: 2026-06-25}
    restartable: true
    hardware: {gpus: [1], gpu_models: [A100-80-SXM, H100-SXM]}
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not HISTORY.exists(), reason="the price history is not here"),
]


def test_thirty_nights_of_a_real_market_change_little_and_tell_what_matters(
    tmp_path: Path,
) -> None:
    workloads = tmp_path / "team.yaml"
    workloads.write_text(WORKLOADS, encoding="utf-8")
    alerts = tmp_path / "alerts.jsonl"
    settings = Settings(data_dir=tmp_path / "data", alert_file=alerts)
    planning = Replay(settings, lambda: planning.instant)
    planning.load(read_history(HISTORY, date(2026, 5, 9), NIGHTS))
    assert len(planning.recorded_offers) >= 5
    wish = NightWish(SolveSettings(gap_fraction=0.01, time_limit_s=30, seed=0))
    verdicts: list[Verdict] = []
    for today in range(NIGHTS):
        planning.today = today
        report = NightlyService(planning).night(workloads, wish)
        assert report.outcome
        verdicts.append(report.outcome.decided.verdict)
    changes = [one for one in verdicts if one.is_change]
    assert verdicts[0] is Verdict.FIRST
    assert len(verdicts) == NIGHTS
    assert Verdict.NO_PLAN not in verdicts
    assert 2 <= len(changes) <= NIGHTS // 5, verdicts
    book = PlanBook(open_store(settings))
    assert sum(one.is_adopted for one in book.records()) == len(changes)
    log, wrong = book.audit()
    assert wrong == ()
    assert sum(entry.deed.action == "adopted" for entry in log) == len(changes)
    _check_told([json.loads(line) for line in alerts.read_text(encoding="utf-8").splitlines()])


def _check_told(messages: list[dict[str, list[dict[str, dict[str, object]]]]]) -> None:
    """Hold the messages to what a person would want: few, on what is in use, each with a cure."""
    assert len(messages) <= NIGHTS * 2 // 3
    news = [one for message in messages for one in message["news"]]
    kinds = Counter(one["alert"]["kind"] for one in news)
    assert set(kinds) <= {"better_plan", "price_jump", "deadline_at_risk"}, kinds
    assert kinds["better_plan"] >= 2
    for one in news:
        assert str(one["alert"]["action"]).startswith("gpubroker "), one
    said = [(one["event"], one["alert"]["subject"], one["alert"]["state"]) for one in news]
    again = [one for one, following in pairwise(said) if one == following]
    assert not again
