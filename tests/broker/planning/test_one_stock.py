"""A machine that its cloud and an aggregator both sell is one machine, up to what is bought."""

from collections import defaultdict

import pytest
from buying import gpus_bought
from provider_runs import NOW, run_of
from tiny_cases import service_entry, workloads

from broker.domain.offer import Offer
from broker.planning.case import build_case
from broker.planning.freshness import NEVER, Freshness
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.kit.recorded import RecordedTransport
from providers.registry import adapters

POOL = "hyperstack/H100/CANADA-1"
SELLERS = ("lambda", "verda", "hyperstack", "scaleway", "runpod", "shadeform", "primeintellect")


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def offers(specs: Specs) -> list[Offer]:
    return [
        offer
        for adapter in adapters(specs, Settings(keys={}), SELLERS)
        for offer in run_of(adapter, RecordedTransport(adapter.name)).offers
    ]


def test_all_that_draw_on_one_pool_name_one_cloud(offers: list[Offer]) -> None:
    sold: dict[str, list[Offer]] = defaultdict(list)
    for one in offers:
        sold[one.limits.stock_pool or one.machine].append(one)
    through_two = [found for found in sold.values() if len({one.provider for one in found}) > 1]
    assert len(through_two) > 40
    for found in through_two:
        assert len({one.cloud for one in found}) == 1
        assert len({one.hardware.shape.gpu for one in found}) == 1


def test_two_doors_sell_no_more_than_there_is(specs: Specs, offers: list[Offer]) -> None:
    # fixtures/hyperstack counts two H100 in Canada; fixtures/primeintellect counts none of them
    own = next(one for one in offers if one.machine == "hyperstack/n3-H100x1/CANADA-1")
    door = next(
        one for one in offers if one.provider == "primeintellect" and one.limits.stock_pool == POOL
    )
    assert (own.stock, door.stock) == ((POOL, 2), None)
    assert own.cloud == door.cloud == "hyperstack"
    assert gpus_bought(3, door) == {door.key: 3}  # as if nobody had counted
    demand = workloads(services=[service_entry(1, 1)])
    report = build_case(demand, [own, door], specs, Freshness(NOW, NEVER, NEVER))
    counted = {one.provider: one for one in report.case.offers}
    assert counted["primeintellect"].stock == (POOL, 2)
    assert gpus_bought(3, *report.case.offers) == {}
    assert sum(gpus_bought(2, *report.case.offers).values()) == 2
