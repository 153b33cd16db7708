"""A plan beside one that is in force: made, kept, checked, explained and compared."""

from pathlib import Path

import pytest
from tiny_files import write_sheet, write_workloads

from broker.clock import system_clock
from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan, SolveSettings, Term
from broker.planning.catalog_view import CatalogSource
from broker.planning.explaining.asked import Asked
from broker.planning.service import PlanningService
from broker.settings import Settings

_AWS = "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,{},USD,2026-11-20"
_GCP = "gcp,a2-highgpu-1g,A100-40GB,1,europe-west4,on_demand,{},USD,2026-11-20"
SOLVE = SolveSettings(gap_fraction=0.0, time_limit_s=60, seed=0)


class Shop:
    """A workloads file, and plans of it over a sheet of two prices."""

    def __init__(self, folder: Path, churn: str) -> None:
        self.folder = folder
        self.service = PlanningService(Settings(data_dir=folder), system_clock)
        horizon = "horizon: {start: 2026-12-01, days: 1, slot: 6h}"
        policy = f"\npolicy: {{churn: {{{churn}}}}}" if churn else ""
        self.workloads = write_workloads(folder, (horizon, horizon + policy))

    def priced(self, aws: str, gcp: str) -> CatalogSource:
        folder = self.folder / f"{aws}-{gcp}"
        folder.mkdir(exist_ok=True)
        return CatalogSource(sheet=write_sheet(folder, _AWS.format(aws), _GCP.format(gcp)))

    def plan(self, prices: CatalogSource, start: Plan | None = None) -> Plan:
        return self.service.plan(self.workloads, prices, SOLVE, start=start)

    def written(self, plan: Plan, name: str) -> Path:
        path = self.folder / name
        path.write_text(plan.model_dump_json(by_alias=True), encoding="utf-8")
        return path


def _providers(plan: Plan) -> set[str]:
    return {one.offer.partition("/")[0] for one in plan.purchases}


@pytest.mark.parametrize(
    ("churn", "where"),
    [
        ("", {"gcp"}),
        ("usd_per_moved_node: 500", {"gcp"}),
        ("in_plan: true, usd_per_moved_node: 500", {"aws"}),
        ("in_plan: true, usd_per_moved_node: 1", {"gcp"}),
    ],
    ids=["default", "not asked", "asked", "cheap"],
)
def test_nodes_stay_where_they_are_only_if_the_policy_asks(
    tmp_path: Path, churn: str, where: set[str]
) -> None:
    shop = Shop(tmp_path, churn)
    first = shop.plan(shop.priced("1.00", "9.00"))
    assert _providers(first) == {"aws"}
    assert first.in_force is None
    later = shop.priced("1.90", "0.50")
    assert _providers(shop.plan(later)) == {"gcp"}
    second = shop.plan(later, first)
    assert _providers(second) == where
    assert (second.in_force is not None) is ("in_plan" in churn)
    lines = {one.subject for one in second.cost_lines if one.term is Term.CHURN}
    assert bool(lines) is ("usd_per_moved_node: 1}" in f"{churn}}}")


def test_a_plan_beside_another_is_verified_explained_and_compared(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "in_plan: true, usd_per_moved_node: 5")
    before, later = shop.priced("1.00", "9.00"), shop.priced("1.90", "0.50")
    first = shop.plan(before)
    second = shop.plan(later, first)
    old, new = shop.written(first, "old.json"), shop.written(second, "new.json")
    assert any(one.term is Term.CHURN for one in second.cost_lines)
    assert shop.service.verify(new, shop.workloads, later) == ()
    told = shop.service.explain(new, Asked(time_limit_s=60), later)
    assert told.total_usd == second.total_usd
    found = shop.service.difference(old, new, later, old_source=before)
    assert any("the plan in force" in part.why for part in found.parts)
    assert sum(part.usd for part in found.parts) == second.total_usd - first.total_usd


def test_a_plan_file_that_leaves_out_what_was_in_force_is_refused(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "in_plan: true, usd_per_moved_node: 5")
    second = shop.plan(shop.priced("1.90", "0.50"), shop.plan(shop.priced("1.00", "9.00")))
    later = shop.priced("1.90", "0.50")
    hidden = shop.written(second.model_copy(update={"in_force": None}), "hidden.json")
    assert {one.rule for one in shop.service.verify(hidden, shop.workloads, later)} == {
        "cost_lines"
    }
    with pytest.raises(ConfigurationError, match="the plan is refused: cost_lines"):
        shop.service.explain(hidden, Asked(time_limit_s=60), later)
