"""JarvisLabs: prices of one GPU in the currency of the account, pools that are listed twice."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue
from reply_changes import Altered, Record, json_change

from broker.domain.offer import Offer, PriceKind, Rejection, Virtualization
from broker.specs.fx import usd_per_unit
from broker.specs.load import Specs, load_specs
from providers.jarvislabs import JarvisLabs
from providers.kit.access import Access
from providers.kit.recorded import RecordedTransport

Edit = Callable[[Record], None]
NOIDA, CHENNAI, EUROPE = "india-noida-01", "india-chennai-01", "europe-01"
READ_ON = date(2026, 9, 20)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run(
    specs: Specs, of_pools: Edit = lambda pool: None, of_answer: Edit = lambda answer: None
) -> list[Offer | Rejection]:
    """Translate the recordings with each pool edited, and each answer around it."""

    def change(body: JsonValue) -> JsonValue:
        assert isinstance(body, dict)
        pools = body.get("server_meta", [])
        assert isinstance(pools, list)
        for pool in pools:
            assert isinstance(pool, dict)
            of_pools(pool)
        of_answer(body)
        return body

    cloud = JarvisLabs(specs, Access())
    recorded = Altered(RecordedTransport("jarvislabs"), json_change(change))
    with httpx.Client(transport=recorded) as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def by_key(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    return {row.key: row for row in rows if isinstance(row, Offer)}


def reasons(rows: list[Offer | Rejection]) -> set[tuple[str, str]]:
    return {(row.subject, row.reason) for row in rows if isinstance(row, Rejection)}


def test_a_price_is_of_one_gpu_and_an_offer_of_a_machine(specs: Specs) -> None:
    found = by_key(run(specs))
    for count, usd in ((1, "2.69"), (2, "5.38"), (4, "10.76"), (8, "21.52")):
        offer = found[f"jarvislabs/{count}x H100/{NOIDA}:vm@on_demand"]
        assert offer.usd_per_hour == Decimal(usd)
        assert offer.hardware.shape.gpu == "H100-SXM"
        assert offer.hardware.vcpus == 24 * count
        assert offer.hardware.host_memory_gib == pytest.approx(200e9 * count / 2**30)


def test_spot_is_for_containers_alone(specs: Specs) -> None:
    rows = run(specs)
    spot = [one for one in by_key(rows).values() if one.price_kind is PriceKind.SPOT]
    assert {one.tier for one in spot} == {"container"}
    assert by_key(rows)[f"jarvislabs/8x H100/{NOIDA}:container@spot"].usd_per_hour == Decimal(
        "9.44"  # 8 × 1.18
    )
    assert (f"H100 in {NOIDA} (vm)", "not_sold") in reasons(rows)


def test_containers_and_virtual_machines_are_one_pool(specs: Specs) -> None:
    found = by_key(run(specs))
    container = found[f"jarvislabs/1x L4/{NOIDA}:container@on_demand"]
    machine = found[f"jarvislabs/1x L4/{NOIDA}:vm@on_demand"]
    assert container.stock == machine.stock == (f"jarvislabs/{NOIDA}/L4", 16)
    assert container.hardware.virtualization is Virtualization.CONTAINER
    assert machine.hardware.virtualization is Virtualization.VM


def test_few_gpus_on_spot_leave_those_on_demand(specs: Specs) -> None:
    """The two kinds are one pool, of which the fewest that is said counts."""
    found = by_key(run(specs, lambda pool: pool.update(spot_num_free_devices=2)))
    firm = found[f"jarvislabs/8x H100/{NOIDA}:container@on_demand"]
    spot = [found[f"jarvislabs/{count}x H100/{NOIDA}:container@spot"] for count in (1, 2)]
    assert {one.stock for one in (firm, *spot)} == {(f"jarvislabs/{NOIDA}/H100-SXM", 16)}
    assert [one.limits.max_nodes for one in (firm, *spot)] == [None, 2, 1]
    assert f"jarvislabs/4x H100/{NOIDA}:container@spot" not in found


def test_two_names_of_one_card_are_two_offers_of_one_gpu(specs: Specs) -> None:
    found = by_key(run(specs))
    assert found[f"jarvislabs/1x RTX PRO 6000/{NOIDA}:vm@on_demand"].hardware.shape.gpu == (
        found[f"jarvislabs/1x RTX-PRO6000/{CHENNAI}:vm@on_demand"].hardware.shape.gpu
    )


def test_europe_gives_single_gpus_and_its_count_is_not_believed(specs: Specs) -> None:
    europe = [one for one in by_key(run(specs)).values() if one.place.region == EUROPE]
    assert [one.instance_type for one in europe] == ["1x H100"]
    assert (europe[0].stock, europe[0].limits.stock_level) == (None, "available")
    assert europe[0].hardware.virtualization is Virtualization.UNKNOWN
    many = run(specs, lambda pool: pool.update(num_gpus="8"))
    assert {
        int(one.hardware.shape.gpu_count)
        for one in by_key(many).values()
        if one.place.region == EUROPE
    } == {1}


def test_a_machine_has_no_more_gpus_than_are_free_or_than_it_holds(specs: Specs) -> None:
    few = by_key(run(specs, lambda pool: pool.update(effective_num_free_devices=3)))
    on_demand = [one for key, one in few.items() if "x L4" in key and key.endswith("on_demand")]
    assert {int(one.hardware.shape.gpu_count) for one in on_demand} == {1, 2}
    single = by_key(run(specs, lambda pool: pool.pop("num_gpus", None)))
    assert {int(one.hardware.shape.gpu_count) for one in single.values()} == {1}


def test_rupees_are_converted_at_the_rate_of_the_day_and_kept(specs: Specs) -> None:
    def rupees(answer: Record) -> None:
        if "server_meta" in answer:
            answer["currency"] = "INR"

    found = by_key(run(specs, lambda pool: pool.update(price_per_hour=249.5), rupees))
    offer = found[f"jarvislabs/2x H100/{NOIDA}:vm@on_demand"]
    rate = usd_per_unit("INR", READ_ON)
    assert rate is not None
    dollars, day = rate
    assert (offer.quote.amount, offer.quote.currency) == (Decimal("499.0"), "INR")
    assert (offer.quote.usd_per_unit, offer.quote.converted_on) == (dollars, day)
    assert offer.usd_per_hour == (499 * dollars).quantize(Decimal("0.000001"))
    assert 4 < offer.usd_per_hour < 8  # a rupee is between 0.8 and 1.6 cents


@pytest.mark.parametrize(
    ("account", "currency"),
    [({"success": True}, "INR"), ({"success": False}, "USD"), ({"sucess": "true"}, "INR")],
)
def test_the_account_tells_the_currency_where_the_prices_do_not(
    specs: Specs, account: Record, currency: str
) -> None:
    def change(answer: Record) -> None:
        if "server_meta" in answer:
            del answer["currency"]
        else:
            answer.clear()
            answer.update(account)

    found = by_key(run(specs, of_answer=change))
    assert {one.quote.currency for one in found.values()} == {currency}


def test_the_currency_beside_the_prices_wins(specs: Specs) -> None:
    def change(answer: Record) -> None:
        if "server_meta" not in answer:
            answer["success"] = True  # pays in rupees

    assert {one.quote.currency for one in by_key(run(specs, of_answer=change)).values()} == {"USD"}


@pytest.mark.parametrize("currency", [None, "", "XYZ"])
def test_prices_of_no_known_currency_are_no_prices(specs: Specs, currency: JsonValue) -> None:
    def change(answer: Record) -> None:
        answer.pop("success", None)
        if "server_meta" in answer:
            answer["currency"] = currency

    rows = run(specs, of_answer=change)
    assert not by_key(rows)
    assert "unknown_currency" in {reason for _, reason in reasons(rows)}


def test_what_is_no_offer_says_why(specs: Specs) -> None:
    assert {
        (f"A100 in {NOIDA} (container)", "ambiguous_gpu"),
        (f"A100-80GB in {NOIDA} (vm)", "ambiguous_gpu"),
        ("H100 in india-01 (vm)", "unknown_region"),
        ("a pool", "unreadable_row"),
        (f"A30 in {CHENNAI} (vm)", "no_price"),
        (f"L4 in {EUROPE} (None)", "no_capacity"),
    } <= reasons(run(specs))


@pytest.mark.parametrize("price", [0, -1, "", None, "NaN"])
def test_no_price_is_no_offer(specs: Specs, price: JsonValue) -> None:
    rows = run(specs, lambda pool: pool.update(price_per_hour=price))
    assert not [one for one in by_key(rows).values() if one.price_kind is PriceKind.ON_DEMAND]


def test_of_two_pools_alike_the_cheaper_one_stays(specs: Specs) -> None:
    def double(answer: Record) -> None:
        pools = answer.get("server_meta")
        if isinstance(pools, list):
            dear = [{**pool, "price_per_hour": 9.99} for pool in pools if isinstance(pool, dict)]
            answer["server_meta"] = [*dear, *pools]

    rows = run(specs, of_answer=double)
    assert by_key(rows)[f"jarvislabs/1x L4/{NOIDA}:vm@on_demand"].usd_per_hour == Decimal("0.44")
    assert ("1x L4", "duplicate_offer") in reasons(rows)
