"""Seeweb: euros of whole servers, numbers in texts, plans that are sold and have no room."""

import json
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.http import live_client
from providers.kit.recorded import recorded_client, recordings
from providers.seeweb import AVAILABLES, PLANS, Seeweb

KEYED = Access({"api_key": SecretStr("s3cr3t")})


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    cloud = Seeweb(specs, Access())
    with recorded_client("seeweb") as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def offers(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    """Find offers by plan and region."""
    found = [row for row in rows if isinstance(row, Offer)]
    return {f"{row.instance_type}/{row.place.region}": row for row in found}


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def reply(url: str, body: JsonValue) -> httpx.Response:
    made = httpx.Response(200, text=json.dumps(body), request=httpx.Request("GET", url))
    stamp(made, observed_at=recordings("seeweb")[0].made_on, evidence=Evidence.COMPOSED)
    return made


def translate(specs: Specs, /, **changes: JsonValue) -> list[Offer | Rejection]:
    """Translate one plan of four L40S with fields changed."""
    plan: dict[str, JsonValue] = {
        "name": "ECS3GPU7",
        "cpu": "32",
        "ram": "131072",
        "gpu": "4",
        "gpu_label": "L40s 48GB",
        "hourly_price": 3.4,
        "windows": False,
        "available": True,
        "available_regions": [{"id": 2, "location": "it-fr2"}],
        **changes,
    }
    found = [reply(AVAILABLES, {"plans": []}), reply(PLANS, {"plans": [plan]})]
    return list(Seeweb(specs, Access()).offers_in(found))


def test_a_price_is_of_the_whole_server_in_euros(rows: list[Offer | Rejection]) -> None:
    offer = offers(rows)["ECS3GPU7/it-fr2"]
    assert (offer.quote.amount, offer.quote.currency) == (Decimal("3.4"), "EUR")
    assert offer.quote.usd_per_unit == Decimal("1.1215")  # the rate of 2026-10-20
    assert offer.usd_per_hour == Decimal("3.813100")  # 3.4 × 1.1215
    assert offer.price_kind is PriceKind.ON_DEMAND
    assert offer.commitment is None
    assert offer.hardware.shape.gpu == "L40S"
    assert offer.hardware.shape.gpu_count == 4
    assert offer.hardware.vcpus == 32
    assert offer.hardware.host_memory_gib == 128
    assert offer.place.country == "IT"


@pytest.mark.parametrize(
    ("key", "gpu"),
    [
        ("ECS1GPU/it-fr2", "QuadroRTX6000"),
        ("ECS1GPU11/it-fr2", "A30"),
        ("ECS1GPU2/it-fr2", "RTXA6000"),
        ("ECS1GPU9/it-fr2", "MI300X"),
    ],
)
def test_labels_of_one_look_are_told_apart(
    rows: list[Offer | Rejection], key: str, gpu: str
) -> None:
    assert offers(rows)[key].hardware.shape.gpu == gpu


def test_room_is_of_a_plan_in_a_region_and_sold_is_no_room(rows: list[Offer | Rejection]) -> None:
    found = offers(rows)
    assert found["ECS1GPU7/it-fr2"].limits.stock_level == "available"
    assert found["ECS1GPU7/it-fr2"].limits.stock_nodes is None
    for key in ("ECS1GPU7/it-mi2", "ECS1GPU11/it-fr2"):  # no host there, and not in the list
        assert found[key].limits.stock_level == "unavailable"
        assert found[key].limits.stock_nodes == 0


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("eCS4", "not_a_gpu"),
        ("eCS4W", "not_a_gpu"),
        ("ECS1GPU12", "no_region"),
        ("ECS1GPU8", "ambiguous_gpu"),
        ("ECS1GPU10", "ambiguous_gpu"),
        ("ECS1GPU3", "ambiguous_gpu"),
    ],
)
def test_a_trap_of_the_list_is_no_offer(
    rows: list[Offer | Rejection], plan: str, reason: str
) -> None:
    assert rejected(rows)[plan] == reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"available": False}, "not_sold"),
        ({"windows": True}, "windows"),
        ({"gpu_label": "Tenstorrent n300s"}, "unknown_gpu"),
        ({"gpu_label": None}, "unknown_gpu"),
        ({"gpu": "0"}, "not_a_gpu"),
        ({"gpu": None}, "not_a_gpu"),
        ({"hourly_price": 0}, "no_price"),
        ({"hourly_price": None}, "no_price"),
        ({"hourly_price": -0.5}, "no_price"),
        ({"available_regions": None}, "no_region"),
        ({"available_regions": [{"id": 2}]}, "no_region"),
    ],
)
def test_what_is_no_offer_says_why(
    specs: Specs, changes: dict[str, JsonValue], reason: str
) -> None:
    assert rejected(translate(specs, **changes)) == {"ECS3GPU7": reason}


def test_a_number_that_is_none_is_rejected(specs: Specs) -> None:
    assert rejected(translate(specs, gpu="one")) == {"a plan": "unreadable_row"}
    assert rejected(translate(specs, hourly_price="on request")) == {"a plan": "unreadable_row"}


def test_a_region_that_is_listed_twice_is_one_offer(specs: Specs) -> None:
    twice: JsonValue = [{"location": "it-fr2"}, {"location": "it-fr2"}, {"location": "bg-sof1"}]
    found = translate(specs, available_regions=twice)
    assert [row.place.country for row in found if isinstance(row, Offer)] == ["IT", "BG"]


def test_the_key_is_sent_in_a_header_of_its_own(specs: Specs) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"plans": []})

    cloud = Seeweb(specs, KEYED)
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(cloud.fetch(http))
    assert [str(one.url) for one in sent] == [AVAILABLES, PLANS]
    assert [one.headers["X-APITOKEN"] for one in sent] == ["s3cr3t", "s3cr3t"]
    assert "s3cr3t" not in repr(vars(cloud))


def test_a_refused_key_is_a_provider_error_with_a_remedy(specs: Specs) -> None:
    (refusal,) = [one for one in recordings("seeweb") if one.name == "unauthorized"]
    inner = httpx.MockTransport(lambda _: refusal.reply())
    with (
        live_client(lambda: refusal.made_on, transport=inner) as http,
        pytest.raises(ProviderError, match="Unauthorized") as error,
    ):
        list(Seeweb(specs, KEYED).fetch(http))
    assert "API_KEY" in error.value.hint


def test_a_new_region_lies_in_the_country_of_its_id(specs: Specs) -> None:
    (row,) = translate(specs, available_regions=[{"id": 9, "location": "hr-zag1"}])
    assert isinstance(row, Offer)
    assert (row.place.region, row.place.country, row.place.continent) == ("hr-zag1", "HR", "eu")
