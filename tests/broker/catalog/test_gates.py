from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from price_lists import GATES, NOON, after, an_offer, reserved

from broker.catalog.bands import usd_per_gpu_hour
from broker.catalog.gates import (
    DoubtedCount,
    HeldPrice,
    History,
    LastPrice,
    Reason,
    screen,
    too_few,
)
from broker.domain.offer import Fabric, Link, Offer, PriceKind, Virtualization
from broker.specs.facts import NodeFacts


def reasons(*offers: Offer, history: History | None = None) -> dict[str, Reason]:
    return {one.offer.key: one.reason for one in screen(offers, GATES, history).quarantined}


def spot(usd: str, *, zone: str | None = None, tier: str = "") -> Offer:
    return an_offer(usd, kind=PriceKind.SPOT, zone=zone, tier=tier)


@pytest.mark.parametrize(
    ("usd", "gpus", "held"),
    [
        ("2.00", 1, False),
        ("0.01", 1, True),
        ("60.00", 1, False),
        ("60.01", 1, True),
        ("480.00", 8, False),
        ("480.08", 8, True),
        ("0.16", 8, False),
        ("0.15", 8, True),
        ("0.10", Fraction(1, 6), False),
        ("11.00", Fraction(1, 6), True),
    ],
)
def test_a_price_per_gpu_outside_the_band_is_held(
    usd: str, gpus: Fraction | int, *, held: bool
) -> None:
    offer = an_offer(usd, gpus=gpus)
    assert reasons(offer) == ({offer.key: Reason.PRICE_OUT_OF_BAND} if held else {})


def test_the_price_of_a_sixth_of_a_gpu_is_scaled_to_a_whole_one() -> None:
    assert usd_per_gpu_hour(an_offer("0.454", gpus=Fraction(1, 6))) == Decimal("2.724")


def test_the_upfront_part_counts_in_the_price_per_gpu() -> None:
    # 8,760 dollars over 12 months of 730 hours is one dollar an hour.
    assert usd_per_gpu_hour(reserved("1.50", upfront="8760")) == Decimal("2.5")
    all_upfront = reserved("0.00", upfront="8760")
    assert reasons(all_upfront) == {}


def test_what_an_owned_gpu_costs_is_for_its_owner_to_say() -> None:
    assert reasons(an_offer("0.001", kind=PriceKind.OWNED)) == {}


@pytest.mark.parametrize(
    ("usd", "reason"),
    [
        ("1.99", None),
        ("2.00", Reason.SPOT_NO_DISCOUNT),
        ("2.01", Reason.SPOT_NO_DISCOUNT),
        ("0.10", None),
        ("0.09", Reason.SPOT_TOO_CHEAP),
    ],
)
def test_spot_must_be_below_on_demand_but_not_far(usd: str, reason: Reason | None) -> None:
    offer = spot(usd)
    assert reasons(an_offer("2.00"), offer) == ({offer.key: reason} if reason else {})


def test_spot_of_a_zone_is_compared_with_on_demand_of_its_region() -> None:
    offer = spot("3.00", zone="here-a")
    assert reasons(an_offer("2.00"), offer) == {offer.key: Reason.SPOT_NO_DISCOUNT}


def test_spot_of_a_zone_prefers_on_demand_of_that_zone() -> None:
    own = an_offer("4.00", zone="here-a")
    assert reasons(an_offer("2.00"), own, spot("3.00", zone="here-a")) == {}


def test_spot_of_one_tier_is_not_compared_with_another() -> None:
    assert reasons(an_offer("2.00", tier="community"), spot("3.00", tier="secure")) == {}


def test_an_implausible_on_demand_price_condemns_no_spot() -> None:
    cheap = an_offer("0.01")
    assert reasons(cheap, spot("1.00")) == {cheap.key: Reason.PRICE_OUT_OF_BAND}


@pytest.mark.parametrize(
    ("usd", "held"), [("1.40", False), ("1.41", True), ("0.60", False), ("0.59", True)]
)
def test_a_price_that_moved_by_more_than_two_fifths_is_held(usd: str, *, held: bool) -> None:
    offer = an_offer(usd)
    before = History(prices={offer.key: LastPrice(Decimal("1.00"))})
    expected = {offer.key: Reason.PRICE_JUMPED} if held else {}
    assert reasons(offer, history=before) == expected


def jumped(held_usd: str, held_hours_ago: float) -> History:
    key = an_offer().key
    return History(
        prices={key: LastPrice(Decimal("1.00"))},
        held={key: HeldPrice(Decimal(held_usd), after(-held_hours_ago))},
    )


def test_a_jump_is_confirmed_by_a_later_reading_of_the_same_price() -> None:
    offer = an_offer("2.00")
    screened = screen([offer], GATES, jumped("2.00", 1))
    assert screened.offers == (offer,)
    assert screened.confirmed == {offer.key: Reason.PRICE_JUMPED}


def test_the_same_reading_once_more_confirms_nothing() -> None:
    offer = an_offer("2.00")
    assert reasons(offer, history=jumped("2.00", 0)) == {offer.key: Reason.PRICE_JUMPED}


def test_a_list_price_must_repeat_to_the_cent() -> None:
    offer = an_offer("2.01")
    assert reasons(offer, history=jumped("2.00", 1)) == {offer.key: Reason.PRICE_JUMPED}


def test_a_floating_spot_price_confirms_a_jump_by_being_near() -> None:
    offer = spot("2.20")
    before = History(
        prices={offer.key: LastPrice(Decimal("1.00"))},
        held={offer.key: HeldPrice(Decimal("2.00"), after(-1))},
    )
    assert reasons(offer, history=before) == {}


def test_an_implausible_price_stays_held_however_often_it_is_seen() -> None:
    offer = an_offer("0.001")
    before = History(held={offer.key: HeldPrice(Decimal("0.001"), after(-24))})
    assert reasons(offer, history=before) == {offer.key: Reason.PRICE_OUT_OF_BAND}


def test_spot_without_discount_stays_confirmed_while_its_price_stands() -> None:
    offer = spot("2.00")
    before = History(
        prices={offer.key: LastPrice(Decimal("2.00"), confirmed=Reason.SPOT_NO_DISCOUNT)}
    )
    assert reasons(an_offer("2.00"), offer, history=before) == {}


def test_a_node_that_contradicts_its_known_type_is_held() -> None:
    node = NodeFacts(
        provider="acme",
        instance_type="Box",
        gpu="H100-SXM",
        gpu_count=Fraction(8),
        gpu_memory_gib=None,
        vcpus=None,
        host_memory_gib=None,
        local_disk_gb=None,
        link=Link.NVSWITCH,
        fabric=Fabric.UNKNOWN,
        fabric_gbit_per_s=None,
        virtualization=Virtualization.VM,
        cpu_architecture=None,
        source="test",
    )
    gates = replace(GATES, nodes={("acme", "box"): node})
    twelve, eight = an_offer("20.00", gpus=12, name="Box"), an_offer("20.00", gpus=8, name="Box")
    assert screen([eight], gates).offers == (eight,)
    held = screen([twelve], gates).quarantined
    assert [one.reason for one in held] == [Reason.CONTRADICTS_NODE]
    assert held[0].detail == "12 × H100-SXM, but the type has 8 × H100-SXM"


def test_of_two_prices_under_one_key_the_dearer_counts_in_any_order() -> None:
    cheap, dear = an_offer("2.00"), an_offer("2.50")
    for rows in ([cheap, dear], [dear, cheap]):
        screened = screen(rows, GATES)
        assert screened.offers == (dear,)
        assert [(one.offer, one.reason) for one in screened.quarantined] == [
            (cheap, Reason.DUPLICATE_KEY)
        ]


def test_of_two_prices_under_one_key_the_later_day_counts() -> None:
    old, new = an_offer("2.50", seen_at=after(-24)), an_offer("2.00")
    assert screen([old, new], GATES).offers == (new,)


def test_a_row_that_repeats_another_is_no_clash() -> None:
    assert screen([an_offer("2.00"), an_offer("2.00")], GATES).quarantined == ()


@pytest.mark.parametrize(("received", "doubted"), [(70, False), (69, True), (0, True)])
def test_a_third_of_the_rows_may_not_vanish(received: int, *, doubted: bool) -> None:
    why = too_few(received, NOON, GATES, History(received=100))
    assert why == (f"{received} offers instead of 100" if doubted else None)


def test_a_loss_of_rows_is_confirmed_by_a_later_refresh_with_as_few() -> None:
    history = History(received=100, doubted=DoubtedCount(50, after(-1)))
    assert too_few(50, NOON, GATES, history) is None
    assert too_few(30, NOON, GATES, history) == "30 offers instead of 100"


def test_a_first_refresh_may_bring_any_number_of_rows() -> None:
    assert too_few(0, NOON, GATES, History()) is None


def test_offers_come_out_in_the_order_of_their_keys() -> None:
    first, second = an_offer(name="a"), an_offer(name="b")
    assert screen([second, first], GATES).offers == (first, second)
