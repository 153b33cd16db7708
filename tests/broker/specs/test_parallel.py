"""What a parallel file system costs: by capacity or by throughput, whichever asks for more."""

from decimal import Decimal

import pytest

from broker.specs.load import Specs


@pytest.mark.parametrize(
    ("gb", "gb_per_s", "usd", "why"),
    [
        (1000, "0.1", "174", "the least, 1.2 TB at 0.145"),
        (20_000, "2", "2900", "size decides: 20 TB at 0.145"),
        (1000, "2", "1200", "throughput decides: 2 TB of the fastest class at 0.6"),
        (4000, "2", "1360", "4 TB at 0.34 give 2 GB/s"),
    ],
)
def test_the_cheapest_class_that_is_large_and_fast_enough(
    *, specs: Specs, gb: int, gb_per_s: str, usd: str, why: str
) -> None:
    price = specs.file_system("aws", "us-east-1", gb=Decimal(gb), gb_per_s=Decimal(gb_per_s))
    assert price.usd_per_month == Decimal(usd), why


def test_file_storage_without_a_stated_throughput_is_taken_as_slow(specs: Specs) -> None:
    """2 GB/s at 0.125 a TB are 16 TB, at 0.07 USD a GB."""
    price = specs.file_system("crusoe", "us-east1-a", gb=Decimal(10), gb_per_s=Decimal(2))
    assert (price.usd_per_month, price.assumed) == (Decimal(1120), True)


def test_what_no_source_states_costs_what_it_does_in_the_dearest_region(specs: Specs) -> None:
    unknown = specs.file_system("nobody", "nowhere", gb=Decimal(10), gb_per_s=Decimal(2))
    assert unknown.assumed
    tokyo = specs.file_system("aws", "ap-northeast-1", gb=Decimal(10), gb_per_s=Decimal(2))
    assert (unknown.usd_per_month, tokyo.assumed) == (tokyo.usd_per_month, False)


def test_storage_that_no_source_states_costs_what_it_does_at_the_dearest(specs: Specs) -> None:
    known = specs.kept("aws", "us-east-1", "block", gb=Decimal(100))
    assert (known.usd_per_month, known.assumed) == (Decimal(8), False)
    unknown = specs.kept("nobody", "nowhere", "block", gb=Decimal(100))
    assert unknown.assumed
    assert unknown.usd_per_month == 100 * specs.storage_prices.dearest("block")
