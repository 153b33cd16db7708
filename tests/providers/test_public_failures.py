"""What went wrong in public price catalogs, and cannot here: one test each.

Every test takes rows of a fixture (fixtures/PROVIDER, or public_failures.csv beside this file for
rows that only lists of peers have) through the real adapter and, where it matters, the gates, the
filters of a plan and the program.
"""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from buying import gpus_bought
from provider_runs import NOW, Run, run_of
from tiny_cases import offer

from broker.catalog.gates import Gates, Quarantined, Reason, Screened, gates_from, screen
from broker.catalog.runs import RunStatus
from broker.catalog.store import open_catalog
from broker.domain.offer import UNKNOWN_REGION, Link, Offer, PriceKind
from broker.domain.policy import Policy
from broker.planning.filters import why_not
from broker.planning.freshness import NEVER, Freshness
from broker.planning.refresh import ProviderReader, refresh_catalog
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.kit.recorded import RecordedTransport
from providers.registry import PROVIDERS, adapters
from providers.sheet.read import SheetReading, read_sheet

LIUM_HOST = "00000000-0000-4000-8000-000000000016"
SHEET = Path(__file__).with_name("public_failures.csv")
FRESH = Freshness(NOW, NEVER, NEVER)
NO_RULES = Policy()

Ran = Callable[[str], Run]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture(scope="module")
def gates(specs: Specs) -> Gates:
    return gates_from(Settings(), specs.nodes, market=specs.market, sold_in=specs.sold_in)


@pytest.fixture(scope="module")
def ran(specs: Specs) -> Ran:
    """Run a provider's adapter over its recordings, once for all tests."""
    done: dict[str, Run] = {}

    def run(provider: str) -> Run:
        if provider not in done:
            (adapter,) = adapters(specs, Settings(keys={}), [provider])
            done[provider] = run_of(adapter, RecordedTransport(provider))
        return done[provider]

    return run


@pytest.fixture(scope="module")
def sheet(specs: Specs) -> SheetReading:
    return read_sheet(SHEET, specs)


def refusal(run: Run | SheetReading, subject: str) -> tuple[str, str]:
    """Give reason and detail of the one rejected row of a name."""
    ((reason, detail),) = {
        (one.reason, one.detail) for one in run.rejections if one.subject.startswith(subject)
    }
    return reason, detail


def named(run: Run, key: str) -> Offer:
    (found,) = (one for one in run.offers if one.key == key)
    return found


def held(screened: Screened, key: str) -> Quarantined:
    (found,) = (one for one in screened.quarantined if one.offer.key == key)
    assert key not in {one.key for one in screened.offers}
    return found


def test_a_price_of_zero_is_no_offer(ran: Ran) -> None:
    # fixtures/azure/nd_page1.json: ND96isr H200 v5 in southcentralus; hotaisle: 0 cents
    zero = "Standard_ND96isr_H200_v5/southcentralus: ND96isrH200v5 (Consumption)"
    assert refusal(ran("azure"), zero) == ("no_price", "on_demand 0.0 USD")
    assert refusal(ran("hotaisle"), "vm-mi300x-1-10c") == ("no_price", "0 cents")
    assert refusal(ran("aws"), "us-east-2/g5.48xlarge@spot")[0] == "zero_price"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_recorded_offer_costs_nothing(ran: Ran, provider: str) -> None:
    for one in ran(provider).offers:
        assert one.effective_usd_per_hour > 0, one.key
        assert one.effective_usd_per_hour.is_finite(), one.key


def test_an_empty_price_is_no_offer(ran: Ran, sheet: SheetReading) -> None:
    # fixtures/aws/spot-feed.json has 'N/A*', fixtures/jarvislabs/server-meta.json null
    assert refusal(ran("aws"), "us-east-1/p5.4xlarge@spot")[0] == "unreadable_price"
    assert refusal(ran("jarvislabs"), "A30 in india-chennai-01")[0] == "no_price"
    assert refusal(sheet, "gpu_1x_h100_sxm5")[0] == "no_price"


def test_a_price_that_is_not_a_number_is_no_offer_and_spoils_no_other(
    ran: Ran, sheet: SheetReading
) -> None:
    # fixtures/aws/prices-us-east-2.json: a second row of g6e.xlarge
    reason, detail = refusal(ran("aws"), "us-east-2/g6e.xlarge")
    assert reason == "unreadable_price"
    assert "'NaN'" in detail
    good = named(ran("aws"), "aws/g6e.xlarge/us-east-2@on_demand")
    assert good.usd_per_hour == Decimal("1.861")
    assert refusal(sheet, "gpu_1x_h100_pcie")[0] == "no_price"


def test_spot_above_on_demand_is_held_back(ran: Ran, gates: Gates) -> None:
    # fixtures/vast/bid.json: 19.90 bid for the four B200 that rent for 18.82
    screened = screen(ran("vast").offers, gates)
    found = held(screened, "vast/m4417-4xB200/US@spot")
    assert found.reason is Reason.SPOT_NO_DISCOUNT
    assert found.detail == "spot 19.9, on demand 18.82 $/h"


def test_spot_as_dear_as_on_demand_is_held_back(ran: Ran, gates: Gates) -> None:
    # fixtures/azure/nd_page1.json: both rows of the ND96isr H200 v5 in polandcentral
    screened = screen(ran("azure").offers, gates)
    found = held(screened, "azure/Standard_ND96isr_H200_v5/polandcentral@spot")
    assert found.reason is Reason.SPOT_NO_DISCOUNT


def test_a_bid_floor_of_one_cent_is_no_price_to_plan_with(ran: Ran, gates: Gates) -> None:
    # fixtures/vast/bid.json: one cent is the least bid for the A100 of machine 4420
    screened = screen(ran("vast").offers, gates)
    found = held(screened, "vast/m4420-1xA100-40-SXM/Bavaria, DE@spot")
    assert found.reason is Reason.PRICE_OUT_OF_BAND
    assert "spot 0.01, on demand 0.76" in found.detail


def test_an_auction_that_stands_on_its_floor_is_no_offer(ran: Ran) -> None:
    # fixtures/mithril: one dollar, at which nothing was ever rented
    reason, detail = refusal(ran("mithril"), "h100-80gb.sxm.1x in us-central2-a spot")
    assert (reason, detail) == ("auction_floor", "100 cents stand on the floor of 100")


def test_a_host_that_is_billed_apart_is_part_of_the_price(ran: Ran) -> None:
    # fixtures/gcp: 8 V100 at 2.48 are a part, n1-standard-64 at 3.039984 the other
    machine = "gcp/n1-standard-64+nvidia-tesla-v100x8/us-west1@on_demand"
    found = named(ran("gcp"), machine)
    assert found.components is not None
    assert found.components.gpus_usd == 8 * Decimal("2.48")
    assert found.usd_per_hour == Decimal("19.84") + Decimal("3.039984")
    for provider in ("gcp", "cudo"):
        for one in ran(provider).offers:
            if parts := one.components:
                total = parts.gpus_usd + parts.host_usd + parts.disk_usd
                assert one.usd_per_hour == total, one.key


def test_total_memory_is_not_taken_for_that_of_one_gpu(ran: Ran) -> None:
    # fixtures/digitalocean: vram 2048 of all eight; fixtures/primeintellect: gpuMemory 1440
    eight = named(ran("digitalocean"), "digitalocean/gpu-mi325x8-2048gb/nyc2@on_demand")
    assert eight.hardware.shape.gpu_count == 8
    assert eight.hardware.gpu_memory_gib == pytest.approx(254.63)
    (b200,) = (one for one in ran("primeintellect").offers if one.hardware.shape.gpu == "B200")
    assert b200.hardware.gpu_memory_gib == pytest.approx(179.06)


def test_no_gpu_has_1430_gb(ran: Ran, sheet: SheetReading) -> None:
    # fixtures/aws/prices-us-east-2.json: '1430 GB HBM3e' is of all eight of p6-b200.48xlarge
    found = named(ran("aws"), "aws/p6-b200.48xlarge/us-east-2@on_demand")
    assert found.hardware.shape.gpu_count == 8
    assert found.hardware.gpu_memory_gib == pytest.approx(179.06)
    reason, detail = refusal(sheet, "p6-b200.48xlarge")
    assert reason == "contradicts_known_model"
    assert detail.startswith("1430 GiB on one GPU")


def test_twelve_gpus_on_an_azure_type_of_eight_are_refused(
    ran: Ran, sheet: SheetReading, gates: Gates
) -> None:
    # public_failures.csv, as skypilot's catalog had it; Azure itself states no count
    reason, detail = refusal(sheet, "Standard_ND96isr_H100_v5")
    assert reason == "contradicts_known_instance"
    assert detail.startswith("the sheet says 12 GPUs, Standard_ND96isr_H100_v5 has 8")
    good = named(ran("azure"), "azure/Standard_ND96isr_H100_v5/eastus@on_demand")
    assert good.hardware.shape.gpu_count == 8
    shape = good.hardware.shape.model_copy(update={"gpu_count": Fraction(12)})
    hardware = good.hardware.model_copy(update={"shape": shape})
    wrong = good.model_copy(update={"hardware": hardware})
    assert held(screen([wrong], gates), good.key).reason is Reason.CONTRADICTS_NODE


def test_a_sixth_of_an_a10_is_a_sixth(ran: Ran, sheet: SheetReading) -> None:
    # fixtures/azure/nv_page1.json; public_failures.csv lists it as one card with 24 GB
    (listed,) = (one for one in sheet.offers if one.instance_type == "Standard_NV6ads_A10_v5")
    recorded = named(ran("azure"), "azure/Standard_NV6ads_A10_v5/eastus@on_demand")
    for one in (listed, recorded):
        assert one.hardware.shape.gpu_count == Fraction(1, 6)
        assert one.hardware.gpu_memory_gib == pytest.approx(4.0)
        assert why_not(one, NO_RULES, FRESH) == "part of a GPU only"


def test_a_mig_slice_is_not_sold_as_a_card(ran: Ran) -> None:
    # fixtures/runpod: a quarter and a half of an RTX PRO 6000 under names of their own
    name = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    slices = {one.subject for one in ran("runpod").rejections if one.reason == "mig_slice"}
    assert slices == {f"{name} MIG 1g.24gb", f"{name} MIG 2g.48gb"}
    assert not [one for one in ran("runpod").offers if "MIG" in one.instance_type]


def test_a_bare_a100_is_refused_with_what_it_may_be(ran: Ran) -> None:
    # fixtures/jarvislabs and fixtures/seeweb: the form is unsaid
    reason, detail = refusal(ran("jarvislabs"), "A100 in india-noida-01 (container)")
    assert reason == "ambiguous_gpu"
    assert detail == "'A100' may be A100-40-PCIe, A100-40-SXM"
    assert refusal(ran("seeweb"), "ECS1GPU3")[0] == "ambiguous_gpu"


def test_rtx_6000_in_five_spellings_is_five_cards(ran: Ran) -> None:
    # fixtures/lambda and fixtures/runpod; GB as sold: 24, 48, 48, 96, 96
    of = {
        "QuadroRTX6000": ("lambda", "gpu_1x_rtx6000", 24),
        "RTXA6000": ("lambda", "gpu_1x_a6000", 48),
        "RTX6000Ada": ("runpod", "1x NVIDIA RTX 6000 Ada Generation", 48),
        "RTXPRO6000": ("runpod", "1x NVIDIA RTX PRO 6000 Blackwell Server Edition", 96),
        "RTXPRO6000-WS": ("runpod", "1x NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 96),
    }
    for model, (provider, instance_type, memory_gb) in of.items():
        found = [one for one in ran(provider).offers if one.instance_type == instance_type]
        assert {one.hardware.shape.gpu for one in found} == {model}
        assert found[0].hardware.gpu_memory_gib == pytest.approx(memory_gb, rel=0.01)


def test_h100_sxm_pcie_nvl_and_mega_are_told_apart(ran: Ran, specs: Specs) -> None:
    # fixtures/lambda, fixtures/runpod, fixtures/gcp
    assert named(
        ran("lambda"), "lambda/gpu_1x_h100_pcie/us-east-1@on_demand"
    ).hardware.shape.gpu == ("H100-PCIe")
    pods = {one.instance_type: one.hardware.shape for one in ran("runpod").offers}
    assert pods["2x NVIDIA H100 80GB HBM3"].gpu == "H100-SXM"
    assert pods["2x NVIDIA H100 80GB HBM3"].link is Link.NVSWITCH
    assert (pods["2x NVIDIA H100 NVL"].gpu, pods["2x NVIDIA H100 NVL"].link) == (
        "H100-NVL",
        Link.PCIE,
    )
    assert specs.gpu("H100-NVL").memory_gb == 94
    google = {one.instance_type: one.hardware.shape for one in ran("gcp").offers}
    high, mega = google["a3-highgpu-8g"], google["a3-megagpu-8g"]
    assert high.gpu == mega.gpu == "H100-SXM"
    assert (high.fabric_gbit_per_s, mega.fabric_gbit_per_s) == (800, 1600)


def test_a_tpu_without_memory_is_refused(sheet: SheetReading) -> None:
    # public_failures.csv: peers list 0 GB; a TPU v5e has 16
    reason, detail = refusal(sheet, "ct5lp-hightpu-8t")
    assert reason == "contradicts_known_model"
    assert detail == "0 GiB on one GPU, a TPUv5e has 15.91 GiB"


def test_a_gh200_is_no_h100_and_its_host_is_arm(ran: Ran) -> None:
    # fixtures/lambda/instance-types.json
    found = named(ran("lambda"), "lambda/gpu_1x_gh200/us-east-3@on_demand")
    assert found.hardware.shape.gpu == "GH200-96"
    assert found.hardware.cpu_architecture == "arm64"


def test_a_gb200_rack_is_one_nvlink_domain_of_nodes_with_four_gpus(ran: Ran) -> None:
    # fixtures/azure (a node) and fixtures/aws/capacity-blocks.json (a rack of 72)
    node = named(ran("azure"), "azure/Standard_ND128isr_NDR_GB200_v6/eastus@on_demand").hardware
    assert (node.shape.gpu, node.shape.gpu_count) == ("GB200", 4)
    assert (node.shape.link_domain_gpus, node.cpu_architecture) == (72, "arm64")
    rack = refusal(ran("aws"), "us-east-1-dfw-2/u-p6e-gb200x72@capacity_block")
    assert rack[0] == "ambiguous_price"
    key = "aws/p6e-gb200.36xlarge/us-east-1-dfw-2:u-p6e-gb200x72@capacity_block"
    assert named(ran("aws"), key).hardware.shape.gpu_count == 4


def test_an_offer_without_a_location_is_shown_and_not_planned_with(ran: Ran) -> None:
    # fixtures/oci/products.json has one price for all regions and names none
    found = ran("oci").offers
    assert found
    for one in found:
        assert one.place.region == UNKNOWN_REGION
        assert why_not(one, NO_RULES, FRESH) == "region unknown"


def test_a_region_where_a_machine_is_listed_and_not_sold_gives_no_plan(
    ran: Ran, sheet: SheetReading, gates: Gates
) -> None:
    # fixtures/gcp: the parts of an a4-highgpu-8g have prices in Mumbai, the machine is not there
    reason, detail = refusal(ran("gcp"), "a4-highgpu-8g/asia-south1")
    assert reason == "not_sold_in_region"
    assert "asia-northeast1" in detail
    found = held(screen(sheet.offers, gates), "gcp/a3-ultragpu-8g/us-west3@on_demand")
    assert found.reason is Reason.NOT_SOLD_THERE


def test_a_capacity_block_whose_price_is_quoted_later_is_no_offer(ran: Ran) -> None:
    # fixtures/aws/capacity-blocks.json 'N/A', fixtures/aws/prices-*.json 0, fixtures/mithril null
    assert refusal(ran("aws"), "eu-north-1/p6-b200.48xlarge@capacity_block")[0] == (
        "price_on_request"
    )
    assert refusal(ran("aws"), "us-west-2/p4de.24xlarge")[0] == "price_on_request"
    assert refusal(ran("mithril"), "h100-80gb.sxm.8x in us-central2-a capacity_block") == (
        "no_price",
        "None cents",
    )
    blocks = [one for one in ran("aws").offers if one.price_kind is PriceKind.CAPACITY_BLOCK]
    assert not [one for one in blocks if one.machine == "aws/p6-b200.48xlarge/eu-north-1"]
    assert all(one.usd_per_hour > 0 and one.block is not None for one in blocks)


class _Breaking(httpx.BaseTransport):
    """Answers so many requests from the recordings, the next ones with half a page."""

    def __init__(self, provider: str, whole: int) -> None:
        self._recorded = RecordedTransport(provider)
        self._whole = whole

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        reply = self._recorded.handle_request(request)
        self._whole -= 1
        if self._whole >= 0:
            return reply
        body = reply.read()
        return httpx.Response(200, content=body[: len(body) // 2], extensions=reply.extensions)


@pytest.mark.parametrize(
    ("provider", "whole", "status"),
    [
        ("digitalocean", 1, RunStatus.FAILED),  # the second page of one list
        ("azure", 2, RunStatus.PARTIAL),  # the third page of the ND sizes; the others come
    ],
)
def test_a_refresh_that_fails_half_way_leaves_the_old_catalog_whole(
    *,
    tmp_path: Path,
    specs: Specs,
    gates: Gates,
    provider: str,
    whole: int,
    status: RunStatus,
) -> None:
    catalog = open_catalog(tmp_path / "catalog.sqlite3")
    adapter = adapters(specs, Settings(keys={}), [provider])

    def refresh(transport: httpx.BaseTransport, hours: int) -> RunStatus:
        reader = ProviderReader(
            lambda _: httpx.Client(transport=transport),
            lambda: NOW + timedelta(hours=hours),
            live=False,
            timeout_s=60,
        )
        (outcome,) = refresh_catalog(catalog, adapter, reader, gates).outcomes
        return outcome.status

    assert refresh(RecordedTransport(provider), 1) is RunStatus.REFRESHED
    before = catalog.current_offers()
    assert before
    assert refresh(_Breaking(provider, whole), 2) is status
    assert catalog.current_offers() == before


def test_of_a_stock_of_three_where_eight_are_needed_three_are_bought(ran: Ran) -> None:
    # fixtures/lium: a host with three RTX 3090 for 0.66 an hour
    host = named(ran("lium"), f"lium/{LIUM_HOST}-3xRTX3090/DE:secure@on_demand")
    assert host.stock == (host.limits.stock_pool, 3)
    assert gpus_bought(8, host) == {}
    beside = offer("9.00")
    assert gpus_bought(8, host, beside) == {host.key: 3, beside.key: 5}
