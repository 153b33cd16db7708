from dataclasses import dataclass
from decimal import Decimal

from broker.planning.sizing.ties import ranks


@dataclass(frozen=True)
class Priced:
    usd: Decimal
    kind: tuple[str, bool] = ("NVIDIA", False)


def test_prices_within_twenty_percent_of_the_first_share_its_rank() -> None:
    options = [Priced(Decimal(one)) for one in ("1.00", "1.19", "1.21", "2.00")]
    assert list(ranks(options)) == [(1, True), (1, True), (3, False), (4, False)]


def test_across_vendors_forty_percent_is_a_tie() -> None:
    options = [Priced(Decimal("1.00")), Priced(Decimal("1.39"), ("AMD", False))]
    assert list(ranks(options)) == [(1, True), (1, True)]


def test_nothing_has_no_ranks() -> None:
    assert list(ranks([])) == []
