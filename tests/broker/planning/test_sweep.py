from decimal import Decimal
from pathlib import Path

import pytest
from tiny_files import WORKLOADS, write_sheet

from broker.domain.errors import ConfigurationError
from broker.domain.plan import SolveSettings, Status
from broker.planning.catalog_view import CatalogSource
from broker.planning.executor import LocalProcesses
from broker.planning.service import PlanningService, open_service
from broker.planning.sweep import Axis, Sweep, parse_axes, plan_sweep, points_of
from broker.planning.what_if import Inputs, parse_change
from broker.planning.workloads_file import parse_workloads
from broker.settings import Settings

EXACT = SolveSettings(gap_fraction=0.0, time_limit_s=60, seed=0)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> PlanningService:
    return open_service(Settings(data_dir=tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def inputs(service: PlanningService, tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    folder: Path = tmp_path_factory.mktemp("inputs")
    view = service.view(CatalogSource(sheet=write_sheet(folder)))
    return Inputs(parse_workloads(WORKLOADS, "w"), view)


def swept(inputs: Inputs, service: PlanningService, *texts: str, workers: int) -> Sweep:
    done: list[str] = []
    made = plan_sweep(
        inputs,
        parse_axes(texts),
        EXACT,
        LocalProcesses(workers),
        specs=service.specs,
        settings=service.settings,
        on_done=done.append,
    )
    assert sorted(done) == sorted(", ".join(point) for point in made.points)
    return made


def test_commas_in_brackets_belong_to_a_value() -> None:
    (axis,) = parse_axes(["services.chat.users={us-east: 0.5, eu-west: 0.5},{us-east: 1.0}"])
    assert axis == Axis("services.chat.users", ("{us-east: 0.5, eu-west: 0.5}", "{us-east: 1.0}"))


def test_the_last_key_changes_fastest(inputs: Inputs) -> None:
    axes = parse_axes(["traffic=1,2", "provider.gcp=on,off"])
    points, made = points_of(inputs, axes)
    assert points == (("1", "on"), ("1", "off"), ("2", "on"), ("2", "off"))
    peaks = [one.workloads.services[0].traffic.requests_per_s.peak for one in made]
    assert peaks == [2, 2, 4, 4]
    assert [one.workloads.policy.providers.deny for one in made] == [(), ("gcp",)] * 2


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([], "one or two keys, not 0"),
        (["a=1", "b=1", "c=1"], "one or two keys, not 3"),
        (["traffic=1", "traffic=2"], "stands twice"),
        (["traffic=1,,2"], "empty value"),
        (["traffic=1,2,1"], "one twice"),
        (["traffic"], "is no change"),
        (["traffic=" + ",".join(map(str, range(1, 402)))], "401 points"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_axes(texts)


def test_a_wrong_value_is_told_as_one_of_vary(inputs: Inputs) -> None:
    with pytest.raises(ConfigurationError, match=r"--vary traffic=much: 'much' is no factor"):
        points_of(inputs, parse_axes(["traffic=1,much"]))


def test_a_sweep_is_the_same_however_many_work_at_it(
    inputs: Inputs, service: PlanningService
) -> None:
    texts = ("traffic=1,40", "price.L40S=1x,3x")
    two, one = (swept(inputs, service, *texts, workers=workers) for workers in (2, 1))
    assert two == one
    assert two.snapshot == inputs.view.snapshot
    (bought,) = two.plans[0].purchases
    assert bought.usd == 24 * Decimal("2.30")  # one L40S all day
    # Three times 2.30 is dearer than the A100 of gcp, 3.40 EUR.
    assert {offer.provider for offer in two.plans[0].offers} == {"aws"}
    assert {offer.provider for offer in two.plans[1].offers} == {"gcp"}
    costs = [plan.total_usd for plan in two.plans]
    assert costs[0] < costs[2]
    assert all(plan.status is Status.OPTIMAL for plan in two.plans)


def test_an_error_comes_back_from_another_process_with_its_hint() -> None:
    with pytest.raises(ConfigurationError, match="is no change") as caught:
        list(LocalProcesses(1).run(parse_change, ["traffic"]))
    assert caught.value.hint.startswith("write key=value")


def test_results_come_with_the_position_of_their_job() -> None:
    found = dict(LocalProcesses(2).run(parse_change, ["a=1", "b=2", "c=3"]))
    assert {at: str(change) for at, change in found.items()} == {0: "a=1", 1: "b=2", 2: "c=3"}
