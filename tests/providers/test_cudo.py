"""CUDO Compute: a machine is the sum of its parts, and one without a price has none."""

from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue
from reply_changes import Altered, Record, json_change

from broker.domain.offer import Offer, Payment, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.cudo import CudoCompute
from providers.kit.access import Access
from providers.kit.recorded import RecordedTransport

Edit = Callable[[Record], None]
H100 = "sapphire-rapids-h100"
NORWAY = "no-kristiansand-1"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run(specs: Specs, edit: Edit = lambda row: None) -> list[Offer | Rejection]:
    """Translate the recordings with each machine type edited."""

    def change(body: JsonValue) -> JsonValue:
        assert isinstance(body, dict)
        rows = body["machineTypes"]
        assert isinstance(rows, list)
        for row in rows:
            assert isinstance(row, dict)
            edit(row)
        return body

    cloud = CudoCompute(specs, Access())
    with httpx.Client(transport=Altered(RecordedTransport("cudo"), json_change(change))) as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def only(
    specs: Specs, edit: Edit = lambda row: None, *, machine_type: str = H100
) -> list[Offer | Rejection]:
    """Translate one machine type of Kristiansand, edited."""

    def change(row: Record) -> None:
        if (row["machineType"], row["dataCenterId"]) == (machine_type, NORWAY):
            edit(row)
        else:
            row["gpuModel"] = ""

    found = run(specs, change)
    return [row for row in found if isinstance(row, Offer) or row.reason != "not_a_gpu"]


def offers(rows: list[Offer | Rejection]) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer)]


def test_a_price_is_the_sum_of_all_that_a_machine_needs(specs: Specs) -> None:
    (offer,) = [one for one in offers(only(specs)) if one.instance_type.endswith("_8x96v192gb")]
    # 8 GPUs, 96 vCPUs, 192 GiB, an address, 100 GiB of disk
    gpus, host, disk = Decimal("14.32"), Decimal("0.5472") + Decimal("0.96"), Decimal("0.013")
    assert offer.usd_per_hour == gpus + host + Decimal("0.0055") + disk == Decimal("15.8457")
    assert offer.components is not None
    assert offer.components.gpus_usd == Decimal("14.32")
    assert offer.components.host_usd == Decimal("1.5127")
    assert offer.components.disk_usd == Decimal("0.013")


def test_components_add_up_to_the_price(specs: Specs) -> None:
    for offer in offers(run(specs)):
        parts = offer.components
        assert parts is not None
        assert parts.gpus_usd + parts.host_usd + parts.disk_usd == offer.usd_per_hour, offer.key


def test_a_machine_is_described_as_it_is_priced(specs: Specs) -> None:
    hardware = offers(only(specs))[1].hardware
    assert (hardware.shape.gpu, hardware.shape.gpu_count) == ("H100-SXM", 2)
    assert (hardware.vcpus, hardware.host_memory_gib) == (24, 48)
    assert hardware.local_disk_gb == pytest.approx(107.4, abs=0.1)
    assert hardware.virtualization is Virtualization.VM


@pytest.mark.parametrize(
    "part",
    ["gpuPriceHr", "vcpuPriceHr", "memoryGibPriceHr", "minStorageGibPriceHr", "ipv4PriceHr"],
)
@pytest.mark.parametrize("price", [None, {"value": "0"}, {"value": "-1"}])
def test_a_part_without_a_price_leaves_no_offer(specs: Specs, part: str, price: JsonValue) -> None:
    found = only(specs, lambda row: row.update({part: price}))
    assert not offers(found)
    assert [row.reason for row in found if isinstance(row, Rejection)] == ["no_price"]


@pytest.mark.parametrize("price", [{"value": "NaN"}, {"value": ""}, {}, "1.79"])
def test_a_price_that_cannot_be_read_spoils_its_own_row_alone(
    specs: Specs, price: JsonValue
) -> None:
    def change(row: Record) -> None:
        if row["machineType"] == H100:
            row["gpuPriceHr"] = price

    found = run(specs, change)
    assert [one for one in offers(found) if "a40" in one.instance_type]
    assert not [one for one in offers(found) if H100 in one.instance_type]


def test_sizes_go_up_to_what_one_host_has_free(specs: Specs) -> None:
    found = offers(only(specs, lambda row: row.update(maxGpuFree=5)))
    assert [one.hardware.shape.gpu_count for one in found] == [1, 2, 4]


def test_a_size_for_which_the_host_has_no_cores_is_left_out(specs: Specs) -> None:
    found = offers(only(specs, lambda row: row.update(maxVcpuFree=30)))
    assert [one.hardware.shape.gpu_count for one in found] == [1, 2]


def test_a_size_is_moved_into_the_limits_of_its_type(specs: Specs) -> None:
    few = offers(only(specs, lambda row: row.update(maxVcpuPerGpu=8)))[0].hardware
    assert (few.vcpus, few.host_memory_gib) == (8, 24)
    many = offers(only(specs, lambda row: row.update(minVcpuPerGpu=16)))[0].hardware
    assert (many.vcpus, many.host_memory_gib) == (16, 24)
    large = offers(only(specs, lambda row: row.update(minMemoryGib=64)))[0].hardware
    assert (large.vcpus, large.host_memory_gib) == (16, 64)  # a quarter of a vCPU a GiB at least


@pytest.mark.parametrize(
    ("limits", "gpus"),
    [
        ({"maxVcpuPerGpu": 2, "minVcpu": 4}, [2, 4, 8]),  # one GPU may have two cores, of four
        ({"maxVcpuPerGpu": 12, "minMemoryGib": 64}, [2, 4, 8]),  # one may have 12 cores, of 16
    ],
)
def test_a_size_below_what_its_type_has_at_the_least_is_left_out(
    specs: Specs, limits: dict[str, JsonValue], gpus: list[int]
) -> None:
    found = offers(only(specs, lambda row: row.update({"maxGpuFree": 8} | limits)))
    firm = [one for one in found if one.price_kind is PriceKind.ON_DEMAND]
    assert [int(one.hardware.shape.gpu_count) for one in firm] == gpus


def test_the_stock_is_that_of_the_data_centre(specs: Specs) -> None:
    found = offers(only(specs))
    assert {one.stock for one in found} == {(f"cudo/{NORWAY}/{H100}", 32)}


def test_a_commitment_has_its_own_prices(specs: Specs) -> None:
    term = {
        "commitmentTerm": "COMMITMENT_TERM_6_MONTHS",
        "gpuPriceHr": {"value": "1.50"},
        "vcpuPriceHr": {"value": "0.005"},
        "memoryGibPriceHr": {"value": "0.004"},
    }
    found = offers(only(specs, lambda row: row.update(prices=[term])))
    (offer,) = [
        one for one in found if one.price_kind is PriceKind.RESERVED and one.hardware.vcpus == 12
    ]
    assert offer.usd_per_hour == Decimal("1.6745")  # 1.50 + 12 × 0.005 + 24 × 0.004 + 0.0185
    assert offer.commitment is not None
    assert (offer.commitment.term_months, offer.commitment.payment) == (6, Payment.NO_UPFRONT)


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        ({"commitmentTerm": "COMMITMENT_TERM_6_MONTHS", "gpuPriceHr": {"value": "1"}}, "no_price"),
        ({"commitmentTerm": "COMMITMENT_TERM_FOREVER"}, "unknown_term"),
        ({"gpuPriceHr": {"value": "1"}}, "missing_field"),
    ],
)
def test_a_commitment_is_never_filled_from_the_prices_on_demand(
    specs: Specs, term: Record, reason: str
) -> None:
    found = only(specs, lambda row: row.update(prices=[term]))
    assert {one.price_kind for one in offers(found)} == {PriceKind.ON_DEMAND}
    assert [row.reason for row in found if isinstance(row, Rejection)] == [reason]


def test_what_is_no_offer_says_why(specs: Specs) -> None:
    found = {row.subject: row.reason for row in run(specs) if isinstance(row, Rejection)}
    assert found == {
        "intel-broadwell-v100 in us-newyork-1": "ambiguous_gpu",
        "epyc-milan in se-smedjebacken-1": "not_a_gpu",
        "sapphire-rapids-h100-sold-out in no-kristiansand-1": "no_capacity",
        "ice-lake-rtx-a6000 in ca-montreal-3": "no_price",
        "epyc-rome-h100-nvl in us-carlsbad-1": "no_price",
    }


def test_a_type_listed_twice_is_one_offer(specs: Specs) -> None:
    def twice(body: JsonValue) -> JsonValue:
        assert isinstance(body, dict)
        rows = body["machineTypes"]
        assert isinstance(rows, list)
        return {"machineTypes": [*rows[:1], *rows[:1]]}

    cloud = CudoCompute(specs, Access())
    with httpx.Client(transport=Altered(RecordedTransport("cudo"), json_change(twice))) as http:
        found = list(cloud.offers_in(cloud.fetch(http)))
    assert len(offers(found)) == 4
    assert {row.reason for row in found if isinstance(row, Rejection)} == {"duplicate_offer"}


def test_a_data_centre_is_placed_by_its_id(specs: Specs) -> None:
    places = {one.place.region: one.place.country for one in offers(run(specs))}
    assert places[NORWAY] == "NO"
    assert None not in places.values()


def test_a_new_data_centre_lies_in_the_country_of_its_id(specs: Specs) -> None:
    found = offers(only(specs, lambda row: row.update(dataCenterId="gb-bournemouth-1")))
    assert {(one.place.country, one.place.continent) for one in found} == {("GB", "eu")}
