"""Where regions lie: by the provider's table, else by the words of the region."""

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Place
from broker.specs.load import Specs
from broker.specs.network import great_circle_km


@pytest.mark.parametrize(
    ("provider", "region", "country", "continent", "partition"),
    [
        ("aws", "us-east-1", "US", "us", "commercial"),
        ("aws", "eu-central-1", "DE", "eu", "commercial"),
        ("aws", "us-gov-west-1", "US", "us", "government"),
        ("aws", "cn-north-1", "CN", "ap", "china"),
        ("aws", "us-east-1-nyc-1", "US", "us", "commercial"),
        ("aws", "us-west-2-lax-1", "US", "us", "commercial"),
        ("aws", "af-south-1-los-1", "NG", "af", "commercial"),
        ("azure", "westeurope", "NL", "eu", "commercial"),
        ("azure", "usgovvirginia", "US", "us", "government"),
        ("azure", "chinaeast2", "CN", "ap", "china"),
        ("azure", "qatarcentral", "QA", "me", "commercial"),
        ("gcp", "europe-west4", "NL", "eu", "commercial"),
        ("gcp", "southamerica-east1", "BR", "sa", "commercial"),
        ("oci", "eu-frankfurt-1", "DE", "eu", "commercial"),
        ("lambda", "us-west-1", "US", "us", "commercial"),
        ("lambda", "us-east-3", "US", "us", "commercial"),
        ("lambda", "us-midwest-2", "US", "us", "commercial"),
        ("lambda", "us-southeast-1", "US", "us", "commercial"),
        ("lambda", "europe-south-1", "IT", "eu", "commercial"),
        ("lambda", "australia-east-1", "AU", "oc", "commercial"),
        ("nebius", "eu-north1", "FI", "eu", "commercial"),
        ("verda", "FIN-03", "FI", "eu", "commercial"),
        ("hyperstack", "CANADA-1", "CA", "us", "commercial"),
        ("crusoe", "eu-iceland1-a", "IS", "eu", "commercial"),
        ("shadeform", "montreal-canada-2", "CA", "us", "commercial"),
        ("do", "tor1", "CA", "us", "commercial"),
        ("azure", "australiaeast", "AU", "oc", "commercial"),
        # places in words
        ("vast", "Texas, US", "US", "us", "commercial"),
        ("vast", "Oklahoma, US, NA", "US", "us", "commercial"),
        ("vast", ", CN, AS", "CN", "ap", "commercial"),
        ("vast", "Taiwan, TW", "TW", "ap", "commercial"),
        ("vast", "TW", "TW", "ap", "commercial"),
        ("vast", "Hafnarfjarðarkaupstaður, IS, EU", "IS", "eu", "commercial"),
        ("vast", "Riyadh, SA", "SA", "me", "commercial"),
        ("vast", "The Netherlands, NL", "NL", "eu", "commercial"),
        ("runpod", "US-KS-2", "US", "us", "commercial"),
        ("runpod", "EU-RO-1", "RO", "eu", "commercial"),
        ("runpod", "EUR-IS-1", "IS", "eu", "commercial"),
        ("runpod", "CA-MTL-1", "CA", "us", "commercial"),
        ("runpod", "SEA-SG-1", "SG", "ap", "commercial"),
        ("primeintellect", "united_states", "US", "us", "commercial"),
        ("e2e", "India (Noida)", "IN", "ap", "commercial"),
    ],
)
def test_a_region_has_its_country_continent_and_partition(
    *, specs: Specs, provider: str, region: str, country: str, continent: str, partition: str
) -> None:
    place = specs.place(provider, region)
    assert (place.country, place.continent, place.partition) == (country, continent, partition)
    assert place.region == region
    assert place.latitude_deg is not None
    assert place.longitude_deg is not None


@pytest.mark.parametrize("region", ["global", "default", "any", "EU / US", "dc_roan", "mars-1"])
def test_a_region_that_names_no_place_keeps_its_id_alone(specs: Specs, region: str) -> None:
    assert specs.place("aws", region) == Place(region=region)


def test_a_region_id_of_another_provider_is_not_borrowed(specs: Specs) -> None:
    assert specs.place("vast", "us-east-1").country is None


def test_a_missing_region_is_unknown(specs: Specs) -> None:
    assert specs.place("seeweb", "", None) == Place(region="unknown")


def test_a_zone_is_kept(specs: Specs) -> None:
    assert specs.place("aws", "us-east-1", "use1-az1").zone == "use1-az1"
    assert specs.place("aws", "us-east-1", "").zone is None


def test_an_unlisted_government_region_is_not_commercial(specs: Specs) -> None:
    assert specs.place("aws", "us-gov-north-9").partition == "government"
    assert specs.place("azure", "usdodwest").partition == "government"
    assert specs.place("aws", "cn-south-9").partition == "china"


def test_a_state_in_words_lies_in_that_state(specs: Specs) -> None:
    california, country = specs.place("vast", "California, US"), specs.place("vast", "US")
    assert (california.latitude_deg, california.longitude_deg) == (36.8, -119.8)
    assert (country.latitude_deg, country.longitude_deg) == (39.8, -98.6)


def test_a_region_known_by_continent_only_has_no_point(specs: Specs) -> None:
    place = specs.place("coreweave", "North America")
    assert (place.continent, place.country, place.latitude_deg) == ("us", None, None)


def test_no_coordinate_lies_far_from_its_country(specs: Specs) -> None:
    """Catches a lost sign or swapped columns; wide and scattered countries have more room."""
    wide_km = {"US": 6000, "CA": 3000, "AU": 3500, "IN": 2000, "BR": 1000, "ID": 1000}
    for row in specs.places.regions.values():
        country = specs.places.countries.get((row["country"] or "").lower())
        if country is None or row["latitude_deg"] is None or row["longitude_deg"] is None:
            continue
        point = (float(row["latitude_deg"]), float(row["longitude_deg"]))
        middle = (float(country["latitude_deg"] or 0), float(country["longitude_deg"] or 0))
        allowed_km = wide_km.get(row["country"] or "", 900)
        assert great_circle_km(point, middle) < allowed_km, row


def test_every_country_of_a_region_is_in_the_country_table(specs: Specs) -> None:
    for row in specs.places.regions.values():
        if row["country"]:
            country = specs.places.countries[row["country"].lower()]
            assert country["continent"] == row["continent"], row


def test_user_regions_cover_the_continents(specs: Specs) -> None:
    expected = {"us-east", "us-central", "us-west", "sa-east", "eu-west", "eu-central", "eu-north"}
    expected |= {"me-central", "af-south", "ap-south", "ap-southeast", "ap-northeast", "oceania"}
    assert expected <= specs.user_regions.keys()
    assert specs.user_region("US-East").latitude_deg == pytest.approx(40.713)


def test_an_unknown_user_region_hints_at_the_nearest(specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown user region 'us-est'") as caught:
        specs.user_region("us-est")
    assert "us-east" in caught.value.hint
