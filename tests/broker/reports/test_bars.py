from decimal import Decimal

import pytest

from broker.reports.bars import bar


@pytest.mark.parametrize(
    ("part", "whole", "drawn"),
    [
        ("80", "80", "████████"),
        ("40", "80", "████░░░░"),
        ("40", "40", "████"),
        ("45", "45", "████▌"),  # half a character is 5 of 80
        ("45", "80", "████▌░░░"),
        ("0", "80", "░░░░░░░░"),
        ("0", "0", ""),
        ("90", "80", "████████"),  # a part is no more than its whole
    ],
)
def test_a_bar_is_solid_up_to_its_part(part: str, whole: str, drawn: str) -> None:
    assert bar(Decimal(part), Decimal(whole), Decimal(80), 8) == drawn


def test_where_nothing_costs_anything_there_is_no_bar() -> None:
    assert bar(Decimal(0), Decimal(0), Decimal(0), 8) == ""
