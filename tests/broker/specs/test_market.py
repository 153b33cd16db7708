"""The table of market prices and of where machines are sold."""

from datetime import date
from decimal import Decimal

import pytest

from broker.specs.load import Specs


def test_market_prices_are_of_known_models_and_spot_is_the_cheaper(specs: Specs) -> None:
    assert specs.market
    for gpu, market in specs.market.items():
        assert gpu in specs.gpus
        assert market.on_demand_usd_per_gpu_hour > 0
        assert date(2026, 1, 1) <= market.as_of
        if market.spot_usd_per_gpu_hour is not None:
            assert 0 < market.spot_usd_per_gpu_hour < market.on_demand_usd_per_gpu_hour


def test_the_models_that_most_money_goes_to_have_a_market_price(specs: Specs) -> None:
    expected = {"T4", "L4", "A10G", "L40S", "A100-40-SXM", "A100-80-SXM", "A100-80-PCIe", "RTX4090"}
    expected |= {"H100-SXM", "H100-PCIe", "H100-NVL", "H200-SXM", "B200", "B300", "GB200", "MI300X"}
    assert expected <= specs.market.keys()


def test_more_gpu_costs_more_on_the_market(specs: Specs) -> None:
    ladder = ["RTX4090", "L40S", "A100-80-SXM", "H100-SXM", "H200-SXM", "B200", "B300"]
    prices = [specs.market[gpu].on_demand_usd_per_gpu_hour for gpu in ladder]
    assert prices == sorted(prices)
    assert prices[3] == Decimal("3.09")


@pytest.mark.parametrize(
    ("instance_type", "region", "sold"),
    [
        ("a2-highgpu-4g", "us-central1", True),
        ("a2-highgpu-4g", "europe-north1", False),
        ("a2-megagpu-16g", "us-east1", False),
        ("a2-ultragpu-8g", "us-east5", True),
        ("a3-highgpu-8g", "us-west1", True),
        ("a3-highgpu-8g", "us-east1", False),
        ("G2-standard-4", "europe-north1", False),
        ("g2-standard-96", "europe-west4", True),
        ("n1-standard-8", "africa-south1", True),  # no row: sold wherever it has a price
    ],
)
def test_a_machine_is_sold_where_a_zone_has_it(
    specs: Specs, instance_type: str, region: str, *, sold: bool
) -> None:
    assert (not specs.sold_in.elsewhere("gcp", instance_type, region)) is sold


def test_a_type_of_another_provider_is_not_looked_up(specs: Specs) -> None:
    assert specs.sold_in.elsewhere("aws", "g2-standard-4", "africa-south1") == frozenset()


def test_every_region_that_sells_a_machine_is_known(specs: Specs) -> None:
    for (provider, prefix), regions in specs.sold_in.regions.items():
        assert any(one.startswith(prefix) for _, one in specs.nodes), prefix
        for region in regions:
            assert specs.place(provider, region).country, (prefix, region)
