"""Prime Intellect: what a machine costs with its defaults, and whose machine it is."""

from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from itertools import chain

import httpx
import pytest
from pydantic import JsonValue
from reply_changes import Altered, Record, json_change

from broker.domain.errors import ProviderError
from broker.domain.offer import Fabric, Link, Offer, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.http import check_status
from providers.kit.recorded import RecordedTransport, recordings
from providers.primeintellect.cloud import ATTEMPTS, PAGE_ROWS, PrimeIntellect

Edit = Callable[[Record], None]
Sku = tuple[str, str, str]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def keep(row: Record) -> None:
    del row


def run(specs: Specs, transport: httpx.BaseTransport) -> list[Offer | Rejection]:
    cloud = PrimeIntellect(specs, Access())
    with httpx.Client(transport=transport) as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def items(body: JsonValue) -> list[Record]:
    assert isinstance(body, dict)
    rows = body["items"]
    assert isinstance(rows, list)
    return [row for row in rows if isinstance(row, dict)]


def sku_of(row: Record) -> tuple[JsonValue, ...]:
    return row["provider"], row["cloudId"], row["dataCenter"]


def recorded(specs: Specs, edit: Edit = keep) -> list[Offer | Rejection]:
    """Translate the recordings with each row edited."""

    def change(body: JsonValue) -> JsonValue:
        for row in items(body):
            edit(row)
        return body

    return run(specs, Altered(RecordedTransport("primeintellect"), json_change(change)))


def only(specs: Specs, sku: Sku, edit: Edit = keep) -> Offer | Rejection:
    """Translate one recorded row, edited."""
    bodies = [one.response.body for one in recordings("primeintellect") if one.replay]
    row = deepcopy(
        next(row for row in chain.from_iterable(map(items, bodies)) if sku_of(row) == sku)
    )
    edit(row)
    body: JsonValue = {"items": [row], "totalCount": 1}
    transport = Altered(RecordedTransport("primeintellect"), json_change(lambda _: body))
    (one,) = run(specs, transport)
    return one


def offer(specs: Specs, sku: Sku, edit: Edit = keep) -> Offer:
    one = only(specs, sku, edit)
    assert isinstance(one, Offer), one
    return one


def price(**fields: JsonValue) -> Edit:
    def edit(row: Record) -> None:
        prices = row["prices"]
        assert isinstance(prices, dict)
        prices.update(fields)

    return edit


def named(rows: list[Offer | Rejection], name: str) -> list[Offer]:
    return [one for one in rows if isinstance(one, Offer) and one.instance_type == name]


H200 = ("nebius", "gpu-h200-sxm_8gpu-128vcpu-1600gb", "us-central1")
A100_POD = ("runpod", "NVIDIA A100 80GB PCIe", "US-KS-2")


def test_offers_of_every_page_are_there(specs: Specs) -> None:
    offers = [one for one in recorded(specs) if isinstance(one, Offer)]
    assert len(offers) > 100  # of which one page has 100 rows at most
    assert any(one.operator == "runpod" for one in offers)  # the second page
    assert any(one.operator == "crusoe" for one in offers)  # the first one


def test_a_price_is_of_the_whole_machine_and_without_noise(specs: Specs) -> None:
    assert offer(specs, H200).usd_per_hour == Decimal("21.344")
    pod = offer(specs, A100_POD)
    assert pod.usd_per_hour == pod.quote.amount == Decimal("1.6568")  # 1.6567999999999998


def test_on_demand_and_spot_are_one_machine(specs: Specs) -> None:
    firm, spot = named(recorded(specs), "datacrunch__1x__1L40S.20V")
    assert firm.machine == spot.machine
    assert (firm.price_kind, firm.usd_per_hour) == (PriceKind.ON_DEMAND, Decimal("0.91"))
    assert (spot.price_kind, spot.usd_per_hour) == (PriceKind.SPOT, Decimal("0.26"))
    assert firm.limits.stock_pool == spot.limits.stock_pool == "verda/1L40S.20V/FIN-02"


def test_a_row_may_say_spot_by_its_flag_or_by_its_id(specs: Specs) -> None:
    flagged = offer(specs, H200, edit=lambda row: row.update(isSpot=True))
    assert flagged.price_kind is PriceKind.SPOT
    suffix = offer(
        specs, ("datacrunch", "1L40S.20V_SPOT", "FIN-02"), lambda row: row.update(isSpot=None)
    )
    assert suffix.price_kind is PriceKind.SPOT


def test_a_community_price_is_the_one_that_counts(specs: Specs) -> None:
    assert offer(specs, H200, edit=price(communityPrice=20.5)).usd_per_hour == Decimal("20.5")
    zero = only(specs, H200, edit=price(communityPrice=0))
    assert isinstance(zero, Rejection)
    assert zero.reason == "no_price"


@pytest.mark.parametrize("amount", [None, 0, 0.0, -1])
def test_without_a_price_there_is_no_offer(specs: Specs, amount: float | None) -> None:
    one = only(specs, H200, edit=price(onDemand=amount))
    assert isinstance(one, Rejection)
    assert one.reason == "no_price"


def default(part: str, count: float, per_unit: float | None, *, included: bool | None) -> Edit:
    def edit(row: Record) -> None:
        row[part] = {
            "defaultCount": count,
            "pricePerUnit": per_unit,
            "defaultIncludedInPrice": included,
        }

    return edit


@pytest.mark.parametrize("included", [False, None])
def test_a_default_that_is_not_included_is_added(specs: Specs, *, included: bool | None) -> None:
    one = offer(specs, H200, edit=default("disk", 500, 0.00014, included=included))
    # 21.344 and 500 GB at 0.00014
    assert one.usd_per_hour == Decimal("21.414")
    assert one.components is not None
    assert one.components.gpus_usd == Decimal("21.344")
    assert one.components.disk_usd == Decimal("0.07")
    other = offer(specs, H200, edit=default("vcpu", 128, 0.01, included=included))
    assert other.usd_per_hour == Decimal("22.624")
    assert other.hardware.vcpus == 128


def test_a_default_that_is_included_or_has_no_price_is_not_added(specs: Specs) -> None:
    for edit in (
        default("disk", 500, 0.00014, included=True),
        default("disk", 500, None, included=False),
    ):
        one = offer(specs, H200, edit=edit)
        assert (one.usd_per_hour, one.components) == (Decimal("21.344"), None)


def test_a_pod_of_runpod_has_its_disk_in_the_price_whatever_the_flag_says(specs: Specs) -> None:
    pod = offer(specs, A100_POD)
    # 1.64 as RunPod lists it, and 120 GB at 0.00014
    assert pod.usd_per_hour == Decimal("1.64") + 120 * Decimal("0.00014")
    assert pod.components is None
    assert any("120 GB of disk" in text for text in pod.warnings)
    assert pod.hardware.virtualization is Virtualization.CONTAINER


def test_terms_that_are_not_understood_are_told(specs: Specs) -> None:
    variable = offer(specs, H200, edit=price(isVariable=True))
    assert any("variable" in text for text in variable.warnings)
    prepaid = offer(specs, H200, edit=lambda row: row.update(prepaidTime=168))
    assert any("168" in text for text in prepaid.warnings)
    assert prepaid.billing.prepaid
    assert offer(specs, H200).billing.prepaid is None


def test_a_price_in_another_currency_is_refused(specs: Specs) -> None:
    one = only(specs, H200, edit=price(currency="EUR"))
    assert isinstance(one, Rejection)
    assert one.reason == "unknown_currency"


@pytest.mark.parametrize("status", ["Unavailable", "OUT OF STOCK"])
def test_what_is_not_in_stock_is_no_offer(specs: Specs, status: str) -> None:
    one = only(specs, H200, edit=lambda row: row.update(stockStatus=status))
    assert isinstance(one, Rejection)
    assert one.reason == "no_capacity"


def test_how_much_is_in_stock_is_kept_as_it_is_said(specs: Specs) -> None:
    assert offer(specs, A100_POD).limits.stock_level == "low"


def test_a_cpu_node_is_no_offer(specs: Specs) -> None:
    refused = [one for one in recorded(specs) if isinstance(one, Rejection)]
    cpus = {one.subject for one in refused if one.reason == "not_a_gpu"}
    assert cpus == {
        "crusoecloud__1x__c1a.2x",
        "datacrunch__1x__CPU.4V.16G",
        "latitude__1x__c2-small-x86",
    }


def test_of_a_sku_that_stands_twice_the_cheaper_counts(specs: Specs) -> None:
    def dear_the_second_time() -> Edit:
        seen: list[JsonValue] = []

        def edit(row: Record) -> None:
            if (row["cloudId"], row["dataCenter"]) == ("gpu_1x_a100_sxm4", "us-east-1"):
                price(onDemand=1.29 if seen else 1.99)(row)
                seen.append(row["cloudId"])

        return edit

    rows = recorded(specs, dear_the_second_time())
    found = named(rows, "lambdalabs__1x__gpu_1x_a100_sxm4")
    assert [one.usd_per_hour for one in found if one.place.region == "us-east-1"] == [
        Decimal("1.29")
    ]


def test_a_gpu_under_the_wrong_name_is_read_off_the_clouds_own_type(specs: Specs) -> None:
    one = offer(specs, ("latitude", "g3-l40s-large", "FRA2"))
    assert one.hardware.shape.gpu == "L40S"  # filed under L40_48GB


def test_the_clouds_own_type_tells_the_form(specs: Specs) -> None:
    socketless = offer(
        specs, ("lambdalabs", "gpu_8x_v100", "us-south-1"), lambda row: row.update(socket=None)
    )
    assert socketless.hardware.shape.gpu == "V100-SXM-16"
    bridged = offer(specs, ("hyperstack", "n3-A100x8-NVLink", "CANADA-1"))
    assert bridged.hardware.shape.gpu == "A100-80-PCIe"
    assert bridged.hardware.shape.link is Link.NVLINK_BRIDGE


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"gpuType": "B200_180GB", "socket": "SXM6"}, "contradicts_known_type"),
        ({"gpuType": "H100_80GB", "socket": "SXM5"}, "contradicts_known_type"),
        ({"gpuType": "Z9000_141GB"}, "unknown_gpu"),
        ({"gpuCount": 4}, "contradicts_known_type"),
        ({"gpuCount": 0}, "not_a_gpu"),
    ],
)
def test_a_row_that_denies_the_clouds_own_type_is_refused(
    specs: Specs, fields: Record, reason: str
) -> None:
    one = only(specs, H200, edit=lambda row: row.update(fields))
    assert isinstance(one, Rejection)
    assert one.reason == reason


def test_a_form_that_nothing_tells_is_not_guessed(specs: Specs) -> None:
    one = only(specs, ("latitude", "g3-a100-large", "FRA"))
    assert isinstance(one, Rejection)
    assert one.reason == "ambiguous_gpu"


@pytest.mark.parametrize("memory_gb", [141, 1128])
def test_memory_of_one_gpu_or_of_all_makes_no_difference(specs: Specs, memory_gb: int) -> None:
    one = offer(specs, H200, edit=lambda row: row.update(gpuMemory=memory_gb))
    assert one.hardware.shape.gpu == "H200-SXM"


def test_a_place_is_where_its_cloud_has_it(specs: Specs) -> None:
    """Prime Intellect says that Lambda's me-west-1 is in Iceland."""
    assert offer(specs, ("lambdalabs", "gpu_8x_a100", "me-west-1")).place.country == "IL"


def test_a_place_that_is_in_no_table_is_in_its_country(specs: Specs) -> None:
    one = offer(specs, H200, edit=lambda row: row.update(dataCenter="new-9", country="NO"))
    assert (one.place.region, one.place.country) == ("new-9", "NO")
    nowhere = offer(specs, H200, edit=lambda row: row.update(dataCenter=None))
    assert (nowhere.place.region, nowhere.place.country) == ("US", "US")


def test_the_stock_is_the_clouds_own(specs: Specs) -> None:
    assert offer(specs, H200).limits.stock_pool == (
        "nebius/gpu-h200-sxm_8gpu-128vcpu-1600gb/us-central1"
    )
    pod = offer(specs, A100_POD)
    assert pod.limits.stock_pool == "runpod/1x NVIDIA A100 80GB PCIe/US-KS-2:secure"


def test_what_is_taken_for_another_clouds_draws_on_its_stock_and_says_so(specs: Specs) -> None:
    """Oblivus has Hyperstack's sizes under names of its own."""
    one = offer(specs, ("oblivus", "A100_NVLINK_80GB", "MON1"))
    assert one.operator == "hyperstack"
    assert one.limits.stock_pool == "hyperstack/A100-NVLink/CANADA-1"
    assert any("taken for" in text for text in one.warnings)
    with_other_parts = offer(
        specs, ("oblivus", "L40", "MON1"), lambda row: row.update(memory={"defaultCount": 99})
    )
    assert with_other_parts.limits.stock_pool == ""


def test_the_fabric_of_the_clouds_clusters_is_not_sold_with_a_single_machine(specs: Specs) -> None:
    assert offer(specs, H200).hardware.shape.fabric is Fabric.UNKNOWN


def test_rows_without_details_are_read(specs: Specs) -> None:
    bare = dict.fromkeys(("disk", "vcpu", "memory", "security", "stockStatus"))
    one = offer(specs, H200, edit=lambda row: row.update(bare))
    assert (one.tier, one.hardware.vcpus) == ("", 128)  # of the known type


class Sometimes(httpx.BaseTransport):
    """Answers with the recorded empty list to the requests whose numbers are given."""

    def __init__(self, *empty: int) -> None:
        self._empty = empty
        (self._nothing,) = [one for one in recordings("primeintellect") if one.name == "empty"]
        self._inner = RecordedTransport("primeintellect")
        self.asked = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.asked in self._empty:
            return self._nothing.reply()
        return self._inner.handle_request(request)


@pytest.mark.parametrize("empty", [(1,), (1, 2), (2,), (1, 3)])
def test_an_empty_page_is_asked_for_again(specs: Specs, empty: tuple[int, ...]) -> None:
    flaky = Sometimes(*empty)
    assert run(specs, flaky) == recorded(specs)
    assert flaky.asked == 2 + len(empty)


@pytest.mark.parametrize("page", [1, 2])
def test_a_page_that_stays_empty_is_a_failure_and_not_a_sell_out(specs: Specs, page: int) -> None:
    flaky = Sometimes(*range(page, page + ATTEMPTS))
    with pytest.raises(ProviderError, match=f"page {page} .* is empty"):
        run(specs, flaky)


def test_rows_that_sold_between_two_pages_end_the_list(specs: Specs) -> None:
    def fewer(body: JsonValue) -> JsonValue:
        rows = items(body)
        is_last = len(rows) < PAGE_ROWS
        return {"items": [] if is_last else [*rows], "totalCount": PAGE_ROWS + (not is_last)}

    found = run(specs, Altered(RecordedTransport("primeintellect"), json_change(fewer)))
    assert len(found) == PAGE_ROWS


def test_an_error_body_is_told(specs: Specs) -> None:
    def refused(request: httpx.Request) -> httpx.Response:
        (error,) = [one for one in recordings("primeintellect") if one.name == "unauthorized"]
        reply = error.reply()
        check_status(reply, request)
        return reply

    with pytest.raises(ProviderError, match="Not authenticated"):
        run(specs, httpx.MockTransport(refused))
