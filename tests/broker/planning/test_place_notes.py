"""`us` in a policy is North America: a plan that stands elsewhere in it says so."""

import pytest
from tiny_cases import offer

from broker.domain.offer import Offer
from broker.domain.policy import AllowDeny
from broker.planning.place_notes import place_notes


def standing_in(region: str, country: str | None, continent: str = "us") -> Offer:
    box = offer("4")
    place = {"region": region, "country": country, "continent": continent}
    return box.model_copy(update={"place": box.place.model_copy(update=place)})


USED = (
    standing_in("us-east-1", "US"),
    standing_in("ca-central-1", "CA"),
    standing_in("North America", None),
    standing_in("europe-west3", "DE", "eu"),
)


def test_what_stands_outside_the_united_states_by_us_alone_is_named() -> None:
    (note,) = place_notes(AllowDeny(allow=("US", "eu")), USED)
    assert note == (
        "policy.regions.allow: us is North America, not the United States alone: the plan uses "
        "acme/North America (country unknown), acme/ca-central-1 (CA); to leave them out add deny: "
        "[ca, mx, North America], to keep them name their countries beside us"
    )


@pytest.mark.parametrize(
    "allow", [(), ("eu", "ca"), ("us", "ca", "North America"), ("commercial",)]
)
def test_nothing_is_said_where_us_is_not_meant_or_the_others_are_named(
    allow: tuple[str, ...],
) -> None:
    assert list(place_notes(AllowDeny(allow=allow), USED)) == []
