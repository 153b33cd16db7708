from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from price_lists import NOON, after, an_offer, reserved

from broker.catalog.gates import Quarantined, Reason
from broker.catalog.listing import Listing, Name, listing_of
from broker.catalog.selection import first_of_each, ranked, select
from broker.domain.errors import ConfigurationError
from broker.domain.gpu import GpuModel
from broker.domain.offer import Fabric, Hardware, Link, Offer, PriceKind, Shape, Virtualization
from broker.planning.freshness import Freshness
from broker.planning.gpu_filter import matching_gpus
from broker.planning.offer_rows import Beside, offer_rows
from broker.planning.query import Compute, OfferQuery, Sort, order_of, selection_of
from broker.reports.rows import OfferRow
from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def with_shape(offer: Offer, **fields: object) -> Offer:
    shape = Shape.model_validate({**offer.hardware.shape.model_dump(), **fields})
    return offer.model_copy(update={"hardware": offer.hardware.model_copy(update={"shape": shape})})


def with_hardware(offer: Offer, **fields: object) -> Offer:
    hardware = Hardware.model_validate({**offer.hardware.model_dump(), **fields})
    return offer.model_copy(update={"hardware": hardware})


def names(listing: Listing, positions: Iterable[int]) -> list[str]:
    found = listing.entries(positions)
    return [(one.offer if isinstance(one, Quarantined) else one).instance_type for one in found]


def listed(
    offers: Iterable[Offer],
    specs: Specs,
    query: OfferQuery | None = None,
    *,
    sort: Sort = Sort.PER_GPU,
    compute: Compute = Compute.BF16,
    most: int | None = None,
) -> list[str]:
    listing = listing_of(offers)
    found = select(listing, selection_of(query or OfferQuery(), listing, specs))
    order = order_of(sort, compute, specs.gpus)
    return names(listing, ranked(listing, found, order, most=most))


def row_of(
    entry: Offer | Quarantined,
    gpus: dict[str, GpuModel] | None = None,
    *,
    hours: float = 0,
    compute: Compute = Compute.BF16,
) -> OfferRow:
    day = timedelta(days=1)
    freshness = Freshness(as_of=after(hours), spot=day, other=14 * day)
    (row,) = offer_rows([entry], Beside(gpus or {}, compute, freshness))
    return row


CHEAP = with_hardware(an_offer("2.00", name="cheap", gpu="A10"), gpu_memory_gib=22.49)
BIG = with_shape(
    an_offer("12.00", name="big", gpus=8),
    link=Link.NVSWITCH,
    fabric=Fabric.INFINIBAND,
    fabric_gbit_per_s=3200.0,
)
SPOT = an_offer("1.00", name="spot", kind=PriceKind.SPOT, zone="here-a")
FAR = with_hardware(
    an_offer("3.00", name="far", region="there", provider="zenith").model_copy(
        update={"certifications": ("SOC 2", "HIPAA"), "operator": "lambda"}
    ),
    virtualization=Virtualization.BARE_METAL,
)
YEAR = reserved("2.50", upfront="8760", name="year")  # 2.50 + 8760 / 8760 h = 3.50
ALL = ["spot", "big", "cheap", "far", "year"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (OfferQuery(), ALL),
        (OfferQuery(gpus=frozenset({"a10"})), ["cheap"]),
        (OfferQuery(forms=frozenset({"sxm"})), ["spot", "big", "far", "year"]),
        (OfferQuery(gpus=frozenset({"a10"}), forms=frozenset({"SXM"})), []),
        (OfferQuery(providers=frozenset({"ZENITH"})), ["far"]),
        (OfferQuery(clouds=frozenset({"lambda-labs"})), ["far"]),
        (OfferQuery(regions=frozenset({"There"})), ["far"]),
        (OfferQuery(regions=frozenset({"here-a"})), ["spot"]),
        (OfferQuery(countries=frozenset({"de"})), ALL),
        (OfferQuery(countries=frozenset({"Germany"})), ALL),
        (OfferQuery(countries=frozenset({"fr"})), []),
        (OfferQuery(continents=frozenset({"us"})), []),
        (OfferQuery(certifications=frozenset({"soc2"})), ["far"]),
        (OfferQuery(certifications=frozenset({"soc-2", "hipaa"})), ["far"]),
        (OfferQuery(price_kinds=frozenset({"spot"})), ["spot"]),
        (OfferQuery(terms=frozenset({12})), ["year"]),
        (OfferQuery(terms=frozenset({36})), []),
        (OfferQuery(min_gpus=8), ["big"]),
        (OfferQuery(min_gpus=2, max_gpus=4), []),
        (OfferQuery(max_gpus=1), ["spot", "cheap", "far", "year"]),
        (OfferQuery(min_memory_gb=80), ["spot", "big", "far", "year"]),
        (OfferQuery(min_memory_gb=81), []),
        (OfferQuery(min_node_memory_gb=640), ["big"]),
        (OfferQuery(min_bandwidth_gb_per_s=3000), ["spot", "big", "far", "year"]),
        (OfferQuery(links=frozenset({"nvswitch", "pcie"})), ["big"]),
        (OfferQuery(fabrics=frozenset({"infiniband"})), ["big"]),
        (OfferQuery(min_fabric_gbit_per_s=3200), ["big"]),
        (OfferQuery(bare_metal=True), ["far"]),
        (OfferQuery(max_usd_per_gpu_hour=Decimal("1.50")), ["spot", "big"]),
        (OfferQuery(max_usd_per_gpu_hour=Decimal("3.499999")), ["spot", "big", "cheap", "far"]),
        (OfferQuery(max_usd_per_hour=Decimal(2)), ["spot", "cheap"]),
    ],
)
def test_each_filter_leaves_what_it_names(
    query: OfferQuery, found: list[str], specs: Specs
) -> None:
    assert listed([CHEAP, BIG, SPOT, FAR, YEAR], specs, query) == found


def test_memory_is_asked_for_as_it_is_sold_and_kept_as_drivers_report_it(specs: Specs) -> None:
    assert BIG.hardware.gpu_memory_gib == 79.65
    assert specs.gpus["H100-SXM"].memory_gb == 80
    assert listed([BIG], specs, OfferQuery(min_memory_gb=80)) == ["big"]
    slice_of_one = an_offer("0.50", name="slice", gpus=Fraction(1, 4))
    cut = with_hardware(slice_of_one, gpu_memory_gib=19.9)
    assert listed([cut], specs, OfferQuery(min_memory_gb=21)) == []


def test_what_is_held_is_listed_alone_and_only_where_it_is_asked_for(specs: Specs) -> None:
    held = Quarantined(an_offer("0.001", name="odd"), Reason.PRICE_OUT_OF_BAND, "too low")
    listing = listing_of([CHEAP], [held])
    for asked, found in ((False, ["cheap"]), (True, ["odd"])):
        wanted = selection_of(OfferQuery(held=asked), listing, specs)
        assert names(listing, select(listing, wanted)) == found


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ({"gpus": {"h1000"}}, "unknown GPU 'h1000'", "H100-SXM"),
        ({"forms": {"SXN"}}, "unknown form 'SXN'", "did you mean one of: SXM?"),
        ({"providers": {"acne"}}, "unknown provider 'acne'", "did you mean one of: acme?"),
        ({"clouds": {"zenit"}}, "unknown cloud 'zenit'", "did you mean one of: zenith?"),
        ({"regions": {"their"}}, "unknown region 'their'", "there"),
        ({"countries": {"germny"}}, "unknown country 'germny'", "did you mean one of: germany?"),
        ({"countries": {"xx"}}, "unknown country 'xx'", "such as DE"),
        ({"continents": {"asia"}}, "unknown continent 'asia'", "ap (Asia and the Pacific)"),
        ({"certifications": {"hippa"}}, "unknown certification 'hippa'", "HIPAA"),
    ],
)
def test_an_unknown_name_is_an_error_with_the_nearest(
    query: dict[str, set[str]], message: str, hint: str, specs: Specs
) -> None:
    listing = listing_of([CHEAP, BIG, SPOT, FAR])
    asked = OfferQuery(**{field: frozenset(words) for field, words in query.items()})  # type: ignore[arg-type] - these fields are all sets of words
    with pytest.raises(ConfigurationError) as error:
        selection_of(asked, listing, specs)
    assert str(error.value) == message
    assert hint in error.value.hint


@pytest.mark.parametrize("field", ["gpus", "providers", "regions", "countries"])
def test_a_hint_has_eight_names_at_most(field: str, specs: Specs) -> None:
    offers = [
        an_offer(name=f"n{number}", provider=f"seller{number}", region=f"place-{number}")
        for number in range(30)
    ]
    for word in ("xyz", "place-", "seller", "a"):
        query = OfferQuery(**{field: frozenset({word})})  # type: ignore[arg-type] - a set of words
        with pytest.raises(ConfigurationError) as error:
            selection_of(query, listing_of(offers), specs)
        names_told = error.value.hint.rpartition("such as ")[2].partition("; all")[0]
        assert 1 <= len(names_told.split(", ")) <= 8


def test_a_provider_that_can_be_asked_is_known_before_it_has_offers(specs: Specs) -> None:
    listing = listing_of([CHEAP])
    query = OfferQuery(providers=frozenset({"datacrunch"}))  # the former name of verda
    wanted = selection_of(query, listing, specs, providers=("verda",))
    assert wanted.names[Name.PROVIDER] == {"verda"}
    assert not len(select(listing, wanted))


def test_equals_are_ordered_by_node_price_then_the_more_useful_machine_then_the_key(
    specs: Specs,
) -> None:
    small = with_hardware(an_offer(name="less-memory"), gpu_memory_gib=39.6)
    quick = with_shape(an_offer(name="quick"), fabric=Fabric.ROCE, fabric_gbit_per_s=400.0)
    strong = with_hardware(an_offer(name="strong"), vcpus=26.0)
    offers = [an_offer("4.00", name="z", gpus=2), an_offer(name="b"), an_offer(name="a"), small]
    expected = ["quick", "strong", "a", "b", "less-memory", "z"]
    assert listed([*offers, strong, quick], specs) == expected
    assert listed([quick, strong, *reversed(offers)], specs) == expected


def test_the_first_few_are_those_of_the_whole_order(specs: Specs) -> None:
    offers = [
        an_offer(f"{1 + number % 7}.00", name=f"n{number:02}", gpus=1 + number % 3)
        for number in range(40)
    ]
    whole = listed(offers, specs)
    for most in (1, 5, 39, 40, 100):
        assert listed(offers, specs, most=most) == whole[:most]


def test_an_offer_without_the_figure_comes_last(specs: Specs) -> None:
    offers = [an_offer("1.00", name="unknown", gpu="X1"), an_offer("9.00", name="known")]
    assert listed(offers, specs, sort=Sort.PER_TB_S) == ["known", "unknown"]
    assert listed(offers, specs, sort=Sort.PER_TB_S, most=1) == ["known"]
    assert listed(offers[:1], specs, sort=Sort.PER_TB_S, most=1) == ["unknown"]


@pytest.mark.parametrize(
    ("sort", "compute", "order"),
    [
        # node 8 and 3 $/h, GPU 1 and 3 $/h
        (Sort.PRICE, Compute.BF16, ["t4", "h100", "a100"]),
        (Sort.PER_GPU, Compute.BF16, ["t4", "h100", "a100"]),
        # per GiB: T4 0.30 / 79.65, H100 2.40 / 637.2, A100 2.45 / 79.65
        (Sort.PER_GB, Compute.BF16, ["t4", "h100", "a100"]),
        # per TB/s: T4 0.30 / 0.32 = 0.94, H100 0.30 / 3.35 = 0.09, A100 2.45 / 2.039 = 1.20
        (Sort.PER_TB_S, Compute.BF16, ["h100", "t4", "a100"]),
        # per PFLOP/s in BF16: T4 0.30 / 0.065 = 4.6, H100 0.30 / 0.989 = 0.30, A100 7.9
        (Sort.PER_PFLOP_S, Compute.BF16, ["h100", "t4", "a100"]),
        # an A100 and a T4 have no FP8: they come last, by the price of the node
        (Sort.PER_PFLOP_S, Compute.FP8, ["h100", "t4", "a100"]),
        # per POP/s in INT8: T4 0.30 / 0.13 = 2.31, H100 0.15, A100 2.45 / 0.624 = 3.93
        (Sort.PER_PFLOP_S, Compute.INT8, ["h100", "t4", "a100"]),
    ],
)
def test_the_order_is_by_the_figure_that_is_asked_for(
    sort: Sort, compute: Compute, order: list[str], specs: Specs
) -> None:
    offers = [
        an_offer("0.30", name="t4", gpu="T4"),
        an_offer("2.40", name="h100", gpus=8),
        an_offer("2.45", name="a100", gpu="A100-80-SXM"),
    ]
    assert listed(offers, specs, sort=sort, compute=compute) == order


def test_one_of_each_is_the_first_real_offer_of_each() -> None:
    offers = [
        an_offer("3.00", name="dear"),
        an_offer("2.00", name="cheap"),
        an_offer("9.00", name="other", provider="zenith"),
    ]
    listing = listing_of(offers)
    found = ranked(
        listing,
        select(listing, selection_of(OfferQuery(), listing, load_specs())),
        order_of(Sort.PER_GPU, Compute.BF16, {}),
    )
    assert names(listing, first_of_each(listing, found, Name.PROVIDER)) == ["cheap", "other"]


def test_prices_per_unit_are_those_of_the_data_sheet(specs: Specs) -> None:
    gpu = specs.gpus["H100-SXM"]
    row = row_of(an_offer("16.00", gpus=8), {gpu.name: gpu}, hours=6)
    assert gpu.bf16_tflops is not None
    assert gpu.fp8_tflops is not None
    assert row.price.usd_per_gpu_hour == Decimal(2)
    assert row.machine.memory_gib == pytest.approx(8 * 79.65)
    assert float(row.price.usd_per_gib_hour) == pytest.approx(2 / 79.65, abs=1e-6)
    per_tb_per_s = 2 / (gpu.memory_gb_per_s / 1000)
    assert float(row.price.usd_per_tb_per_s_hour or 0) == pytest.approx(per_tb_per_s, abs=1e-6)
    per_pflop_per_s = 2 / (gpu.bf16_tflops / 1000)
    assert float(row.price.usd_per_pflop_per_s_hour or 0) == pytest.approx(
        per_pflop_per_s, abs=1e-6
    )
    assert row.seen.age_h == 6.0
    in_fp8 = row_of(an_offer("16.00", gpus=8), {gpu.name: gpu}, compute=Compute.FP8)
    assert in_fp8.machine.compute == "fp8"
    assert float(in_fp8.price.usd_per_pflop_per_s_hour or 0) == pytest.approx(
        2 / (gpu.fp8_tflops / 1000), abs=1e-6
    )


def test_a_slice_of_a_gpu_is_priced_as_the_whole_gpu() -> None:
    row = row_of(an_offer("0.50", gpus=Fraction(1, 4)))
    assert row.price.usd_per_gpu_hour == Decimal(2)
    assert row.machine.memory_gib == pytest.approx(79.65)


def test_an_upfront_part_is_spread_over_the_term() -> None:
    price = row_of(reserved("1.00", upfront="8760")).price
    assert (price.usd_per_hour, price.effective_usd_per_hour) == (Decimal(1), Decimal(2))


def test_a_held_offer_says_why() -> None:
    held = Quarantined(an_offer("0.001"), Reason.PRICE_OUT_OF_BAND, "0.001 $/GPU-h is too low")
    seen = row_of(held).seen
    assert (seen.held, seen.held_detail) == ("price_out_of_band", "0.001 $/GPU-h is too low")


@pytest.mark.parametrize(
    ("kind", "hours", "stale"),
    [
        (PriceKind.SPOT, 24, False),
        (PriceKind.SPOT, 25, True),
        (PriceKind.ON_DEMAND, 14 * 24, False),
        (PriceKind.ON_DEMAND, 14 * 24 + 1, True),
    ],
)
def test_a_price_that_is_too_old_to_plan_with_says_so(
    kind: PriceKind, hours: float, *, stale: bool
) -> None:
    assert row_of(an_offer(kind=kind, seen_at=NOON), hours=hours).seen.stale is stale


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("h100", {"H100-PCIe", "H100-SXM", "H100-NVL"}),
        ("H100-SXM", {"H100-SXM"}),
        ("h100 sxm5", {"H100-SXM"}),
        ("A100 80GB", {"A100-80-PCIe", "A100-80-SXM"}),
        ("H20", {"H20", "H20-3e"}),
        ("a10", {"A10"}),
        ("rtx 4090", {"RTX4090"}),
        ("NVIDIA H100 80GB HBM3", {"H100-SXM"}),
    ],
)
def test_a_gpu_is_found_by_its_first_words(wanted: str, found: set[str], specs: Specs) -> None:
    assert matching_gpus(wanted, specs) == found


@pytest.mark.parametrize("wanted", ["", "  ", "--"])
def test_no_words_name_no_gpu(wanted: str, specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown GPU"):
        matching_gpus(wanted, specs)
