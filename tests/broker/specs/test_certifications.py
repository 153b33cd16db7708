"""Certifications: where a source says that one is held, and nowhere else."""

import pytest

from broker.domain.certifications import certification_code
from broker.specs.load import Specs
from broker.specs.tables import read_table


def names(specs: Specs, provider: str, region: str) -> set[str]:
    return {one.name for one in specs.certifications(provider, region)}


@pytest.mark.parametrize(
    ("where", "held"),
    [
        (("aws", "us-east-1"), {"soc2", "iso27001", "hipaa", "fedramp-moderate"}),
        (("aws", "eu-west-1"), {"soc2", "iso27001", "hipaa"}),
        (("gcp", "europe-west4"), {"soc2", "iso27001", "hipaa"}),
        (("crusoe", "us-east1-a"), {"soc2", "iso27001", "iso42001"}),
        (("nexgencloud", "CANADA-1"), {"soc2"}),
        (("nebius", "eu-north1"), {"hipaa"}),
    ],
)
def test_a_region_holds_what_its_provider_publishes(
    specs: Specs, where: tuple[str, str], held: set[str]
) -> None:
    assert names(specs, *where) == held


def test_what_is_said_of_a_commercial_cloud_is_not_said_of_another(specs: Specs) -> None:
    assert names(specs, "aws", "us-gov-west-1") == {"fedramp-high", "fedramp-moderate"}
    assert names(specs, "aws", "cn-north-1") == set()
    assert names(specs, "azure", "usgovvirginia") == set()


def test_some_hold_in_one_country_only(specs: Specs) -> None:
    assert "c5" in names(specs, "oci", "eu-frankfurt-1")
    assert "c5" not in names(specs, "oci", "us-ashburn-1")


@pytest.mark.parametrize("provider", ["lambda", "runpod", "coreweave", "vast", "nobody"])
def test_what_no_source_states_is_not_held(specs: Specs, provider: str) -> None:
    assert specs.certifications(provider, "us-east-1") == ()


def test_an_iso_27001_that_is_in_progress_is_not_held(specs: Specs) -> None:
    assert "iso27001" not in names(specs, "hyperstack", "NORWAY-1")


def test_every_certification_has_scope_or_none_a_source_and_a_plain_code(specs: Specs) -> None:
    for row in read_table("certifications.csv"):
        code = row["certification"] or ""
        assert code == code.lower()
        assert specs.providers.of(row["provider"] or "") == row["provider"]
        assert len(row["source"] or "") > 20


@pytest.mark.parametrize("name", ["SOC 2", "soc-2", "soc2", " Soc2 "])
def test_one_certification_has_one_code(name: str) -> None:
    assert certification_code(name) == "soc2"
