"""Hot Aisle: cents, bytes, two kinds of machine, and a month that an hourly price would hide."""

from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr
from reply_changes import Altered, Record, json_change

from broker.domain.errors import ProviderError
from broker.domain.offer import Fabric, Link, Offer, Payment, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.hotaisle import HotAisle
from providers.kit.access import Access
from providers.kit.recorded import RecordedTransport

Edit = Callable[[Record], None]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run(specs: Specs, edit: Edit = lambda row: None) -> list[Offer | Rejection]:
    """Translate the recordings with each machine edited."""

    def change(body: JsonValue) -> JsonValue:
        for row in body if isinstance(body, list) else []:
            assert isinstance(row, dict)
            edit(row)
        return body

    cloud = HotAisle(specs, Access())
    with httpx.Client(
        transport=Altered(RecordedTransport("hotaisle"), json_change(change))
    ) as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def offers(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    return {row.instance_type: row for row in rows if isinstance(row, Offer)}


def reasons(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def test_a_price_is_in_cents_of_the_whole_machine(specs: Specs) -> None:
    found = offers(run(specs))
    assert found["vm-mi300x-2-26c"].usd_per_hour == Decimal("5.98")  # 598 cents, 2 × 2.99
    assert found["vm-mi300x-4-52c"].usd_per_hour == Decimal("11.96")  # the text "1196"
    assert found["bm-mi300x-8-104c"].usd_per_hour == Decimal("27.12")  # 8 × 3.39


def test_ram_and_disk_are_in_bytes(specs: Specs) -> None:
    hardware = offers(run(specs))["vm-mi300x-1-13c"].hardware
    assert hardware.host_memory_gib == 224
    assert hardware.local_disk_gb == pytest.approx(12 * 2**40 / 1e9)
    assert hardware.vcpus == 13


def test_a_part_of_a_machine_is_virtual_and_a_whole_one_is_bare_metal(specs: Specs) -> None:
    found = offers(run(specs))
    part, whole = found["vm-mi300x-4-52c"].hardware, found["bm-mi300x-8-104c"].hardware
    assert (part.virtualization, whole.virtualization) == (
        Virtualization.VM,
        Virtualization.BARE_METAL,
    )
    assert (whole.shape.link, whole.shape.fabric) == (Link.XGMI, Fabric.ROCE)
    assert whole.shape.fabric_gbit_per_s == 3200
    assert part.shape.fabric is Fabric.UNKNOWN


def test_a_month_at_the_least_is_a_commitment(specs: Specs) -> None:
    offer = offers(run(specs))["bm-mi300x-8-64c"]
    assert offer.price_kind is PriceKind.RESERVED
    assert offer.commitment is not None
    assert (offer.commitment.term_months, offer.commitment.payment) == (1, Payment.NO_UPFRONT)
    assert offer.billing.minimum_h == 720


@pytest.mark.parametrize(("minutes", "months"), [(40320, 1), (44640, 1), (86400, 2), (129600, 3)])
def test_the_least_time_is_rounded_up_to_months(specs: Specs, minutes: int, months: int) -> None:
    found = run(specs, lambda row: row.update(MinimumReservationMinutes=minutes))
    offer = offers(found)["bm-mi300x-8-104c"]
    assert offer.commitment is not None
    assert offer.commitment.term_months == months


def test_some_hours_at_the_least_are_told(specs: Specs) -> None:
    offer = offers(run(specs))["bm-mi300x-8-104c"]
    assert offer.price_kind is PriceKind.ON_DEMAND
    assert offer.billing.minimum_h == 8
    assert any("8 hours at the least" in one for one in offer.warnings)


def test_half_an_hour_at_the_least_is_no_warning(specs: Specs) -> None:
    offer = offers(run(specs))["vm-mi300x-1-13c"]
    assert (offer.billing.minimum_h, offer.warnings) == (0.5, ())


def test_sizes_of_virtual_machines_share_the_gpus_of_the_largest(specs: Specs) -> None:
    found = offers(run(specs))
    virtual = [one for name, one in found.items() if name.startswith("vm")]
    assert {one.stock for one in virtual} == {("hotaisle/vm", 4)}  # 4 × 1, 2 × 2, 1 × 4 GPUs
    assert found["bm-mi300x-8-104c"].stock == ("hotaisle/bm-mi300x-8-104c/us-michigan-1", 8)


def test_an_unsaid_quantity_is_an_unknown_stock(specs: Specs) -> None:
    found = offers(run(specs, lambda row: row.pop("Quantity", None)))
    assert {one.stock for one in found.values()} == {None}


def test_what_is_no_offer_says_why(specs: Specs) -> None:
    found = reasons(run(specs))
    assert found == {
        "vm-mi300x-1-10c": "no_price",
        "vm-cpu-4c": "not_a_gpu",
        "vm-mi300x-8-104c": "no_capacity",
        "bm-mi3xx-8-96c": "unknown_gpu",
    }


@pytest.mark.parametrize("price", [None, "", "-1", "NaN"])
def test_no_price_is_no_offer(specs: Specs, price: JsonValue) -> None:
    assert not offers(run(specs, lambda row: row.update(OnDemandPrice=price)))


def test_null_means_that_nothing_is_free(specs: Specs) -> None:
    nothing = json_change(lambda body: None if isinstance(body, list) else body)
    cloud = HotAisle(specs, Access())
    with httpx.Client(transport=Altered(RecordedTransport("hotaisle"), nothing)) as http:
        assert list(cloud.offers_in(cloud.fetch(http))) == []


def test_the_first_team_that_was_joined_is_asked_with_the_token(specs: Specs) -> None:
    sent: list[httpx.Request] = []
    inner = RecordedTransport("hotaisle")

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return inner.handle_request(request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(HotAisle(specs, Access({"api_key": SecretStr("k3y")})).fetch(http))
    assert {one.headers["Authorization"] for one in sent} == {"Token k3y"}
    assert [one.url.path for one in sent[1:]] == [
        "/api/teams/my-team/virtual_machines/available/",
        "/api/teams/my-team/bare_metal/available/",
    ]


def test_a_key_without_a_team_is_an_error_that_says_what_to_do(specs: Specs) -> None:
    alone = httpx.MockTransport(lambda _: httpx.Response(200, json={"teams": []}))
    with (
        httpx.Client(transport=alone) as http,
        pytest.raises(ProviderError, match="no team") as error,
    ):
        list(HotAisle(specs, Access()).fetch(http))
    assert "create a team" in error.value.hint
