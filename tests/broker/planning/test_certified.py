"""Certifications reach the offers, and the policy holds offers to them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tiny_cases import offer

from broker.domain.offer import Offer, Place
from broker.domain.policy import Policy
from broker.planning.catalog_view import CatalogSource
from broker.planning.certified import certified
from broker.planning.filters import why_not
from broker.planning.freshness import NEVER, Freshness
from broker.planning.service import PlanningService, open_service
from broker.settings import Settings
from broker.specs.load import Specs, load_specs

FRESH = Freshness(datetime(2026, 12, 1, tzinfo=UTC), NEVER, NEVER)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> PlanningService:
    return open_service(Settings(data_dir=tmp_path_factory.mktemp("data")))


def at(provider: str, region: str, **more: object) -> Offer:
    place = Place(region=region, country="US", continent="us")
    return offer("2", provider=provider).model_copy(update={"place": place, **more})


def held(of: Offer, specs: Specs) -> set[str]:
    (found,) = certified([of], specs)
    return set(found.certifications)


def test_an_offer_has_what_its_provider_publishes(specs: Specs) -> None:
    assert held(at("crusoe", "us-east1-a"), specs) == {"soc2", "iso27001", "iso42001"}
    assert held(at("lambda", "us-east-1"), specs) == set()


def test_what_an_offer_states_itself_stays_and_stands_once(specs: Specs) -> None:
    stated = at("crusoe", "us-east1-a", certifications=("SOC 2", "tisax"))
    (found,) = certified([stated], specs)
    assert found.certifications == ("SOC 2", "tisax", "iso27001", "iso42001")


def test_a_machine_through_a_door_is_as_certified_as_both_who_have_it(specs: Specs) -> None:
    assert held(at("shadeform", "culpeper-usa-1", operator="crusoe"), specs) == set()
    assert held(at("crusoe", "us-east1-a", operator="hyperstack"), specs) == {"soc2"}


@pytest.mark.parametrize("wanted", [("soc2",), ("SOC 2", "ISO 27001"), ("iso-27001",)])
def test_a_policy_lets_through_what_is_certified_however_it_is_written(
    specs: Specs, wanted: Sequence[str]
) -> None:
    policy = Policy(certifications=tuple(wanted))
    good, bad = certified([at("crusoe", "us-east1-a"), at("lambda", "us-east-1")], specs)
    assert why_not(good, policy, FRESH) is None
    assert why_not(bad, policy, FRESH) == "certification missing"


def test_recorded_offers_of_a_provider_are_certified(service: PlanningService) -> None:
    view = service.view(CatalogSource(recorded=True))
    with_soc2 = {one.provider for one in view.offers if "soc2" in one.certifications}
    assert with_soc2 == {
        *("aws", "azure", "gcp", "oci", "crusoe"),
        *("hyperstack", "vultr", "digitalocean", "ovhcloud"),
    }


def test_a_price_sheet_of_a_certified_cloud_is_certified(
    service: PlanningService, tmp_path: Path
) -> None:
    sheet = tmp_path / "quote.csv"
    sheet.write_text(
        "provider,instance_type,gpu_name,gpu_count,region,on_demand_usd_h,certifications,observed_on\n"
        "aws,p5.48xlarge,H100 SXM,8,us-east-1,40,tisax,2026-11-27\n"
        "acme,box,H100 SXM,8,us-east-1,20,,2026-11-27\n",
        encoding="utf-8",
    )
    view = service.view(CatalogSource(sheet=sheet))
    found = {one.provider: set(one.certifications) for one in view.offers}
    assert found == {
        "aws": {"tisax", "soc2", "iso27001", "hipaa", "fedramp-moderate"},
        "acme": set(),
    }
