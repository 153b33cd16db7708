"""What a GB costs for a month, where a source says so."""

from decimal import Decimal

import pytest

from broker.specs.load import Specs
from broker.specs.tables import read_table


@pytest.mark.parametrize(
    ("where", "kind", "usd", "name"),
    [
        (("aws", "us-east-1"), "block", "0.08", "gp3"),
        (("aws", "us-east-1"), "object", "0.023", "S3 Standard"),
        (("azure", "eastus"), "object", "0.018", "Blob Hot LRS"),
        (("gcp", "us-central1"), "block", "0.1", "balanced"),
        (("gcp", "us-central1"), "object", "0.02", "standard"),
        (("oci", "us-ashburn-1"), "block", "0.0937", "Block Volume"),
        # one price in every region
        (("nebius", "eu-north1"), "object", "0.0147", "standard"),
        (("crusoe", "us-east1-a"), "block", "0.08", "persistent disk"),
        (("nexgencloud", "CANADA-1"), "block", "0.070645", "Cloud-SSD"),
    ],
)
def test_storage_has_the_price_of_its_usual_class(
    *, specs: Specs, where: tuple[str, str], kind: str, usd: str, name: str
) -> None:
    price = specs.storage(*where, kind)
    assert price is not None
    assert (price.usd_per_gb_month, price.storage_class) == (Decimal(usd), name)
    assert price.source


def test_another_class_is_asked_for_by_name(specs: Specs) -> None:
    cold = specs.storage("gcp", "us-central1", "object", "Coldline")
    assert cold is not None
    assert cold.usd_per_gb_month == Decimal("0.004")
    assert specs.storage("gcp", "us-central1", "object", "lukewarm") is None


@pytest.mark.parametrize(
    "asked",
    [("aws", "eu-west-1", "block"), ("verda", "FIN-01", "block"), ("aws", "us-east-1", "file")],
)
def test_what_no_source_states_is_unknown(specs: Specs, asked: tuple[str, str, str]) -> None:
    assert specs.storage(*asked) is None


def test_each_kind_of_storage_has_one_usual_class_and_no_price_is_zero() -> None:
    rows = read_table("storage.csv")
    kinds = {(row["provider"], row["region"], row["kind"]) for row in rows}
    usual = [
        (row["provider"], row["region"], row["kind"]) for row in rows if row["usual"] == "true"
    ]
    assert sorted(usual, key=str) == sorted(kinds, key=str)
    assert {row["kind"] for row in rows} == {"block", "file", "object"}
    assert all(Decimal(row["usd_per_gb_month"] or 0) > 0 for row in rows)
