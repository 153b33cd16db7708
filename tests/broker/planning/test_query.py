from decimal import Decimal
from fractions import Fraction

import pytest
from price_lists import NOON, after, an_offer, reserved

from broker.catalog.gates import Quarantined, Reason
from broker.domain.errors import ConfigurationError
from broker.domain.offer import PriceKind
from broker.planning.gpu_filter import matching_gpus
from broker.planning.query import OfferQuery, Sort, offer_rows
from broker.reports.rows import OfferRow
from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def names(rows: tuple[OfferRow, ...]) -> list[str]:
    return [row.machine.instance_type for row in rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (OfferQuery(), ["spot", "big", "cheap", "far"]),
        (OfferQuery(gpus=frozenset({"A10"})), ["cheap"]),
        (OfferQuery(providers=frozenset({"ZENITH"})), ["far"]),
        (OfferQuery(regions=frozenset({"There"})), ["far"]),
        (OfferQuery(regions=frozenset({"here-a"})), ["spot"]),
        (OfferQuery(countries=frozenset({"de"})), ["spot", "big", "cheap", "far"]),
        (OfferQuery(continents=frozenset({"us"})), []),
        (OfferQuery(price_kinds=frozenset({"spot"})), ["spot"]),
        (OfferQuery(min_gpus=8), ["big"]),
        (OfferQuery(min_memory_gib=80), []),
        (OfferQuery(max_usd_per_gpu_hour=Decimal("1.50")), ["spot", "big"]),
    ],
)
def test_each_filter_leaves_what_it_names(query: OfferQuery, found: list[str]) -> None:
    offers = [
        an_offer("2.00", name="cheap", gpu="A10"),
        an_offer("12.00", name="big", gpus=8),
        an_offer("1.00", name="spot", kind=PriceKind.SPOT, zone="here-a"),
        an_offer("3.00", name="far", region="there", provider="zenith"),
    ]
    assert names(offer_rows(offers, query, gpus={}, now=NOON)) == found


def test_prices_per_unit_are_those_of_the_data_sheet(specs: Specs) -> None:
    offer = an_offer("16.00", gpus=8)
    (row,) = offer_rows([offer], OfferQuery(), gpus=specs.gpus, now=after(6))
    gpu = specs.gpus["H100-SXM"]
    assert gpu.bf16_tflops is not None
    assert row.price.usd_per_gpu_hour == Decimal(2)
    assert row.machine.memory_gib == pytest.approx(8 * 79.65)
    assert float(row.price.usd_per_gib_hour) == pytest.approx(2 / 79.65, abs=1e-6)
    per_tb_per_s = 2 / (gpu.memory_gb_per_s / 1000)
    assert float(row.price.usd_per_tb_per_s_hour or 0) == pytest.approx(per_tb_per_s, abs=1e-6)
    per_pflop_per_s = 2 / (gpu.bf16_tflops / 1000)
    assert float(row.price.usd_per_pflop_per_s_hour or 0) == pytest.approx(
        per_pflop_per_s, abs=1e-6
    )
    assert row.age_h == 6.0


def test_a_slice_of_a_gpu_is_priced_as_the_whole_gpu() -> None:
    (row,) = offer_rows([an_offer("0.50", gpus=Fraction(1, 4))], OfferQuery(), gpus={}, now=NOON)
    assert row.price.usd_per_gpu_hour == Decimal(2)
    assert row.machine.memory_gib == pytest.approx(79.65)


def test_an_upfront_part_is_spread_over_the_term() -> None:
    (row,) = offer_rows([reserved("1.00", upfront="8760")], OfferQuery(), gpus={}, now=NOON)
    assert (row.price.usd_per_hour, row.price.effective_usd_per_hour) == (Decimal(1), Decimal(2))


def test_equals_are_ordered_by_node_price_and_then_by_key() -> None:
    offers = [an_offer("4.00", name="z", gpus=2), an_offer(name="b"), an_offer(name="a")]
    assert names(offer_rows(offers, OfferQuery(), gpus={}, now=NOON)) == ["a", "b", "z"]


def test_an_offer_without_the_figure_comes_last(specs: Specs) -> None:
    offers = [an_offer("1.00", name="unknown", gpu="X1"), an_offer("9.00", name="known")]
    rows = offer_rows(offers, OfferQuery(), gpus=specs.gpus, now=NOON, sort=Sort.PER_TB_S)
    assert names(rows) == ["known", "unknown"]


def test_a_held_offer_says_why() -> None:
    held = Quarantined(an_offer("0.001"), Reason.PRICE_OUT_OF_BAND, "0.001 $/GPU-h is too low")
    (row,) = offer_rows([held], OfferQuery(), gpus={}, now=NOON)
    assert (row.held, row.held_detail) == ("price_out_of_band", "0.001 $/GPU-h is too low")


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


def test_an_unknown_gpu_is_answered_with_the_nearest(specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown GPU 'H1000'") as error:
        matching_gpus("H1000", specs)
    assert "H100-SXM" in error.value.hint


@pytest.mark.parametrize("wanted", ["", "  ", "--"])
def test_no_words_name_no_gpu(wanted: str, specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="unknown GPU"):
        matching_gpus(wanted, specs)
