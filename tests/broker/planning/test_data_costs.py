"""What data costs at a place, worked by hand: weights, data sets, checkpoints.

Llama 3.1 8B has 8.03 billion parameters: 16.06 GB in 16 bits, 112.42 GB of checkpoint at 14 B each.
"""

from datetime import timedelta
from decimal import Decimal

import pytest
from batch_cases import batch, daily
from tiny_cases import offer, run_entry, service_entry, serving, training, workloads

from broker.domain.offer import Offer, Place
from broker.domain.workload import Workloads
from broker.planning.data_costs import DataCosts
from broker.specs.load import Specs, load_specs

NEAR, FAR = "aws/us-east-1", "aws/ca-central-1"
USD_PER_GB = Decimal("0.02")
"""Between the two regions, either way."""


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def node(provider: str = "aws", region: str = "us-east-1", *, gpus: int = 8) -> Offer:
    place = Place(region=region, country="US", continent="us")
    return offer("10", provider=provider, gpus=gpus).model_copy(update={"place": place})


def file(**run: object) -> Workloads:
    return workloads(
        services=[service_entry(1, 1, weights={"at": FAR})], training=[run_entry(3600, **run)]
    )


def test_a_replica_pays_for_its_part_of_its_nodes_weights(specs: Specs) -> None:
    of = file()
    costs = DataCosts(of, specs)
    candidate = serving(node(), [1], gpus=2).candidate
    found = costs.serving(of.services[0], candidate, node())
    hourly = Decimal("16.06") * Decimal("0.08") / 730 / 4
    assert float(found.storage_usd_per_hour) == pytest.approx(float(hourly))
    assert found.egress_usd == Decimal("16.06") * USD_PER_GB / 4
    assert costs.warnings == set()


def test_weights_of_a_hub_and_of_the_same_region_cost_nothing_to_bring(specs: Specs) -> None:
    for weights in (None, {"at": NEAR}):
        of = workloads(services=[service_entry(1, 1, weights=weights)])
        found = DataCosts(of, specs).serving(of.services[0], serving(node(), [1]).candidate, node())
        assert found.egress_usd == 0


def test_a_price_that_no_source_states_is_the_dearest_and_is_told(specs: Specs) -> None:
    of = file()
    costs = DataCosts(of, specs)
    unknown = node("nobody", "nowhere", gpus=1)
    found = costs.serving(of.services[0], serving(unknown, [1]).candidate, unknown)
    hourly = Decimal("16.06") * specs.storage_prices.dearest("block") / 730
    assert float(found.storage_usd_per_hour) == pytest.approx(float(hourly))
    assert any("what a volume costs" in text for text in costs.warnings)


@pytest.mark.parametrize(
    ("nodes", "usd_per_month"),
    [
        (1, Decimal("1224.84") * Decimal("0.08")),  # a volume of the node
        (2, Decimal(2000) * Decimal("0.6")),  # 2 TB of the class that gives 1 GB/s a TB
    ],
)
def test_a_restartable_run_keeps_data_and_two_checkpoints_for_its_window(
    specs: Specs, nodes: int, usd_per_month: Decimal
) -> None:
    of = file(restartable=True, data={"at": FAR, "size": "1 TB"})
    candidate = training(node(), nodes=nodes).candidate
    found = DataCosts(of, specs).run(of.training[0], candidate, node())
    assert float(found.storage_usd) == pytest.approx(float(usd_per_month * 24 / 730), abs=1e-6)
    assert found.egress_usd == 1000 * USD_PER_GB
    assert found.result_egress_usd == Decimal("16.06") * USD_PER_GB


def test_a_run_in_one_piece_keeps_its_last_state_for_as_long_as_it_works(specs: Specs) -> None:
    """An hour of work is a slot of 8 h; without a data set nothing is brought or brought back."""
    of = file()
    found = DataCosts(of, specs).run(of.training[0], training(node()).candidate, node())
    kept = Decimal("112.42") * Decimal("0.08") * 8 / 730
    assert float(found.storage_usd) == pytest.approx(float(kept), abs=1e-6)
    assert (found.egress_usd, found.result_egress_usd) == (0, 0)


def test_a_longest_duration_is_how_long_data_is_kept(specs: Specs) -> None:
    of = file(restartable=True, max_duration=timedelta(hours=12))
    found = DataCosts(of, specs).run(of.training[0], training(node()).candidate, node())
    kept = 2 * Decimal("112.42") * Decimal("0.08") * 12 / 730
    assert float(found.storage_usd) == pytest.approx(float(kept), abs=1e-6)


def test_adapters_make_small_checkpoints(specs: Specs) -> None:
    of = file(method="lora")
    found = DataCosts(of, specs).run(of.training[0], training(node()).candidate, node())
    assert 0 < found.storage_usd < Decimal("0.001")


def test_a_day_of_a_batch_job_pays_for_the_way_of_its_data_alone(specs: Specs) -> None:
    of = daily(1, data={"at": FAR, "size": "1 TB"})
    (day,) = of.runs
    found = DataCosts(of, specs).run(day, batch(node(), run=day.name).candidate, node())
    assert found.egress_usd == 1000 * USD_PER_GB
    assert (found.result_egress_usd, found.storage_usd) == (0, 0)
