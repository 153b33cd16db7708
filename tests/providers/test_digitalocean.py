"""DigitalOcean: sizes of an account, spot in the slug; AMD's cloud with a key of its own."""

import json
from decimal import Decimal

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Link, Offer, PriceKind, Rejection
from broker.specs.load import Specs, load_specs
from providers.digitalocean import AMD_URL, URL, DigitalOcean
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, Recording, recorded_client, recordings

BOTH = Access({"api_key": SecretStr("do-s3cr3t"), "amd_api_key": SecretStr("amd-s3cr3t")})


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    cloud = DigitalOcean(specs, Access())
    with recorded_client("digitalocean") as http:
        return list(cloud.offers_in(replies_only(cloud.fetch(http), [])))


def of_slug(rows: list[Offer | Rejection], slug: str) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer) and row.instance_type == slug]


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def recording(name: str) -> Recording:
    (found,) = [one for one in recordings("digitalocean") if one.name == name]
    return found


def translate(specs: Specs, /, **changes: JsonValue) -> list[Offer | Rejection]:
    """Translate one size of eight H100 with fields changed."""
    size: dict[str, JsonValue] = {
        "slug": "gpu-h100x8-640gb",
        "memory": 1966080,
        "vcpus": 160,
        "price_hourly": 35.28,
        "regions": ["tor1"],
        "available": True,
        "gpu_info": {
            "count": 8,
            "vram": {"amount": 640, "unit": "gib"},
            "model": "nvidia_h100",
        },
        **changes,
    }
    body = json.dumps({"sizes": [size], "meta": {"total": 1}})
    reply = httpx.Response(200, text=body, request=httpx.Request("GET", URL))
    stamp(reply, observed_at=recording("sizes-1").made_on, evidence=Evidence.COMPOSED)
    return list(DigitalOcean(specs, Access()).offers_in([reply]))


def test_a_price_is_of_the_whole_droplet(rows: list[Offer | Rejection]) -> None:
    found = of_slug(rows, "gpu-h100x8-640gb")
    assert [offer.place.region for offer in found] == ["nyc2", "tor1", "ams3"]
    offer = found[0]
    assert offer.usd_per_hour == Decimal("35.28")  # 8 × 4.41, as published per GPU
    assert offer.price_kind is PriceKind.ON_DEMAND
    assert offer.commitment is None
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.hardware.shape.gpu_count == 8
    assert offer.hardware.shape.link is Link.NVSWITCH
    assert offer.hardware.vcpus == 160
    assert offer.hardware.host_memory_gib == 1920
    assert "powered off" in offer.warnings[0]


def test_boot_and_scratch_disks_add_up(rows: list[Offer | Rejection]) -> None:
    (offer, *_) = of_slug(rows, "gpu-h100x1-80gb")
    # 720 GiB and 5 TiB, in GB of 10⁹ bytes
    assert offer.hardware.local_disk_gb == pytest.approx(720 * 1.073741824 + 5 * 1099.511627776)


def test_a_disk_in_an_unknown_unit_leaves_the_disk_unknown(specs: Specs) -> None:
    disks: JsonValue = [{"type": "local", "size": {"amount": 2, "unit": "blocks"}}]
    (offer,) = of_slug(translate(specs, disk_info=disks), "gpu-h100x8-640gb")
    assert offer.hardware.local_disk_gb is None


@pytest.mark.parametrize(
    ("slug", "gpu", "bought"),
    [
        ("gpu-mi350x1-288gb-spot", "MI350X", ("2.46", "ric1")),
        ("gpu-mi355x8-2304gb-spot", "MI355X", ("23.76", "mem1")),
        ("gpu-b300x8-2304gb-lc-spot", "B300", ("64.00", "mkc1")),
    ],
)
def test_spot_stands_in_the_slug(
    rows: list[Offer | Rejection], slug: str, gpu: str, bought: tuple[str, str]
) -> None:
    (offer,) = of_slug(rows, slug)
    assert offer.price_kind is PriceKind.SPOT
    assert offer.spot is not None
    assert offer.hardware.shape.gpu == gpu
    assert (offer.usd_per_hour, offer.place.region) == (Decimal(bought[0]), bought[1])
    assert offer.place.country == "US"


def test_a_size_that_the_account_may_not_have_is_no_offer(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["gpu-mi300x1-192gb"] == "no_region"
    assert rejected(rows)["gpu-b300x8-2304gb-spot"] == "no_region"


def test_a_contract_price_is_never_taken_for_an_hour_on_demand(specs: Specs) -> None:
    found = translate(specs, slug="gpu-h100x8-640gb-contracted")
    assert rejected(found) == {"gpu-h100x8-640gb-contracted": "contract_only"}


def test_a_size_that_is_not_available_is_no_offer(specs: Specs) -> None:
    assert rejected(translate(specs, available=False)) == {"gpu-h100x8-640gb": "not_available"}


def test_a_size_without_a_gpu_is_no_offer(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["s-1vcpu-1gb"] == "not_a_gpu"


@pytest.mark.parametrize("price", [0, None, -1])
def test_zero_and_nothing_are_no_prices(specs: Specs, price: JsonValue) -> None:
    assert rejected(translate(specs, price_hourly=price)) == {"gpu-h100x8-640gb": "no_price"}


def test_video_memory_is_of_all_gpus_together(specs: Specs) -> None:
    """A new slug, known by its model alone: 80 GB each, not 640."""
    (offer,) = [row for row in translate(specs, slug="gpu-h100x8-new") if isinstance(row, Offer)]
    assert offer.hardware.shape.gpu == "H100-SXM"
    each: JsonValue = {"count": 8, "vram": {"amount": 80, "unit": "gib"}, "model": "nvidia_h100"}
    assert rejected(translate(specs, slug="gpu-h100x8-new", gpu_info=each)) == {
        "gpu-h100x8-new": "unknown_gpu"
    }


def test_a_count_that_contradicts_the_slug_is_rejected(specs: Specs) -> None:
    four: JsonValue = {"count": 4, "vram": {"amount": 320, "unit": "gib"}, "model": "nvidia_h100"}
    assert rejected(translate(specs, gpu_info=four)) == {
        "gpu-h100x8-640gb": "contradicts_known_type"
    }


def test_pages_are_asked_for_until_all_sizes_are_there(specs: Specs) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.params["page"])
        sizes: list[JsonValue] = [{}] * (200 if len(asked) < 3 else 7)
        return httpx.Response(200, json={"sizes": sizes, "meta": {"total": 407}})

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(DigitalOcean(specs, Access()).fetch(http))
    assert asked == ["1", "2", "3"]


def test_each_cloud_gets_its_own_key_and_no_other(specs: Specs) -> None:
    recorded, amd = RecordedTransport("digitalocean"), recording("amd-developer-cloud")
    sent: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append((request.url.host, request.headers["Authorization"]))
        if request.url.host == httpx.URL(AMD_URL).host:
            return amd.reply()
        return recorded.handle_request(request)

    cloud, missing = DigitalOcean(specs, BOTH), list[Missing]()
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), missing)))
    assert set(sent) == {
        ("api.digitalocean.com", "Bearer do-s3cr3t"),
        ("api.devcloud.amd.com", "Bearer amd-s3cr3t"),
    }
    assert missing == []
    (offer,) = of_slug(found, "gpu-mi300x1-192gb-devcloud")
    assert offer.usd_per_hour == Decimal("1.99")
    assert offer.place.region == "atl1"
    assert any("AMD Developer Cloud" in warning for warning in offer.warnings)
    assert rejected(found)["gpu-mi300x8-1536gb-devcloud"] == "no_region"
    assert "s3cr3t" not in repr(vars(cloud))


def test_amds_cloud_may_fail_alone(specs: Specs) -> None:
    recorded, refusal = RecordedTransport("digitalocean"), recording("unauthorized")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == httpx.URL(AMD_URL).host:
            return refusal.reply()
        return recorded.handle_request(request)

    cloud, missing = DigitalOcean(specs, BOTH), list[Missing]()
    inner = httpx.MockTransport(answer)
    with live_client(lambda: refusal.made_on, transport=inner) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), missing)))
    assert of_slug(found, "gpu-h100x8-640gb")
    (part,) = missing
    assert part.region == "atl1"
    assert "401" in part.why


def test_a_refused_key_is_a_provider_error_with_a_remedy(specs: Specs) -> None:
    refusal = recording("unauthorized")
    inner = httpx.MockTransport(lambda _: refusal.reply())
    with (
        live_client(lambda: refusal.made_on, transport=inner) as http,
        pytest.raises(ProviderError, match="Unable to authenticate") as error,
    ):
        list(DigitalOcean(specs, BOTH).fetch(http))
    assert "API_KEY" in error.value.hint
    assert "s3cr3t" not in str(error.value)
