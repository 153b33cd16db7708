"""Each GPU model has its own band of plausible prices, by way of buying."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from price_lists import an_offer, reserved

from broker.catalog.gates import Gates, Reason, gates_from, screen
from broker.domain.offer import Commitment, Offer, Payment, PriceKind
from broker.settings import Settings
from broker.specs.load import load_specs
from broker.specs.market import MarketPrice

ON_DEMAND, SPOT, RESERVED = PriceKind.ON_DEMAND, PriceKind.SPOT, PriceKind.RESERVED
THREE_YEARS = Commitment(term_months=36, payment=Payment.NO_UPFRONT)


@pytest.fixture(scope="module")
def gates() -> Gates:
    specs = load_specs()
    return gates_from(Settings(), specs.nodes, market=specs.market, sold_in=specs.sold_in)


def an_offer_of(gpu: str, usd: str, kind: PriceKind, gpus: Fraction | int = 1) -> Offer:
    commitment = THREE_YEARS if kind is RESERVED else None
    return an_offer(usd, gpu=gpu, kind=kind, gpus=gpus, commitment=commitment)


def held(offer: Offer, gates: Gates) -> dict[str, Reason]:
    return {one.offer.key: one.reason for one in screen([offer], gates).quarantined}


@pytest.mark.parametrize(
    ("gpu", "usd", "kind", "gpus"),
    [
        ("H100-SXM", "55.04", ON_DEMAND, 8),  # AWS p5.48xlarge
        ("H100-SXM", "98.32", ON_DEMAND, 8),  # Azure ND96isr_H100_v5
        ("H100-SXM", "142.564", ON_DEMAND, 8),  # the same in Japan
        ("H100-SXM", "2.69", ON_DEMAND, 1),  # RunPod, community
        ("H100-SXM", "1.49", ON_DEMAND, 1),  # Vast.ai
        ("H100-SXM", "10.24", SPOT, 8),  # AWS, the cheapest zone
        ("H100-SXM", "1.78", SPOT, 2),  # Vast.ai
        ("H100-SXM", "2.61", SPOT, 1),
        ("H100-SXM", "23.7773", RESERVED, 8),  # AWS, three years
        ("H200-SXM", "17.88", ON_DEMAND, 8),  # Vast.ai
        ("H200-SXM", "0.9211", SPOT, 1),  # Vast.ai
        ("MI300X", "1.99", ON_DEMAND, 1),  # Hot Aisle
        ("MI300X", "8.8704", SPOT, 8),  # Azure
        ("GB200", "216.32", ON_DEMAND, 4),  # Azure in Brazil
        ("GB200", "42", ON_DEMAND, 4),  # CoreWeave
        ("B200", "113.9328", ON_DEMAND, 8),  # AWS p6-b200
        ("A100-40-SXM", "2.4656", SPOT, 8),  # AWS p4d, the cheapest zone
        ("L40S", "0.4007", ON_DEMAND, 1),  # Vast.ai
        ("L4", "0.39", ON_DEMAND, 1),  # RunPod
        ("T4", "7.397", ON_DEMAND, 1),  # AWS g4dn.16xlarge: 64 vCPUs around one T4
        ("A10", "0.454", ON_DEMAND, Fraction(1, 6)),  # Azure NV6ads_A10_v5
        ("RTX4090", "0.1348", ON_DEMAND, 1),  # Vast.ai
        ("RTXA5000", "0.16", ON_DEMAND, 1),  # RunPod, community
    ],
)
def test_a_price_that_is_paid_somewhere_stands(
    *, gpu: str, usd: str, kind: PriceKind, gpus: Fraction | int, gates: Gates
) -> None:
    assert held(an_offer_of(gpu, usd, kind, gpus), gates) == {}


@pytest.mark.parametrize(
    ("gpu", "usd", "kind", "gpus"),
    [
        *(
            (gpu, usd, ON_DEMAND, 1)
            for gpu in ("H100-SXM", "H200-SXM", "MI300X")
            for usd in ("0.022", "0.1", "0.5")
        ),
        ("H200-SXM", "4.00", ON_DEMAND, 8),  # a placeholder of 0.50 a GPU
        *(
            (gpu, usd, SPOT, 1)
            for gpu in ("H100-SXM", "H100-PCIe", "H100-NVL", "H200-SXM", "MI300X")
            for usd in ("0.022", "0.44", "0.5")
        ),
        ("H200-NVL", "0.4667", SPOT, 1),  # a bid floor
        ("H100-SXM", "0.50", RESERVED, 1),
        ("H100-SXM", "299.00", ON_DEMAND, 1),  # cents
        ("H100-SXM", "2250.00", ON_DEMAND, 1),  # a month's price
        ("L4", "0.0218", ON_DEMAND, 1),  # Vast.ai in Japan
        ("L4", "0.0267", SPOT, 1),
        ("RTX4090", "34.00", ON_DEMAND, 1),  # cents
        ("B200", "1.00", SPOT, 1),
        ("GB200", "3.00", ON_DEMAND, 1),
    ],
)
def test_a_price_that_no_gpu_of_its_model_has_is_held(
    *, gpu: str, usd: str, kind: PriceKind, gpus: int, gates: Gates
) -> None:
    offer = an_offer_of(gpu, usd, kind, gpus)
    assert held(offer, gates) == {offer.key: Reason.PRICE_OUT_OF_BAND}


def of_four_dollars(spot: str | None = "2.00") -> Gates:
    market = MarketPrice(
        on_demand_usd_per_gpu_hour=Decimal("4.00"),
        spot_usd_per_gpu_hour=None if spot is None else Decimal(spot),
        as_of=date(2026, 11, 1),
        source="test",
    )
    return gates_from(Settings(), {}, market={"H100-SXM": market})


@pytest.mark.parametrize(
    ("kind", "usd", "is_held"),
    [
        (ON_DEMAND, "1.00", False),  # a quarter of 4
        (ON_DEMAND, "0.99", True),
        (SPOT, "0.70", False),  # 0.35 of 2
        (SPOT, "0.69", True),
        (RESERVED, "0.80", False),  # a fifth of 4
        (RESERVED, "0.79", True),
        (PriceKind.CONTRACT, "0.79", True),
        (PriceKind.OWNED, "0.01", False),
        (ON_DEMAND, "40.00", False),  # ten times 4
        (ON_DEMAND, "40.01", True),
        (SPOT, "40.01", True),
    ],
)
def test_each_way_of_buying_has_its_own_band(kind: PriceKind, usd: str, *, is_held: bool) -> None:
    offer = an_offer_of("H100-SXM", usd, kind)
    assert held(offer, of_four_dollars()) == (
        {offer.key: Reason.PRICE_OUT_OF_BAND} if is_held else {}
    )


def test_the_reason_tells_what_the_model_goes_for() -> None:
    (one,) = screen([an_offer_of("H100-SXM", "0.50", ON_DEMAND)], of_four_dollars()).quarantined
    assert one.detail == (
        "0.5 $/GPU-h is not within 1 to 40: a H100-SXM goes for 4 on demand, 2 on spot (2026-11-01)"
    )


def test_without_a_market_price_on_spot_the_common_least_price_holds() -> None:
    gates = of_four_dollars(spot=None)
    assert held(an_offer_of("H100-SXM", "0.02", SPOT), gates) == {}
    cheap = an_offer_of("H100-SXM", "0.019", SPOT)
    assert held(cheap, gates) == {cheap.key: Reason.PRICE_OUT_OF_BAND}


def test_a_model_without_a_market_price_has_the_common_band() -> None:
    gates = of_four_dollars()
    assert held(an_offer_of("K80", "0.02", ON_DEMAND), gates) == {}
    dear = an_offer_of("K80", "60.01", ON_DEMAND)
    assert held(dear, gates) == {dear.key: Reason.PRICE_OUT_OF_BAND}


def test_the_common_band_holds_for_every_model() -> None:
    market = of_four_dollars().bands.market
    strict = gates_from(Settings(max_usd_per_gpu_hour=Decimal(3)), {}, market=market)
    assert held(an_offer_of("H100-SXM", "3.00", ON_DEMAND), strict) == {}
    dear = an_offer_of("H100-SXM", "3.01", ON_DEMAND)
    assert held(dear, strict) == {dear.key: Reason.PRICE_OUT_OF_BAND}


def test_what_is_paid_upfront_counts_towards_the_band() -> None:
    # 17,520 dollars over 12 months of 730 hours are 2 dollars an hour.
    assert held(reserved("0.00", upfront="17520"), of_four_dollars()) == {}
    cheap = reserved("0.00", upfront="876")
    assert held(cheap, of_four_dollars()) == {cheap.key: Reason.PRICE_OUT_OF_BAND}


def test_the_shares_are_settings() -> None:
    offer = an_offer_of("H100-SXM", "0.50", ON_DEMAND)
    gates = of_four_dollars()
    lax = gates_from(Settings(min_share_of_market=0.1), {}, market=gates.bands.market)
    assert held(offer, lax) == {}


def test_an_implausible_on_demand_price_does_not_condemn_spot_below_it() -> None:
    spot = an_offer_of("H100-SXM", "1.00", SPOT)
    cheap = an_offer_of("H100-SXM", "0.90", ON_DEMAND)
    screened = screen([cheap, spot], of_four_dollars())
    assert screened.offers == (spot,)


def test_a_machine_that_no_zone_of_the_region_has_is_held(gates: Gates) -> None:
    there, elsewhere = (
        replaced(an_offer("5.84426", name="a2-highgpu-4g", provider="gcp", gpus=4), region)
        for region in ("us-east5", "us-central1")
    )
    unplaced = replaced(there, "unknown")
    assert held(there, gates) == {there.key: Reason.NOT_SOLD_THERE}
    assert held(elsewhere, gates) == {}
    assert held(unplaced, gates) == {}


def replaced(offer: Offer, region: str) -> Offer:
    shape = offer.hardware.shape.model_copy(update={"gpu": "A100-40-SXM"})
    hardware = offer.hardware.model_copy(update={"shape": shape})
    place = offer.place.model_copy(update={"region": region})
    return offer.model_copy(update={"hardware": hardware, "place": place})
