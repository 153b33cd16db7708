"""Lambda: cents of whole instances, forms in suffixes, regions with stock."""

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    Fabric,
    Link,
    Offer,
    PriceKind,
    Rejection,
    Virtualization,
)
from broker.specs.load import NodeFacts, Specs, load_specs
from providers.kit.access import Access
from providers.kit.adapter import stamp
from providers.kit.http import live_client
from providers.kit.recorded import recorded_client, recordings
from providers.lambda_cloud import URL, LambdaCloud


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture
def rows(specs: Specs) -> list[Offer | Rejection]:
    cloud = LambdaCloud(specs, Access())
    with recorded_client("lambda") as http:
        return list(cloud.offers_in(cloud.fetch(http)))


def of_type(rows: list[Offer | Rejection], name: str) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer) and row.instance_type == name]


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def translate(specs: Specs, /, **changes: JsonValue) -> list[Offer | Rejection]:
    """Translate one 8x H100 entry with fields of the instance type changed."""
    kind: dict[str, JsonValue] = {
        "name": "gpu_8x_h100_sxm5",
        "gpu_description": "H100 (80 GB SXM5)",
        "price_cents_per_hour": 3192,
        "specs": {"vcpus": 208, "memory_gib": 1800, "storage_gib": 22528, "gpus": 8},
        **changes,
    }
    entry = {"instance_type": kind, "regions_with_capacity_available": [{"name": "us-east-1"}]}
    body = json.dumps({"data": {"entry": entry}})
    (recording,) = [one for one in recordings("lambda") if one.replay]
    reply = httpx.Response(200, text=body, request=httpx.Request("GET", URL))
    stamp(reply, observed_at=recording.made_on, evidence=recording.evidence)
    return list(LambdaCloud(specs, Access()).offers_in([reply]))


def test_a_price_is_of_the_whole_instance_in_cents(rows: list[Offer | Rejection]) -> None:
    (offer,) = [
        one for one in of_type(rows, "gpu_8x_h100_sxm5") if one.place.region == "us-south-2"
    ]
    assert offer.usd_per_hour == Decimal("31.92")  # 8 × 3.99, as published per GPU
    assert offer.price_kind is PriceKind.ON_DEMAND
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.hardware.shape.gpu_count == Fraction(8)
    assert offer.hardware.shape.link is Link.NVSWITCH
    assert offer.hardware.virtualization is Virtualization.VM
    assert offer.hardware.vcpus == 208
    assert offer.hardware.host_memory_gib == 1800
    assert offer.hardware.local_disk_gb == pytest.approx(22528 * 1.073741824)
    assert offer.key == "lambda/gpu_8x_h100_sxm5/us-south-2@on_demand"


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("gpu_1x_a100", "A100-40-PCIe"),
        ("gpu_1x_a100_sxm4", "A100-40-SXM"),
        ("gpu_8x_a100", "A100-40-SXM"),
        ("gpu_8x_a100_80gb_sxm4", "A100-80-SXM"),
        ("gpu_1x_h100_pcie", "H100-PCIe"),
        ("gpu_1x_h100_sxm5", "H100-SXM"),
        ("gpu_8x_b200_sxm6", "B200"),
        ("gpu_1x_a10", "A10"),
        ("gpu_1x_a6000", "RTXA6000"),
        ("gpu_8x_v100_n", "V100-SXM-16"),
        ("gpu_1x_rtx6000", "QuadroRTX6000"),
    ],
)
def test_form_and_memory_tell_cards_of_one_name_apart(
    rows: list[Offer | Rejection], name: str, gpu: str
) -> None:
    assert {offer.hardware.shape.gpu for offer in of_type(rows, name)} == {gpu}


def test_an_offer_stands_in_the_regions_with_stock_and_in_no_other(
    rows: list[Offer | Rejection],
) -> None:
    regions = [offer.place.region for offer in of_type(rows, "gpu_1x_a100_sxm4")]
    assert regions == ["us-west-2", "asia-northeast-2", "europe-central-1"]


def test_a_type_without_stock_is_rejected(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["gpu_4x_b200_sxm6"] == "no_capacity"
    assert of_type(rows, "gpu_4x_b200_sxm6") == []


def test_cpu_types_are_no_offers(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["cpu_4x_general"] == "not_a_gpu"


def test_a_grace_hopper_is_an_arm_host(rows: list[Offer | Rejection]) -> None:
    (offer,) = of_type(rows, "gpu_1x_gh200")
    assert offer.hardware.cpu_architecture == "arm64"
    assert offer.hardware.shape.gpu == "GH200-96"
    assert offer.usd_per_hour == Decimal("2.29")


@pytest.mark.parametrize("price", [0, None, -1, float("nan")])
def test_zero_and_nothing_are_no_prices(specs: Specs, price: JsonValue) -> None:
    assert rejected(translate(specs, price_cents_per_hour=price)) == {
        "gpu_8x_h100_sxm5": "no_price"
    }


def test_a_price_that_is_no_number_is_rejected(specs: Specs) -> None:
    assert rejected(translate(specs, price_cents_per_hour="soon")) == {"entry": "unreadable_row"}


def test_a_new_card_is_not_guessed(specs: Specs) -> None:
    found = translate(specs, name="gpu_8x_x1", gpu_description="X1 (512 GB SXM9)")
    assert rejected(found) == {"gpu_8x_x1": "unknown_gpu"}


def test_a_stated_form_is_not_dropped_to_find_a_known_card(specs: Specs) -> None:
    found = translate(specs, name="gpu_8x_h200_pcie", gpu_description="H200 (141 GB PCIe)")
    assert [row for row in found if isinstance(row, Offer)] == []


def test_a_new_suffix_is_read_from_the_description(specs: Specs) -> None:
    found = translate(specs, name="gpu_4x_h100_new", gpu_description="H100 (80 GB PCIe)")
    assert [row.hardware.shape.gpu for row in found if isinstance(row, Offer)] == ["H100-PCIe"]


def test_a_count_that_contradicts_the_known_type_is_rejected(specs: Specs) -> None:
    known = NodeFacts(
        provider="lambda",
        instance_type="gpu_8x_h100_sxm5",
        gpu="H100-SXM",
        gpu_count=Fraction(8),
        gpu_memory_gib=None,
        vcpus=None,
        host_memory_gib=None,
        local_disk_gb=None,
        link=Link.NVSWITCH,
        fabric=Fabric.UNKNOWN,
        fabric_gbit_per_s=None,
        virtualization=Virtualization.VM,
        cpu_architecture="x86_64",
        source="a test",
    )
    with_node = dataclasses.replace(specs, nodes={("lambda", "gpu_8x_h100_sxm5"): known})
    found = translate(with_node, specs={"gpus": 4})
    assert rejected(found) == {"gpu_8x_h100_sxm5": "contradicts_known_type"}
    assert [row.hardware.shape.gpu for row in translate(with_node) if isinstance(row, Offer)] == [
        "H100-SXM"
    ]


def test_the_key_is_sent_as_a_bearer_token_and_never_printed(specs: Specs) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"data": {}})

    cloud = LambdaCloud(specs, Access({"api_key": SecretStr("s3cr3t")}))
    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        list(cloud.fetch(http))
        list(LambdaCloud(specs, Access()).fetch(http))
    assert seen[0].headers["Authorization"] == "Bearer s3cr3t"
    assert "Authorization" not in seen[1].headers
    assert "s3cr3t" not in repr(vars(cloud))


def test_a_refused_key_is_a_provider_error_with_a_remedy(specs: Specs) -> None:
    (refusal,) = [one for one in recordings("lambda") if one.name == "invalid-key"]
    answer = httpx.MockTransport(lambda _: refusal.reply())
    cloud = LambdaCloud(specs, Access({"api_key": SecretStr("s3cr3t")}))
    with (
        live_client(lambda: refusal.made_on, transport=answer) as http,
        pytest.raises(ProviderError, match="global/invalid-api-key") as error,
    ):
        list(cloud.fetch(http))
    assert "API_KEY" in error.value.hint
