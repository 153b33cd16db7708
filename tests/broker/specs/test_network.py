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
        (("oci", "us-ashburn-1"), ("aws", "us-east-1"), "0.0085", False),
        (("lambda", "us-east-1"), ("aws", "us-east-1"), "0", False),
        (("runpod", "US-KS-2"), ("vast", "Texas, US"), "0", False),
        (("coreweave", "US-EAST-01A"), ("coreweave", "US-WEST-01A"), "0", False),
        # a region or a provider without a row: the highest that is known, and said so
        (("aws", "eu-nowhere-9"), ("aws", "us-east-1"), "0.147", True),
        (("aws", "eu-nowhere-9"), ("gcp", "us-east1"), "0.155", True),
        (("vast", "Texas, US"), ("aws", "us-east-1"), "0.12", True),
        (("ovhcloud", "SGP"), ("aws", "us-east-1"), "0.12", True),
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


def test_names_of_one_provider_are_one_provider(specs: Specs) -> None:
    assert specs.egress("datacrunch", "FIN-01", "verda", "FIN-01").usd_per_gb == 0


def test_prices_recalled_and_not_read_are_marked_assumed(specs: Specs) -> None:
    for price in specs.egress_prices.prices.values():
        assert price.assumed or "recalled" not in price.source
