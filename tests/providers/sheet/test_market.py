from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from broker.domain.offer import PriceKind
from broker.specs.load import Specs
from providers.sheet.read import SheetReading, read_sheet
from providers.sheet.reasons import Reason

ROOT = Path(__file__).parents[3]
MARKET = ROOT.parent / "shared" / "data" / "prices"
with_market = pytest.mark.skipif(not MARKET.exists(), reason="the recorded market is not here")


@pytest.fixture(scope="module")
def market(specs: Specs) -> SheetReading:
    return read_sheet(MARKET / "offers.csv", specs)


@with_market
def test_most_rows_of_the_recorded_market_become_offers(market: SheetReading) -> None:
    assert market.rows == 5728
    assert market.rows_used >= 3500
    assert {rejection.reason for rejection in market.rejections} <= set(Reason)
    assert len({offer.key for offer in market.offers}) == len(market.offers)
    turned_away = {rejection.subject for rejection in market.rejections}
    assert market.rows - market.rows_used <= len(turned_away)


@with_market
def test_no_oddity_of_the_recorded_market_becomes_an_offer(market: SheetReading) -> None:
    firm = {
        offer.machine: offer.usd_per_hour
        for offer in market.offers
        if offer.price_kind is PriceKind.ON_DEMAND
    }
    for offer in market.offers:
        assert offer.usd_per_hour > 0
        assert offer.provider not in ("mithril", "replicate", "modal", "baseten", "aws-sagemaker")
        assert offer.tier != "serverless"
        if offer.price_kind is PriceKind.SPOT:
            assert offer.usd_per_hour < firm.get(offer.machine, Decimal("Infinity"))
            assert not (offer.provider == "runpod" and offer.tier == "community")
            assert offer.provenance.source.find("vast/vms.csv") < 0


@with_market
def test_slices_of_the_recorded_market_are_fractions(market: SheetReading) -> None:
    counts = {offer.instance_type: offer.hardware.shape.gpu_count for offer in market.offers}
    assert counts["g6f.2xlarge"] == Fraction(1, 4)
    assert counts["Standard_NV6ads_A10_v5"] == Fraction(1, 6)
    assert counts["g4-standard-6"] == Fraction(1, 8)


@with_market
def test_twelve_gpus_in_a_node_of_eight_are_a_contradiction(specs: Specs) -> None:
    reading = read_sheet(MARKET / "offers_superseded.csv", specs)
    found = Counter(
        rejection.reason
        for rejection in reading.rejections
        if rejection.subject.startswith("Standard_ND96isr_H100_v5")
    )
    assert found[Reason.CONTRADICTS_KNOWN_INSTANCE] >= 1


@with_market
def test_recorded_commitments_are_read(specs: Specs) -> None:
    reading = read_sheet(MARKET / "commitments.csv", specs)
    kinds = Counter(offer.price_kind for offer in reading.offers)
    assert kinds[PriceKind.RESERVED] > 1000
    assert kinds[PriceKind.SAVINGS_PLAN] > 0
    assert kinds[PriceKind.CAPACITY_BLOCK] == 0
    costs = {offer.key: offer.effective_usd_per_hour for offer in reading.offers}
    year = "azure/Standard_ND96isr_H100_v5/eastus@reserved-12m-all_upfront"
    assert round(costs[year], 4) == Decimal("62.9248")  # its row has that and 551221 upfront
