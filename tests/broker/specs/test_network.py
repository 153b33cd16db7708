"""Round trips and transfer prices."""

from decimal import Decimal

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Place
from broker.specs.load import Specs
from broker.specs.network import great_circle_km, round_trip_s

NEW_YORK = (40.713, -74.006)
LONDON = (51.507, -0.128)


def test_the_great_circle_from_new_york_to_london_is_5570_km() -> None:
    assert great_circle_km(NEW_YORK, LONDON) == pytest.approx(5570, rel=0.002)
    assert great_circle_km(LONDON, NEW_YORK) == great_circle_km(NEW_YORK, LONDON)


def test_the_longest_way_is_half_the_globe() -> None:
    assert great_circle_km((90, 0), (-90, 0)) == pytest.approx(20_015, rel=0.001)
    assert great_circle_km((0, 0), (0, 180)) == pytest.approx(20_015, rel=0.001)
    assert great_circle_km((12, 34), (12, 34)) == 0


def test_a_round_trip_is_worked_by_hand() -> None:
    """5570 km × 2 × 1.35 ÷ 200,000 km/s + 5 ms = 80.2 ms."""
    assert round_trip_s(NEW_YORK, LONDON) == pytest.approx(0.0802, abs=0.0003)


@pytest.mark.parametrize(
    ("users", "region", "least_ms", "most_ms"),
    [
        ("us-east", "us-east-1", 7, 13),
        ("us-east", "eu-west-2", 70, 85),
        ("us-east", "us-west-1", 58, 75),
        ("us-east", "eu-central-1", 83, 97),
        ("eu-central", "eu-central-1", 5, 8),
        ("eu-west", "ap-southeast-1", 140, 185),
        ("us-west", "ap-northeast-1", 95, 125),
        ("ap-southeast-2", "us-west-2", 140, 180),
    ],
)
def test_round_trips_are_plausible(
    *, specs: Specs, users: str, region: str, least_ms: float, most_ms: float
) -> None:
    rtt_s = specs.rtt_s(users, specs.place("aws", region))
    assert rtt_s is not None
    assert least_ms / 1000 <= rtt_s <= most_ms / 1000


def test_a_place_without_coordinates_has_no_round_trip(specs: Specs) -> None:
    assert specs.rtt_s("us-east", Place(region="global")) is None


def test_an_unknown_user_region_is_an_error_for_a_known_place(specs: Specs) -> None:
    with pytest.raises(ConfigurationError):
        specs.rtt_s("atlantis", specs.place("aws", "us-east-1"))


def test_data_that_stays_in_its_region_moves_free(specs: Specs) -> None:
    price = specs.egress("aws", "us-east-1", "aws", "us-east-1")
    assert (price.usd_per_gb, price.assumed) == (Decimal(0), False)


@pytest.mark.parametrize(
    ("origin", "target", "usd_per_gb", "assumed"),
    [
        (("aws", "us-east-1"), ("lambda", "us-west-1"), "0.09", False),
        (("aws", "us-east-1"), ("aws", "us-west-2"), "0.02", False),
        (("azure", "eastus"), ("aws", "us-east-1"), "0.087", False),
        (("gcp", "us-central1"), ("aws", "us-east-1"), "0.12", False),
        (("gcp", "asia-southeast2"), ("aws", "us-east-1"), "0.19", False),
        (("gcp", "us-east1"), ("gcp", "us-west1"), "0.02", False),
        (("aws", "us-east-1"), ("aws", "us-east-2"), "0.01", False),
        (("aws", "eu-west-1"), ("aws", "ap-south-1"), "0.02", False),
        (("aws", "ap-south-1"), ("aws", "eu-west-1"), "0.086", False),
        (("azure", "westeurope"), ("azure", "northeurope"), "0.02", False),
        (("azure", "westeurope"), ("azure", "eastus"), "0.05", False),
        (("azure", "japaneast"), ("azure", "koreacentral"), "0.08", False),
        (("azure", "brazilsouth"), ("azure", "eastus"), "0.16", False),
        (("azure", "japaneast"), ("gcp", "us-east1"), "0.12", False),
        # Google's internet egress goes by where it goes: Australia and China are dearer
        (("gcp", "us-central1"), ("aws", "ap-southeast-2"), "0.19", False),
        (("gcp", "us-central1"), ("aws", "cn-north-1"), "0.23", False),
        (("ovhcloud", "SYD"), ("aws", "us-east-1"), "0.011172", False),
        (("vultr", "ewr"), ("vultr", "sea"), "0.01", False),
        (("nebius", "eu-north1"), ("aws", "us-east-1"), "0.015", False),
        (("oci", "us-ashburn-1"), ("aws", "us-east-1"), "0.0085", False),
        (("lambda", "us-east-1"), ("aws", "us-east-1"), "0", False),
        (("runpod", "US-KS-2"), ("vast", "Texas, US"), "0", False),
        (("coreweave", "US-EAST-01A"), ("coreweave", "US-WEST-01A"), "0", False),
        # a region or a provider without a row: the highest that is known, and said so
        (("aws", "eu-nowhere-9"), ("aws", "us-east-1"), "0.147", True),
        (("aws", "eu-nowhere-9"), ("gcp", "us-east1"), "0.155", True),
        (("vast", "Texas, US"), ("aws", "us-east-1"), "0.12", True),
        (("gcp", "us-east1"), ("gcp", "europe-west4"), "0.05", True),
        (("gcp", "us-east1"), ("gcp", "australia-southeast1"), "0.15", True),
        (("gcp", "asia-northeast1"), ("aws", "us-east-1"), "0.12", True),
        (("azure", "mexicocentral"), ("aws", "us-east-1"), "0.181", True),
        (("ovhcloud", "GRA"), ("aws", "us-east-1"), "0", False),
    ],
)
def test_egress_is_priced_by_where_data_leaves(
    *,
    specs: Specs,
    origin: tuple[str, str],
    target: tuple[str, str],
    usd_per_gb: str,
    assumed: bool,
) -> None:
    price = specs.egress(*origin, *target)
    assert (price.usd_per_gb, price.assumed) == (Decimal(usd_per_gb), assumed)
    assert price.source


def test_two_unknown_regions_are_not_one_region(specs: Specs) -> None:
    price = specs.egress("aws", "unknown", "aws", "unknown")
    assert price.usd_per_gb > 0
    assert price.assumed


def test_a_region_that_is_unknown_makes_the_price_an_assumption(specs: Specs) -> None:
    known = specs.egress("aws", "us-east-1", "gcp", "us-east1")
    unknown = specs.egress("aws", "us-east-1", "gcp", "unknown")
    assert (known.assumed, unknown.assumed) == (False, True)
    assert known.usd_per_gb == unknown.usd_per_gb == Decimal("0.09")
    within = specs.egress("aws", "us-east-1", "aws", "unknown")
    assert (within.usd_per_gb, within.assumed) == (Decimal("0.09"), True)


@pytest.mark.parametrize(
    ("gb", "usd"),
    [
        ("0", "0"),
        ("50", "4.50"),  # 50 × 0.09: the free 100 GB are the account's
        ("10000", "900"),
        ("20000", "1750"),  # 10,000 × 0.09 + 10,000 × 0.085
        ("200000", "13800"),  # 900 + 40,000 × 0.085 + 100,000 × 0.07 + 50,000 × 0.05
    ],
)
def test_much_data_is_priced_tier_by_tier(specs: Specs, gb: str, usd: str) -> None:
    price = specs.egress("aws", "us-east-1", "lambda", "us-west-1")
    assert price.usd(Decimal(gb)) == Decimal(usd)


def test_one_price_holds_for_any_volume(specs: Specs) -> None:
    price = specs.egress("azure", "westeurope", "aws", "us-east-1")
    assert price.usd(Decimal(20_000)) == Decimal(1740)


def test_what_is_free_in_a_month_is_not_taken_off(specs: Specs) -> None:
    price = specs.egress("oci", "us-ashburn-1", "aws", "us-east-1")
    assert price.usd(Decimal(20_000)) == Decimal(170)


def test_no_volume_costs_more_than_the_first_price_that_is_paid(specs: Specs) -> None:
    for price in specs.egress_prices.prices.values():
        for gb in (Decimal(1), Decimal(5_000), Decimal(500_000)):
            assert price.usd(gb) <= gb * price.usd_per_gb
        if price.tiers:
            assert price.tiers[-1].up_to_gb is None
            paid = [tier.usd_per_gb for tier in price.tiers if tier.usd_per_gb]
            assert paid == sorted(paid, reverse=True)


def test_names_of_one_provider_are_one_provider(specs: Specs) -> None:
    assert specs.egress("datacrunch", "FIN-01", "verda", "FIN-01").usd_per_gb == 0


def test_prices_recalled_and_not_read_are_marked_assumed(specs: Specs) -> None:
    for price in specs.egress_prices.prices.values():
        assert price.assumed or "recalled" not in price.source
