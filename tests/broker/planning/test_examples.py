"""The shipped examples over the recorded catalog: proven, accepted, and sensible to a buyer."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from command_line import Solve

from broker.clock import system_clock
from broker.domain.offer import Fabric, Link, Offer, PriceKind
from broker.domain.plan import Plan, SolveSettings, Status
from broker.domain.pool import Role
from broker.examples.catalog import examples
from broker.planning.catalog_view import CatalogSource, CatalogView
from broker.planning.plans import plan_workloads, verify_plan
from broker.planning.service import PlanningService, open_service
from broker.planning.workloads_file import parse_workloads
from broker.settings import Settings
from providers.sheet.read import read_sheet

SOLVE = SolveSettings(gap_fraction=0.01, time_limit_s=40.0, seed=0)
SHEET = Path(__file__).parents[3].parent / "shared" / "data" / "prices" / "offers.csv"
COMMITTED = (PriceKind.RESERVED, PriceKind.CONTRACT, PriceKind.OWNED)
TEXTS = {example.name: example.text for example in examples()}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> PlanningService:
    return open_service(Settings(data_dir=tmp_path_factory.mktemp("data")), system_clock)


@pytest.fixture(scope="module")
def view(service: PlanningService) -> CatalogView:
    return service.view(CatalogSource(recorded=True))


@pytest.fixture(scope="module")
def plan_of(solve: Solve) -> Callable[[str], Plan]:
    """Give the plan of an example as the command makes it."""

    @cache
    def plan(name: str) -> Plan:
        solved = solve(Path(name).stem)
        assert solved.ended.code == 0, solved.ended.err
        return Plan.model_validate_json(solved.plan.read_bytes())

    return plan


LONG = {
    "13b-smallest-card.yaml",
    "7b-small-team.yaml",
    "70b-two-continents.yaml",
    "company.yaml",
    "growing-app.yaml",
}
"""They take half a minute or more, and are proven in time on cores that do little else."""

EVERY = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in sorted(TEXTS)],
)


@EVERY
def test_an_example_is_proven_within_five_percent_and_accepted(
    name: str, plan_of: Callable[[str], Plan], service: PlanningService, view: CatalogView
) -> None:
    plan = plan_of(name)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert plan.gap_fraction <= 0.05
    violations = verify_plan(
        plan,
        parse_workloads(TEXTS[name], name),
        view,
        specs=service.specs,
        settings=service.settings,
    )
    assert violations == ()


@pytest.mark.long
def test_70b_training_lands_on_nvlink_nodes_with_a_fast_fabric(
    plan_of: Callable[[str], Plan],
) -> None:
    plan = plan_of("70b-two-continents.yaml")
    (run,) = plan.training
    shape = run.candidate.shape
    assert run.candidate.nodes > 1
    assert shape.link is Link.NVSWITCH
    assert shape.fabric in (Fabric.INFINIBAND, Fabric.EFA, Fabric.ROCE)
    assert (shape.fabric_gbit_per_s or 0) >= 400


@pytest.mark.long
def test_70b_serving_pays_for_a_fast_fabric_only_where_nodes_are_committed(
    plan_of: Callable[[str], Plan],
) -> None:
    plan = plan_of("70b-two-continents.yaml")
    offers = {offer.key: offer for offer in plan.offers}
    rented = {
        offers[one.offer].machine: offers[one.offer]
        for one in plan.purchases
        if one.price_kind not in COMMITTED
    }
    for group in plan.serving:
        offer = rented.get(group.machine)
        assert offer is None or (offer.hardware.shape.fabric_gbit_per_s or 0) < 400


@EVERY
def test_a_run_that_is_not_restartable_never_sits_on_spot(
    name: str, plan_of: Callable[[str], Plan]
) -> None:
    plan = plan_of(name)
    fixed = {run.name for run in plan.workloads.training if not run.restartable}
    assert not any(run.on_spot for run in plan.training if run.run in fixed)


@pytest.mark.long
def test_committed_nodes_of_the_company_serve_and_train(plan_of: Callable[[str], Plan]) -> None:
    plan = plan_of("company.yaml")
    machine = "aws/p4d.24xlarge/us-east-1"
    assert machine in {group.machine for group in plan.serving}
    assert machine in {run.machine for run in plan.training}


@pytest.mark.long
def test_a_small_team_commits_to_nothing(plan_of: Callable[[str], Plan]) -> None:
    plan = plan_of("7b-small-team.yaml")
    assert {one.price_kind for one in plan.purchases} <= {PriceKind.ON_DEMAND, PriceKind.SPOT}


def test_long_prompts_are_read_and_answered_on_different_gpus(
    plan_of: Callable[[str], Plan],
) -> None:
    plan = plan_of("long-prompts.yaml")
    pools = {one.candidate.pool.role: one for one in plan.serving if one.candidate.pool}
    assert {role: one.candidate.gpu for role, one in pools.items()} == {
        Role.PREFILL: "H100-SXM",
        Role.DECODE: "H200-SXM",
    }


def test_two_small_examples_buy_in_every_way_there_is(plan_of: Callable[[str], Plan]) -> None:
    plans = [plan_of(name) for name in ("regulated-hospital.yaml", "research-group.yaml")]
    bought = {one.price_kind for plan in plans for one in plan.purchases}
    assert bought == set(PriceKind)


@pytest.mark.long
@pytest.mark.skipif(not SHEET.exists(), reason="the large price sheet is not here")
def test_the_70b_example_works_on_a_real_sheet_and_buys_no_oddity(
    service: PlanningService,
) -> None:
    reading = read_sheet(SHEET, service.specs)
    assert reading.rows == 5728
    assert reading.rows_used >= 3500
    view = service.offers_from_sheet(SHEET)
    name = "70b-two-continents.yaml"
    plan = plan_workloads(
        parse_workloads(TEXTS[name], name),
        view,
        SOLVE,
        specs=service.specs,
        settings=service.settings,
        progress=lambda _: None,
    )
    assert plan.gap_fraction <= 0.05
    usual = _median_usd_per_gpu_hour(view.offers)
    for offer in plan.offers:
        assert offer.place.region != "unknown"
        assert offer.provider not in {"mithril", "replicate", "modal", "baseten", "aws-sagemaker"}
        assert _usd_per_gpu_hour(offer) >= usual[offer.hardware.shape.gpu] * 0.3


def _median_usd_per_gpu_hour(offers: tuple[Offer, ...]) -> Mapping[str, float]:
    prices: dict[str, list[float]] = {}
    for offer in offers:
        if offer.price_kind is PriceKind.ON_DEMAND:
            prices.setdefault(offer.hardware.shape.gpu, []).append(_usd_per_gpu_hour(offer))
    return {gpu: median(found) for gpu, found in prices.items()}


def _usd_per_gpu_hour(offer: Offer) -> float:
    return float(offer.effective_usd_per_hour) / float(offer.hardware.shape.gpu_count)
