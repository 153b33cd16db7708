"""What every recorded offer keeps to, whoever sells it: what a buyer would check first."""

import re
from collections import defaultdict
from decimal import Decimal

import pytest

from broker.catalog.bands import outside_band, usd_per_gpu_hour
from broker.catalog.gates import Gates, gates_from
from broker.domain.offer import UNKNOWN_REGION, Fabric, Link, Offer, Payment, PriceKind
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.kit.recorded import recorded_client
from providers.registry import adapters

UNPLACED = {("jarvislabs", "europe-01")}
"""Regions of which the provider says no more than the continent."""
SWITCHED_FORMS = {"SXM", "NVL72"}


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def offers(specs: Specs) -> list[Offer]:
    found: list[Offer] = []
    for adapter in adapters(specs, Settings()):
        with recorded_client(adapter.name) as http:
            results = list(adapter.offers_in(adapter.fetch(http)))
        found += [one for one in results if isinstance(one, Offer)]
    return found


def test_every_known_region_has_a_country_and_a_distance_to_users(
    specs: Specs, offers: list[Offer]
) -> None:
    placed = [one for one in offers if one.place.region != UNKNOWN_REGION]
    nowhere = {
        (one.provider, one.place.region)
        for one in placed
        if one.place.country is None or specs.rtt_s("us-east", one.place) is None
    }
    assert placed
    assert nowhere <= UNPLACED


def test_the_link_of_a_node_is_what_its_gpus_can_have(specs: Specs, offers: list[Offer]) -> None:
    for one in offers:
        shape, gpu = one.hardware.shape, specs.gpu(one.hardware.shape.gpu)
        match shape.link:
            case Link.SINGLE:
                assert shape.gpu_count <= 1, one.key
            case Link.NVSWITCH:
                assert gpu.form in SWITCHED_FORMS, one.key
            case Link.XGMI:
                assert (gpu.vendor, gpu.form) == ("AMD", "OAM"), one.key
            case Link.UNKNOWN:
                assert gpu.vendor not in ("NVIDIA", "AMD"), one.key
            case _:
                assert gpu.vendor in ("NVIDIA", "AMD"), one.key


def test_pods_and_hosts_of_markets_have_no_fabric_to_train_over(offers: list[Offer]) -> None:
    for one in offers:
        if one.provider in ("runpod", "vast"):
            assert one.hardware.shape.fabric is Fabric.UNKNOWN, one.key
        if one.provider == "lambda":
            assert one.hardware.shape.fabric_gbit_per_s is None, one.key


def test_a_size_named_with_a_count_has_that_count(offers: list[Offer]) -> None:
    named = [(one, re.search(r"(?:^|-|_)(\d+)x", one.instance_type)) for one in offers]
    counted = [(one, int(found[1])) for one, found in named if found]
    assert counted
    for one, count in counted:
        assert one.hardware.shape.gpu_count == count, one.key


def test_a_commitment_costs_less_than_on_demand_and_not_a_fifth(offers: list[Offer]) -> None:
    firm = {
        one.machine: one.effective_usd_per_hour
        for one in offers
        if one.price_kind is PriceKind.ON_DEMAND
    }
    committed = [one for one in offers if one.commitment and one.machine in firm]
    assert committed
    for one in committed:
        on_demand = firm[one.machine]
        assert on_demand / 5 < one.effective_usd_per_hour < on_demand, one.key


def test_what_is_paid_upfront_is_the_whole_term(offers: list[Offer]) -> None:
    prepaid = [
        one for one in offers if one.commitment and one.commitment.payment is Payment.ALL_UPFRONT
    ]
    assert prepaid
    for one in prepaid:
        assert one.commitment is not None
        hours = one.commitment.term_months * 730
        assert one.usd_per_hour == 0
        quoted = (one.quote.amount, one.quote.amount * hours)  # a fee, or a rate of each hour
        assert one.commitment.upfront_usd in quoted, one.key


def test_spot_is_a_discount_but_for_the_traps(offers: list[Offer]) -> None:
    firm = {
        one.machine: one.usd_per_hour for one in offers if one.price_kind is PriceKind.ON_DEMAND
    }
    spot = [one for one in offers if one.price_kind is PriceKind.SPOT and one.machine in firm]
    dear = {one.machine for one in spot if one.usd_per_hour >= firm[one.machine]}
    assert dear == {
        "azure/Standard_ND96isr_H200_v5/polandcentral",
        "azure/Standard_ND96isr_H200_v5/swedencentral",
        "vast/m4417-4xB200/US",
    }
    cheap = {one.machine for one in spot if one.usd_per_hour <= firm[one.machine] / 20}
    assert cheap == {"vast/m4420-1xA100-40-SXM/Bavaria, DE"}


def test_sizes_of_one_machine_cost_about_the_same_per_gpu(offers: list[Offer]) -> None:
    """Catches a price per GPU that is taken for the whole pod, or the other way round."""
    prices: dict[tuple[str, str, str, str, str], list[Decimal]] = defaultdict(list)
    for one in offers:
        if one.provider in ("runpod", "lambda", "vast") and one.commitment is None:
            gpu = one.hardware.shape.gpu
            host = one.limits.stock_pool
            key = (one.provider, gpu, f"{one.tier}{host}", one.place.region, one.price_kind)
            prices[key].append(usd_per_gpu_hour(one))
    assert any(len(found) > 1 for found in prices.values())
    for key, found in prices.items():
        assert max(found) <= min(found) * Decimal("1.25"), key


@pytest.fixture(scope="module")
def gates(specs: Specs) -> Gates:
    return gates_from(Settings(), specs.nodes, market=specs.market, sold_in=specs.sold_in)


def test_no_recorded_price_is_implausible_but_five_bids(offers: list[Offer], gates: Gates) -> None:
    held = {one.key: usd_per_gpu_hour(one) for one in offers if outside_band(one, gates.bands)}
    assert held == {
        "vast/m4402-1xH100-SXM/US@spot": Decimal("0.44"),
        "vast/m4407-2xH100-PCIe/United Kingdom, GB@spot": Decimal("0.3413"),
        "vast/m4408-1xH100-NVL/The Netherlands, NL@spot": Decimal("0.4"),
        "vast/m4413-1xH200-NVL/California, US@spot": Decimal("0.4667"),
        "vast/m4420-1xA100-40-SXM/Bavaria, DE@spot": Decimal("0.01"),
    }
