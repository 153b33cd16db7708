"""Shadeform: cents and dollars in one reply, forms that names tell, and whose machine it is."""

from collections.abc import Callable
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr
from reply_changes import Altered, Record, json_change

from broker.domain.offer import UNKNOWN_REGION, Fabric, Link, Offer, PriceKind, Rejection
from broker.domain.offer import Virtualization as Virt
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.recorded import RecordedTransport
from providers.shadeform import URL, Shadeform

Edit = Callable[[Record], None]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def keep(row: Record) -> None:
    del row


def only(specs: Specs, name: str, edit: Edit = keep) -> list[Offer | Rejection]:
    """Translate one type of the recording, named cloud_type, edited."""

    def change(body: JsonValue) -> JsonValue:
        assert isinstance(body, dict)
        types = body["instance_types"]
        assert isinstance(types, list)
        rows = [one for one in types if isinstance(one, dict)]
        kept = [one for one in rows if f"{one['cloud']}_{one['shade_instance_type']}" == name]
        assert len(kept) == 1
        edit(kept[0])
        return {**body, "instance_types": [*kept]}

    cloud = Shadeform(specs, Access())
    transport = Altered(RecordedTransport("shadeform"), json_change(change))
    with httpx.Client(transport=transport) as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def offers(rows: list[Offer | Rejection]) -> list[Offer]:
    found = [one for one in rows if isinstance(one, Offer)]
    assert len(found) == len(rows), rows
    return found


def reason(rows: list[Offer | Rejection]) -> str:
    (one,) = rows
    assert isinstance(one, Rejection)
    return one.reason


def stated(**fields: JsonValue) -> Edit:
    """Change what the configuration says."""

    def edit(row: Record) -> None:
        configuration = row["configuration"]
        assert isinstance(configuration, dict)
        configuration.update(fields)

    return edit


def entries(*rows: Record) -> Edit:
    """Change where a type is to be had."""

    def edit(row: Record) -> None:
        row["availability"] = [*rows]

    return edit


def at(region: str, **fields: JsonValue) -> Record:
    return {"region": region, "available": True, "rental_type": "on_demand", **fields}


def test_a_price_is_in_cents_of_the_whole_machine(specs: Specs) -> None:
    chicago, dulles = offers(only(specs, "lambdalabs_A100_sxm4_80Gx8"))
    assert (chicago.place.region, dulles.place.region) == ("chicago-usa-2", "dulles-usa-1")
    assert chicago.usd_per_hour == Decimal("22.32")  # 2232 cents for eight
    assert chicago.hardware.shape.gpu_count == 8
    assert chicago.billing.step_s == 1


def test_a_spot_entry_has_a_price_of_its_own_in_dollars(specs: Specs) -> None:
    refused, spot = only(specs, "lambdalabs_B200x8")
    assert isinstance(refused, Rejection)
    assert isinstance(spot, Offer)
    assert refused.reason == "no_capacity"
    assert spot.price_kind is PriceKind.SPOT
    assert spot.usd_per_hour == Decimal("26.76")  # and not 53.52, nor 0.2676


def test_both_rental_types_of_a_region_are_one_machine(specs: Specs) -> None:
    spot = at("dulles-usa-1", rental_type="spot", hourly_price="26.76")
    firm, other = offers(only(specs, "lambdalabs_B200x8", entries(at("dulles-usa-1"), spot)))
    assert firm.machine == other.machine
    assert (firm.usd_per_hour, other.usd_per_hour) == (Decimal("53.52"), Decimal("26.76"))
    assert firm.limits.stock_pool == other.limits.stock_pool


@pytest.mark.parametrize("price", [None, "0", "-1"])
def test_a_spot_entry_without_a_price_is_not_filled_from_the_type(
    specs: Specs, price: str | None
) -> None:
    one = at("dulles-usa-1", rental_type="spot", hourly_price=price)
    assert reason(only(specs, "lambdalabs_B200x8", entries(one))) == "no_price"


@pytest.mark.parametrize("kind", ["on_demand", None])
def test_a_price_of_its_own_that_is_not_said_to_be_spot_is_refused(
    specs: Specs, kind: str | None
) -> None:
    one = at("dulles-usa-1", rental_type=kind, hourly_price="26.76")
    assert reason(only(specs, "lambdalabs_B200x8", entries(one))) == "contradicting_prices"


def test_an_entry_without_a_rental_type_is_on_demand(specs: Specs) -> None:
    one: Record = {"region": "dulles-usa-1", "available": True}
    (offer,) = offers(only(specs, "lambdalabs_B200x8", entries(one)))
    assert (offer.price_kind, offer.usd_per_hour) == (PriceKind.ON_DEMAND, Decimal("53.52"))


def test_another_rental_type_is_no_offer(specs: Specs) -> None:
    one = at("dulles-usa-1", rental_type="reserved", hourly_price="20.00")
    assert reason(only(specs, "lambdalabs_B200x8", entries(one))) == "unknown_price_kind"


def test_a_price_of_nothing_is_no_price(specs: Specs) -> None:
    def free(row: Record) -> None:
        row["hourly_price"] = 0

    assert reason(only(specs, "vultr_A16x2", free)) == "no_price"


def test_the_form_in_a_name_outweighs_the_interconnect(specs: Specs) -> None:
    """Crusoe's SXM type says pcie there."""
    (offer,) = offers(only(specs, "crusoe_A100_80G_sxm4x8"))
    assert offer.hardware.shape.gpu == "A100-80-SXM"

    def nameless(row: Record) -> None:  # of a cloud whose types are in no table
        row["cloud"], row["cloud_instance_type"] = "imwt", "a100-80gb-sxm.8x"
        row["shade_instance_type"] = "A100_80Gx8"

    (other,) = offers(only(specs, "crusoe_A100_80G_sxm4x8", nameless))
    assert other.hardware.shape.gpu == "A100-80-SXM"


def test_the_clouds_own_type_outweighs_the_interconnect(specs: Specs) -> None:
    for offer in offers(only(specs, "lambdalabs_A100x8")):
        assert offer.hardware.shape.gpu == "A100-40-SXM"
        assert offer.hardware.shape.link is Link.NVSWITCH


def test_a_form_that_nothing_tells_is_not_guessed(specs: Specs) -> None:
    assert reason(only(specs, "paperspace_H100")) == "ambiguous_gpu"
    (offer,) = offers(only(specs, "paperspace_H100", stated(interconnect="pcie")))
    assert offer.hardware.shape.gpu == "H100-PCIe"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"num_gpus": 4}, "contradicts_known_type"),
        ({"gpu_type": "H100", "vram_per_gpu_in_gb": 80}, "contradicts_known_type"),
        ({"gpu_type": "Z9000"}, "unknown_gpu"),
        ({"vram_per_gpu_in_gb": 80}, "unknown_gpu"),
    ],
)
def test_a_row_that_denies_the_clouds_own_type_is_refused(
    specs: Specs, fields: Record, expected: str
) -> None:
    def alone(row: Record) -> None:
        stated(**fields)(row)
        entries(at("dulles-usa-1"))(row)

    assert reason(only(specs, "lambdalabs_A100x8", alone)) == expected


def test_suffixes_of_types_are_no_gpus(specs: Specs) -> None:
    for name in ("massedcompute_A6000_plusx8", "massedcompute_A6000_basex4"):
        assert offers(only(specs, name))[0].hardware.shape.gpu == "RTXA6000"
    (offer,) = offers(only(specs, "excesssupply_L40x8_2"))
    assert offer.hardware.shape.gpu == "L40"
    assert offer.hardware.shape.gpu_count == 8


def test_accelerators_of_other_makers_are_read(specs: Specs) -> None:
    (offer,) = offers(only(specs, "denvr_Gaudi2x8"))
    assert offer.hardware.shape.gpu == "Gaudi2"
    (other,) = offers(
        only(specs, "denvr_Gaudi2x8", stated(gpu_type="MI300X", vram_per_gpu_in_gb=192))
    )
    assert other.hardware.shape.link is Link.XGMI


def test_a_cpu_type_is_no_offer(specs: Specs) -> None:
    assert reason(only(specs, "hyperstack_cpu_mini")) == "not_a_gpu"
    assert reason(only(specs, "hyperstack_cpu_mini", stated(num_gpus=1))) in (
        "not_a_gpu",
        "unknown_gpu",
    )


def test_the_operator_is_the_cloud_by_our_name(specs: Specs) -> None:
    (offer,) = offers(only(specs, "lambdalabs_H100"))
    assert (offer.provider, offer.operator, offer.cloud) == ("shadeform", "lambda", "lambda")


def test_a_machine_draws_on_the_clouds_own_stock_where_the_region_is_known(specs: Specs) -> None:
    (known,) = offers(only(specs, "lambdalabs_H100_sxm5x8"))
    assert known.limits.stock_pool == "lambda/gpu_8x_h100_sxm5/us-west-3"
    one_of_several = offers(only(specs, "lambdalabs_A6000x4"))[0]
    assert one_of_several.place.region == "dallas-usa-3"
    assert one_of_several.limits.stock_pool == ""


def test_a_type_that_the_cloud_is_not_said_to_call_anything_has_no_shared_stock(
    specs: Specs,
) -> None:
    def nameless(row: Record) -> None:
        row["cloud_instance_type"] = ""

    (offer,) = offers(only(specs, "lambdalabs_H100_sxm5x8", nameless))
    assert offer.limits.stock_pool == ""


def test_the_fabric_of_the_clouds_clusters_is_not_sold_with_a_single_machine(specs: Specs) -> None:
    facts = specs.node("crusoe", "a100-80gb-sxm-ib.8x")
    assert facts is not None
    assert facts.fabric is Fabric.INFINIBAND
    (offer,) = offers(only(specs, "crusoe_A100_80G_sxm4x8"))
    assert offer.hardware.shape.fabric is Fabric.UNKNOWN


def test_a_region_called_any_is_unknown(specs: Specs) -> None:
    (offer,) = offers(only(specs, "denvr_Gaudi2x8", entries(at("any"))))
    assert offer.place.region == UNKNOWN_REGION


def test_a_region_in_no_table_lies_where_its_display_name_says(specs: Specs) -> None:
    new = at("topeka-usa-3", display_name="US, Topeka, KS")
    far = at("oslo-norway-9", display_name="NO, Oslo")
    kansas, norway = offers(only(specs, "denvr_Gaudi2x8", entries(new, far)))
    assert (kansas.place.region, kansas.place.country) == ("topeka-usa-3", "US")
    assert kansas.place.latitude_deg == pytest.approx(38.5, abs=1)
    assert norway.place.country == "NO"


@pytest.mark.parametrize(
    ("display_name", "country", "latitude_deg"),
    [("Oslo, Norway", "NO", 59.9), ("Topeka, KS, USA", "US", 38.5), ("Augusta, USA", "US", 39.8)],
)
def test_a_display_name_may_end_with_the_country(
    specs: Specs, display_name: str, country: str, latitude_deg: float
) -> None:
    new = at("somewhere-3", display_name=display_name)
    (offer,) = offers(only(specs, "denvr_Gaudi2x8", entries(new)))
    assert offer.place.country == country
    assert offer.place.latitude_deg == pytest.approx(latitude_deg, abs=1)


def test_an_entry_that_cannot_be_read_leaves_its_neighbours(specs: Specs) -> None:
    broken: Record = {"region": "dulles-usa-1", "available": "perhaps"}
    bad, good = only(specs, "denvr_Gaudi2x8", entries(broken, at("houston-usa-1")))
    assert isinstance(bad, Rejection)
    assert bad.reason == "unreadable_row"
    assert isinstance(good, Offer)


def test_bare_metal_and_containers_are_told_apart(specs: Specs) -> None:
    def deployed(kind: str) -> Edit:
        return lambda row: row.update(deployment_type=kind)

    found = {
        kind: offers(only(specs, "vultr_A16x2", deployed(kind)))[0].hardware.virtualization
        for kind in ("vm", "container", "baremetal")
    }
    assert found == {"vm": Virt.VM, "container": Virt.CONTAINER, "baremetal": Virt.BARE_METAL}


def test_the_key_travels_in_a_header_of_its_own(specs: Specs) -> None:
    sent: list[httpx.Request] = []
    inner = RecordedTransport("shadeform")

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return inner.handle_request(request)

    cloud = Shadeform(specs, Access({"api_key": SecretStr("example-key")}))
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(cloud.fetch(http))
    assert [(str(one.url), one.headers["X-API-KEY"]) for one in sent] == [(URL, "example-key")]
