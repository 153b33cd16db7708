"""Nights of a file whose horizon starts `today`: it moves on, the plan in force does not."""

import hashlib
import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from export_plans import Parts, at, bought, machine, plan, trained
from nights import EVENING, SOLVE, Nights
from tiny_files import write_sheet

from broker.domain.plan import Plan
from broker.planning.catalog_view import CatalogSource
from broker.planning.differences.lines import Window
from broker.planning.nightly.asked import NightWish
from broker.planning.nightly.deciding import Verdict
from broker.planning.nightly.outcomes import DecideOutcome, DiffOutcome
from broker.planning.nightly.rolling import not_comparable
from broker.planning.nightly.service import NightReport
from broker.planning.service import PlanningService
from broker.purchases.plan_book import PlanBook
from broker.settings import Settings
from broker.store.database import open_store
from broker.store.place import Place

SERVICE = """\
schema: gpubroker.workloads/1
horizon: {start: today, days: 4, slot: 24h}
policy: {churn: {usd_per_moved_node: 1}}
services:
  - name: chat
    model: mistral-7b
    precisions: [bf16]
    traffic: {requests_per_s: {mean: 0.5, peak: 0.5, peak_hour: 12, timezone: UTC}}
    sizes: [{input_tokens: 300, output_tokens: 100, share: 1.0}]
    slo: {ttft: {p95: 4 s}, tpot: {p95: 200 ms}}
    users: {eu-central: 1.0}
"""


L40S = "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,2.00,USD,2026-11-20"
H100 = "aws,p5.4xlarge,H100-SXM,1,eu-central-1,on_demand,{usd},USD,2026-11-20"


class Rolled(Nights):
    """Nights over a price sheet, a day apart."""

    def run(self, *rows: str) -> NightReport:
        folder = self.workloads.parent
        wish = NightWish(SOLVE, sheet=write_sheet(folder, *rows))
        report = self.service().night(self.workloads, wish)
        self.now += timedelta(days=1)
        return report

    def in_force_from(self) -> str:
        found = PlanBook(open_store(self.settings)).in_force("team")
        assert found
        return f"{found.workloads.horizon.start:%m-%d}"


@pytest.fixture
def nights(place: Place, tmp_path: Path) -> Rolled:
    return Rolled(place, tmp_path, SERVICE)


def decided(report: NightReport) -> DecideOutcome:
    assert report.outcome
    return report.outcome.decided


def test_a_plan_goes_on_for_half_a_horizon_and_is_then_followed(nights: Rolled) -> None:
    assert decided(nights.run(L40S)).verdict is Verdict.FIRST  # 28 November to 2 December
    assert decided(nights.run(L40S)).verdict is Verdict.KEEP
    assert nights.in_force_from() == "11-28"
    followed = decided(nights.run(L40S))
    assert followed.verdict is Verdict.NEEDED
    assert followed.why[1] == (
        "it ends on 2026-12-02, and less than half of the 4 days of the horizon is left of it"
    )
    assert nights.in_force_from() == "11-30"
    assert len(nights.told()) == 2


def test_a_saving_is_that_of_the_time_that_both_plans_cover(nights: Rolled) -> None:
    nights.run(H100.format(usd="4.50"))
    better = nights.run(H100.format(usd="4.50"), L40S)
    assert decided(better).verdict is Verdict.BETTER
    step = next(one for one in better.steps if one.step == "diff")
    diff = DiffOutcome.model_validate_json(step.outcome)
    # From midnight of the 30th to the end of the plan in force, two days later: 48 h × (4.5 − 2);
    # the weights are 14 GB, kept for 0.16 USD a GB and month, whichever machine serves.
    assert diff.before_usd == pytest.approx(Decimal("216.15"), abs=Decimal("0.01"))
    assert diff.saving_usd == 120
    (news,) = json.loads(nights.told()[-1])["news"]
    assert "L40S" in news["alert"]["facts"][0] or "g6e" in news["alert"]["facts"][0]


def test_a_plan_is_verified_on_a_later_day_and_by_a_later_version(tmp_path: Path) -> None:
    workloads, sheet = tmp_path / "team.yaml", CatalogSource(sheet=write_sheet(tmp_path, L40S))
    workloads.write_text(SERVICE, encoding="utf-8")
    settings = Settings(data_dir=tmp_path)
    made = PlanningService(settings, lambda: EVENING).plan(workloads, sheet, SOLVE)
    assert f"{made.workloads.horizon.start:%Y-%m-%d %H:%M}" == "2026-11-28 00:00"
    kept = tmp_path / "plan.json"
    kept.write_text(made.model_dump_json(by_alias=True), encoding="utf-8")
    later = PlanningService(settings, lambda: EVENING + timedelta(days=3))
    assert later.verify(kept, workloads, sheet) == ()

    # A version that knew fewer keys wrote less, and hashed what it wrote.
    older = json.loads(kept.read_text(encoding="utf-8"))
    del older["workloads"]["policy"]["approvals"]
    text = json.dumps(older["workloads"], separators=(",", ":"), ensure_ascii=False)
    older["workloads_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    kept.write_text(json.dumps(older), encoding="utf-8")
    assert later.verify(kept, workloads, sheet) == ()
    older["workloads_sha256"] = "0" * 64
    kept.write_text(json.dumps(older), encoding="utf-8")
    assert [one.subject for one in later.verify(kept, workloads, sheet)] == ["workloads_sha256"]


def test_a_run_that_would_go_on_after_the_plan_in_force_is_no_saving() -> None:
    box = machine("acme/box/east")

    def training(*steps: tuple[int, int]) -> Plan:
        run = trained(box, 1, *steps)
        return plan([box], Parts(purchases=[bought(box, (0, 8, 1))], training=[run]))

    window = Window(at(0), at(6))
    assert not_comparable(training((0, 4)), training((0, 4)), window) == ()
    (why,) = not_comparable(training((0, 4)), training((2, 8)), window)
    assert "works on the run" in why
    assert "cannot be compared" in why
