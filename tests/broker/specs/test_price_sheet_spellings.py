"""The spellings of a large recorded price sheet, where one lies beside the checkout."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from broker.specs.load import Specs, Unresolved

OFFERS = Path(__file__).parents[4] / "shared/data/prices/offers.csv"
MIN_RESOLVED_SHARE = 0.94

pytestmark = pytest.mark.skipif(not OFFERS.exists(), reason="no recorded price sheet here")


def _reasons(specs: Specs) -> Counter[str]:
    found: Counter[str] = Counter()
    with OFFERS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            found[_reason(specs, row)] += 1
    return found


def _reason(specs: Specs, row: dict[str, str]) -> str:
    provider, kind = row["provider"], row["instance_type"]
    if specs.node(provider, kind):
        return "resolved"
    memory_gib = float(row["gpu_memory_gib"]) if row["gpu_memory_gib"] else None
    spellings = (row["gpu_name"], kind.partition(":")[0])
    found = [
        specs.resolve_gpu(spelling, memory_gib=memory_gib, provider=provider)
        for spelling in spellings
    ]
    unresolved = [one.reason for one in found if isinstance(one, Unresolved)]
    return unresolved[0] if len(unresolved) == len(found) else "resolved"


def test_most_rows_of_a_real_price_sheet_name_one_gpu(specs: Specs) -> None:
    reasons = _reasons(specs)
    assert reasons["resolved"] / reasons.total() >= MIN_RESOLVED_SHARE
    assert reasons["unknown_gpu"] <= 60
