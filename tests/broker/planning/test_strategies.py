from collections.abc import Mapping

import pytest
from solving import least_usd
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads
from two_shops import two_shops, with_gpu

from broker.domain.case import Case
from broker.domain.gpu import GpuModel
from broker.domain.offer import PriceKind
from broker.domain.policy import Sharing
from broker.domain.strategies import StrategyName, split_name
from broker.planning.strategies import Strategy, strategies
from broker.specs.load import load_specs


@pytest.fixture(scope="module")
def gpus() -> Mapping[str, GpuModel]:
    return load_specs().gpus


def by_name(of: Case, gpus: Mapping[str, GpuModel]) -> dict[StrategyName, Strategy]:
    return {one.name: one for one in strategies(of, gpus)}


def only_case(strategy: Strategy) -> Case:
    (choice,) = strategy.choices
    return choice.case


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (StrategyName.ON_DEMAND_ONLY, {PriceKind.ON_DEMAND}),
        (StrategyName.NO_COMMITMENTS, {PriceKind.ON_DEMAND, PriceKind.SPOT}),
        (StrategyName.NO_SPOT, {PriceKind.ON_DEMAND, PriceKind.RESERVED}),
    ],
)
def test_a_strategy_keeps_the_offers_of_its_price_kinds(
    name: StrategyName, kinds: set[PriceKind], gpus: Mapping[str, GpuModel]
) -> None:
    narrow = only_case(by_name(two_shops(), gpus)[name])
    assert {one.price_kind for one in narrow.offers} == kinds
    assert any(one.on_spot for one in narrow.serving) == (PriceKind.SPOT in kinds)


def test_the_choices_are_what_could_serve_everything(gpus: Mapping[str, GpuModel]) -> None:
    found = by_name(two_shops(), gpus)
    names = {name: [one.name for one in found[name].choices] for name in found}
    assert names[StrategyName.SINGLE_PROVIDER] == ["acme", "bolt"]
    assert names[StrategyName.ONE_GPU_MODEL] == ["A100-80-SXM", "H100-SXM"]
    assert names[StrategyName.ONE_GENERATION] == ["Ampere", "Hopper"]


def test_a_model_that_serves_only_one_of_two_workloads_is_no_choice(
    gpus: Mapping[str, GpuModel],
) -> None:
    big, small = offer("4", provider="acme"), with_gpu(offer("1", provider="bolt"), "L4")
    file = workloads(services=[service_entry(1, 1)], training=[run_entry(3600.0)])
    options = [serving(big, [1]), serving(small, [1])]
    of = case(file, [big, small], serving=options, training=[training(big)])
    found = by_name(of, gpus)
    assert [one.name for one in found[StrategyName.ONE_GPU_MODEL].choices] == ["H100-SXM"]
    assert [one.name for one in found[StrategyName.ONE_GENERATION].choices] == ["Hopper"]


def test_blackwell_ultra_is_of_the_blackwell_generation_and_amd_of_none(
    gpus: Mapping[str, GpuModel],
) -> None:
    names = ("B200", "B300", "MI300X")
    boxes = [with_gpu(offer("4", provider=one.lower()), one) for one in names]
    file = workloads(services=[service_entry(1, 1)])
    of = case(file, boxes, serving=[serving(box, [1]) for box in boxes])
    found = by_name(of, gpus)
    (generation,) = found[StrategyName.ONE_GENERATION].choices
    assert generation.name == "Blackwell"
    assert {one.provider for one in generation.case.offers} == {"b200", "b300"}
    assert len(found[StrategyName.ONE_GPU_MODEL].choices) == 3


def test_without_an_inventory_there_is_none_to_keep(gpus: Mapping[str, GpuModel]) -> None:
    assert StrategyName.INVENTORY_KEPT not in by_name(two_shops(), gpus)


def test_the_inventory_is_kept_and_the_rest_rented_beside_it(
    gpus: Mapping[str, GpuModel],
) -> None:
    narrow = only_case(by_name(two_shops(owned_nodes=1), gpus)[StrategyName.INVENTORY_KEPT])
    assert [one.key for one in narrow.offers] == ["acme/box/here@on_demand"]
    assert least_usd(narrow) == pytest.approx(24 * 4.00)  # one node owned, one rented


def test_owned_nodes_of_another_model_cannot_be_used_on_one_model(
    gpus: Mapping[str, GpuModel],
) -> None:
    choices = by_name(two_shops(owned_nodes=1), gpus)[StrategyName.ONE_GPU_MODEL].choices
    assert {one.name: len(one.case.owned) for one in choices} == {"A100-80-SXM": 0, "H100-SXM": 1}


def test_nodes_are_kept_apart_without_sharing(gpus: Mapping[str, GpuModel]) -> None:
    narrow = only_case(by_name(two_shops(), gpus)[StrategyName.NO_SHARING])
    assert narrow.workloads.policy.sharing is Sharing.SPLIT
    assert narrow.offers == two_shops().offers


@pytest.mark.parametrize("name", list(StrategyName))
@pytest.mark.parametrize("choice", ["", "H100-SXM", "runpod"])
def test_the_name_in_a_plan_is_read_back(name: StrategyName, choice: str) -> None:
    assert split_name(name.of(choice)) == (name, choice)


def test_a_name_of_somebody_else_is_no_strategy() -> None:
    assert split_name("one provider") == (None, "")
