"""RunPod: prices of one GPU, two clouds, stock by place and count."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import httpx
import pytest
from pydantic import JsonValue, SecretStr

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, Payment, PriceKind, Rejection, Virtualization
from broker.specs.load import Specs, load_specs
from providers.kit.access import Access
from providers.kit.parts import Missing, replies_only
from providers.kit.recorded import RecordedTransport, recordings
from providers.runpod.cloud import RunPod
from providers.runpod.machines import area

Gpu = dict[str, JsonValue]
H100 = "NVIDIA H100 80GB HBM3"


class Edited(httpx.BaseTransport):
    """Answers from the recordings, with the types edited by `edit`; keeps the requests."""

    def __init__(self, edit: Callable[[Gpu], None] = lambda gpu: None) -> None:
        self.requests: list[httpx.Request] = []
        self._inner = RecordedTransport("runpod")
        self._edit = edit

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._inner.handle_request(request)
        body = json.loads(reply.read())
        for gpu in body["data"]["gpuTypes"]:
            self._edit(gpu)
        return httpx.Response(200, json=body, extensions=reply.extensions)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def run(specs: Specs, edit: Callable[[Gpu], None] = lambda gpu: None) -> list[Offer | Rejection]:
    cloud = RunPod(specs, Access())
    with httpx.Client(transport=Edited(edit)) as http:
        return list(cloud.offers_in(replies_only(cloud.fetch(http), [])))


@pytest.fixture(scope="module")
def rows(specs: Specs) -> list[Offer | Rejection]:
    return run(specs)


@pytest.fixture(scope="module")
def by_key(rows: list[Offer | Rejection]) -> dict[str, Offer]:
    return {row.key: row for row in rows if isinstance(row, Offer)}


def rejected(rows: list[Offer | Rejection]) -> dict[str, str]:
    return {row.subject: row.reason for row in rows if isinstance(row, Rejection)}


def test_a_price_is_of_one_gpu_and_an_offer_of_the_whole_pod(by_key: dict[str, Offer]) -> None:
    for count, usd in ((1, "3.29"), (2, "6.58"), (4, "13.16"), (8, "26.32")):
        offer = by_key[f"runpod/{count}x {H100}/US-KS-2:secure@on_demand"]
        assert offer.usd_per_hour == Decimal(usd)
        assert offer.hardware.shape.gpu == "H100-SXM"
        assert offer.hardware.shape.gpu_count == Fraction(count)
        assert offer.hardware.virtualization is Virtualization.CONTAINER


def test_secure_and_community_are_offers_of_their_own(by_key: dict[str, Offer]) -> None:
    secure = by_key[f"runpod/1x {H100}/US-KS-2:secure@on_demand"]
    community = by_key[f"runpod/1x {H100}/US:community@on_demand"]
    assert (secure.usd_per_hour, community.usd_per_hour) == (Decimal("3.29"), Decimal("2.69"))
    assert (secure.tier, community.tier) == ("secure", "community")


def test_spot_is_the_spot_price_of_the_same_cloud(by_key: dict[str, Offer]) -> None:
    secure = by_key[f"runpod/2x {H100}/US-KS-2:secure@spot"]
    community = by_key[f"runpod/1x {H100}/US:community@spot"]
    assert (secure.usd_per_hour, community.usd_per_hour) == (Decimal("3.50"), Decimal("1.50"))
    assert secure.spot is not None


def test_a_savings_plan_is_paid_at_the_start(by_key: dict[str, Offer]) -> None:
    offer = by_key[f"runpod/8x {H100}/US-KS-2:secure@reserved-6m-all_upfront"]
    assert offer.usd_per_hour == 0
    assert offer.commitment is not None
    assert offer.commitment.payment is Payment.ALL_UPFRONT
    assert offer.commitment.upfront_usd == Decimal("100214.4")  # 2.86 × 8 × 730 h × 6
    assert offer.effective_usd_per_hour == Decimal("22.88")


def test_plans_are_of_three_and_six_months_in_the_secure_cloud(by_key: dict[str, Offer]) -> None:
    plans = [one for one in by_key.values() if one.price_kind is PriceKind.RESERVED]
    terms = {one.commitment.term_months for one in plans if one.commitment}
    assert terms == {3, 6}
    assert {one.tier for one in plans} == {"secure"}


def test_a_price_of_a_cloud_that_does_not_sell_the_card_is_no_offer(
    rows: list[Offer | Rejection], by_key: dict[str, Offer]
) -> None:
    assert rejected(rows)["NVIDIA H200 NVL community"] == "not_sold"
    assert not [key for key in by_key if "H200 NVL" in key and "community" in key]
    assert min(one.effective_usd_per_hour for key, one in by_key.items() if "H200 NVL" in key) > 3


def test_slices_of_a_gpu_are_not_whole_ones(
    rows: list[Offer | Rejection], by_key: dict[str, Offer]
) -> None:
    subject = "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb"
    assert rejected(rows)[subject] == "mig_slice"
    assert not [key for key in by_key if "MIG" in key]


def test_a_slice_of_a_b300_is_not_a_b300(specs: Specs) -> None:
    def rename(gpu: Gpu) -> None:
        if gpu["id"] == "NVIDIA B300 SXM6 AC":
            gpu["id"] = "NVIDIA B300 SXM6 AC MIG 1g.36gb"

    found = rejected(run(specs, rename))
    assert found["NVIDIA B300 SXM6 AC MIG 1g.36gb"] == "mig_slice"


def test_an_unknown_card_is_rejected_and_not_guessed(specs: Specs) -> None:
    def rename(gpu: Gpu) -> None:
        if gpu["id"] == H100:
            gpu["id"] = "NVIDIA H100X 80GB"

    rows = run(specs, rename)
    assert rejected(rows)["NVIDIA H100X 80GB"] == "unknown_gpu"
    assert not [row for row in rows if isinstance(row, Offer) and "H100X" in row.key]


def test_an_id_with_two_spaces_is_the_same_card(by_key: dict[str, Offer]) -> None:
    offer = by_key["runpod/1x NVIDIA  RTX A4500/US-KS-2:secure@on_demand"]
    assert offer.hardware.shape.gpu == "RTXA4500"


def test_counts_stop_at_the_most_that_a_pod_may_have(by_key: dict[str, Offer]) -> None:
    counts = {
        one.hardware.shape.gpu_count
        for key, one in by_key.items()
        if H100 in key and one.tier == "community"
    }
    assert counts == {Fraction(1)}  # two are in stock, but a community pod has one at most


def test_a_count_without_stock_is_no_offer(by_key: dict[str, Offer]) -> None:
    in_japan = [key for key in by_key if H100 in key and "/AP-JP-1" in key]
    assert in_japan
    assert {key.split("/")[1] for key in in_japan} == {f"1x {H100}"}


def test_a_card_that_no_place_has_is_rejected(rows: list[Offer | Rejection]) -> None:
    assert rejected(rows)["NVIDIA B200 community"] == "no_capacity"


def test_the_level_of_stock_is_kept(by_key: dict[str, Offer]) -> None:
    assert by_key[f"runpod/1x {H100}/US-KS-2:secure@on_demand"].limits.stock_level == "high"
    assert by_key[f"runpod/8x {H100}/US-KS-2:secure@on_demand"].limits.stock_level == "low"


def test_cpus_and_ram_are_of_the_whole_pod_and_not_scaled(by_key: dict[str, Offer]) -> None:
    offer = by_key["runpod/8x NVIDIA L40S/US-KS-2:secure@on_demand"]
    assert offer.hardware.vcpus == 128
    assert offer.hardware.host_memory_gib == pytest.approx(752e9 / 2**30)


def test_listed_data_centres_and_named_countries_are_asked(specs: Specs) -> None:
    transport = Edited()
    with httpx.Client(transport=transport) as http:
        list(RunPod(specs, Access()).fetch(http))
    asked = [json.loads(request.content)["variables"] for request in transport.requests[2:]]
    places = [one["eight"].get("dataCenterId") or one["eight"].get("countryCode") for one in asked]
    assert places == ["AP-JP-1", "EU-RO-1", "US-KS-2", "CZ", "US"]
    assert [one["eight"]["secureCloud"] for one in asked] == [True] * 3 + [False] * 2
    assert {name: one["gpuCount"] for name, one in asked[0].items()} == {
        "one": 1,
        "two": 2,
        "four": 4,
        "eight": 8,
    }


def test_community_offers_lie_in_their_country(by_key: dict[str, Offer]) -> None:
    offer = by_key["runpod/1x NVIDIA GeForce RTX 4090/CZ:community@on_demand"]
    assert (offer.place.region, offer.place.country) == ("CZ", "CZ")


@pytest.mark.parametrize(
    ("center", "country", "continent"),
    [
        ("US-KS-2", "US", "us"),
        ("CA-MTL-3", "CA", "us"),
        ("EU-RO-1", "RO", "eu"),
        ("EUR-IS-1", "IS", "eu"),
        ("AP-JP-1", "JP", "ap"),
        ("OC-AU-1", "AU", "oc"),
        ("XX-YY-1", "YY", None),
        ("somewhere", None, None),
    ],
)
def test_the_id_of_a_data_centre_names_its_country(
    center: str, country: str | None, continent: str | None
) -> None:
    assert area(center) == (country, continent)


def test_secure_offers_lie_in_the_country_of_their_data_centre(by_key: dict[str, Offer]) -> None:
    offer = by_key[f"runpod/1x {H100}/EU-RO-1:secure@on_demand"]
    assert (offer.place.region, offer.place.country, offer.place.continent) == (
        "EU-RO-1",
        "RO",
        "eu",
    )


@pytest.mark.parametrize("spot", [3.29, 4.0])
def test_a_spot_price_that_is_no_saving_is_rejected(specs: Specs, spot: float) -> None:
    def raise_spot(gpu: Gpu) -> None:
        if gpu["id"] == H100:
            gpu["secureSpotPrice"] = spot

    rows = run(specs, raise_spot)
    assert rejected(rows)[f"{H100} secure spot"] == "spot_not_below_on_demand"
    secure = [row for row in rows if isinstance(row, Offer) and row.tier == "secure"]
    assert not [one for one in secure if H100 in one.key and one.price_kind is PriceKind.SPOT]


@pytest.mark.parametrize("price", [0, None])
def test_zero_and_nothing_are_no_prices(specs: Specs, price: JsonValue) -> None:
    def clear(gpu: Gpu) -> None:
        if gpu["id"] == H100:
            gpu["securePrice"] = price

    rows = run(specs, clear)
    assert rejected(rows)[f"{H100} secure on_demand"] == "no_price"
    secure = {row.key for row in rows if isinstance(row, Offer) and row.tier == "secure"}
    assert f"runpod/1x {H100}/US-KS-2:secure@on_demand" not in secure
    assert f"runpod/1x {H100}/US-KS-2:secure@spot" in secure


def test_a_plan_at_zero_is_rejected(specs: Specs) -> None:
    def clear(gpu: Gpu) -> None:
        if gpu["id"] == H100:
            gpu["sixMonthPrice"] = 0

    assert rejected(run(specs, clear))[f"{H100} secure 6 months"] == "no_price"


def test_a_graphql_error_with_status_200_is_a_provider_error(specs: Specs) -> None:
    (wrong,) = [one for one in recordings("runpod") if one.name == "error"]
    answer = httpx.MockTransport(lambda _: wrong.reply())
    cloud = RunPod(specs, Access())
    with (
        httpx.Client(transport=answer) as http,
        pytest.raises(ProviderError, match="Something went wrong"),
    ):
        list(cloud.offers_in(replies_only(cloud.fetch(http), [])))


class NoStockIn(httpx.BaseTransport):
    """Answers from the recordings, but for one place, whose answer is `broken`."""

    def __init__(self, place: str, broken: httpx.Response) -> None:
        self._inner = RecordedTransport("runpod")
        self._place = place
        self._broken = broken

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self._place in request.read().decode():
            return self._broken
        return self._inner.handle_request(request)


def test_a_place_that_answers_with_an_error_is_missing_and_the_others_are_there(
    specs: Specs,
) -> None:
    (wrong,) = [one for one in recordings("runpod") if one.name == "error"]
    cloud = RunPod(specs, Access())
    missing: list[Missing] = []
    with httpx.Client(transport=NoStockIn("EU-RO-1", wrong.reply())) as http:
        found = list(cloud.offers_in(replies_only(cloud.fetch(http), missing)))
    assert [one.region for one in missing] == ["EU-RO-1"]
    assert "Something went wrong" in missing[0].why
    regions = {row.place.region for row in found if isinstance(row, Offer)}
    assert "US-KS-2" in regions
    assert "EU-RO-1" not in regions


def test_no_key_is_needed_and_a_given_one_is_sent(specs: Specs) -> None:
    transport = Edited()
    with httpx.Client(transport=transport) as http:
        next(RunPod(specs, Access()).fetch(http))
        next(RunPod(specs, Access({"api_key": SecretStr("s3cr3t")})).fetch(http))
    assert "Authorization" not in transport.requests[0].headers
    assert transport.requests[1].headers["Authorization"] == "Bearer s3cr3t"


CLUSTER = f"cluster 8x {H100}"


def with_cluster_price(price: JsonValue, **changes: JsonValue) -> Callable[[Gpu], None]:
    """Give the H100's clusters a price: no source has one, so the recordings have none."""

    def change(gpu: Gpu) -> None:
        if "clusterPrice" in gpu and gpu["id"] == H100:
            gpu.update(clusterPrice=price, **changes)

    return change


def clusters(rows: list[Offer | Rejection]) -> list[Offer]:
    return [row for row in rows if isinstance(row, Offer) and row.tier == "cluster"]


def test_clusters_are_asked_for_by_the_name_that_the_query_has(specs: Specs) -> None:
    """A variable with another name would be ignored without an error."""
    transport = Edited()
    with httpx.Client(transport=transport) as http:
        list(RunPod(specs, Access()).fetch(http))
    asked = json.loads(transport.requests[1].content)
    assert set(asked["variables"]) == {"filter", "eight"}
    assert all(f"${name}:" in asked["query"] for name in asked["variables"])


def test_a_cluster_is_of_two_nodes_at_the_least_and_priced_by_the_node(specs: Specs) -> None:
    found = clusters(run(specs, with_cluster_price(3.5)))
    assert [one.place.region for one in found] == ["US-KS-2", "EU-RO-1"]
    for one in found:
        assert one.instance_type == CLUSTER
        assert one.usd_per_hour == Decimal("28.0")  # 8 × 3.50
        assert (one.limits.min_nodes, one.limits.max_nodes) == (2, 8)
        assert one.hardware.max_cluster_nodes == 8
        assert one.hardware.shape.fabric_gbit_per_s == 3200
        assert (one.price_kind, one.commitment) == (PriceKind.ON_DEMAND, None)


def test_clusters_without_a_price_are_no_offers(rows: list[Offer | Rejection]) -> None:
    assert not clusters(rows)
    assert rejected(rows)[f"{H100} cluster"] == "no_price"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"clusterPrice": 0}, "no_price"),
        ({"nodeGroupDatacenters": []}, "no_capacity"),
        ({"nodeGroupDatacenters": None}, "no_capacity"),
        ({"lowestPrice": None}, "no_capacity"),
        ({"lowestPrice": {"stockStatus": None, "minVcpu": None}}, "no_capacity"),
        ({"maxGpuCountSecureCloud": None}, "not_a_gpu"),
    ],
)
def test_a_cluster_that_is_no_offer_says_why(
    specs: Specs, changes: dict[str, JsonValue], reason: str
) -> None:
    price = changes.pop("clusterPrice", 3.5)
    rows = run(specs, with_cluster_price(price, **changes))
    assert not clusters(rows)
    assert rejected(rows)[f"{H100} cluster"] == reason


def test_the_bill_of_disk_is_told_and_what_a_plan_covers(by_key: dict[str, Offer]) -> None:
    for key, one in by_key.items():
        assert any("disk is billed apart" in warning for warning in one.warnings), key
        covers = any("covers the GPUs alone" in warning for warning in one.warnings)
        assert covers is (one.price_kind is PriceKind.RESERVED), key
        assert one.billing.step_s == 1
        assert one.billing.prepaid is (True if one.commitment else None), key
