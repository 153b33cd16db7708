from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from price_lists import NOON, after, an_offer, reserved

from broker.catalog.gates import Quarantined, Reason
from broker.domain.offer import Block, Commitment, Offer, Payment, PriceKind
from broker.planning.freshness import Freshness
from broker.planning.offer_rows import Beside, offer_rows
from broker.planning.query import Compute
from broker.reports.formats import as_table
from broker.reports.offer_view import CatalogName, OffersView, offers_report
from broker.specs.load import load_specs

CATALOG = CatalogName(NOON, None)
BESIDE = Beside(
    load_specs().gpus, Compute.FP8, Freshness(after(30), timedelta(days=1), timedelta(days=14))
)
LONG = an_offer("2.00", name="Standard_NCC40ads_H100_v5", region="southcentralus")


def printed(
    *entries: Offer | Quarantined,
    width: int = 80,
    sort: str = "price-per-gpu",
    held: bool = False,
    keys: bool = False,
) -> list[str]:
    view = OffersView(sort=sort, compute="fp8", held=held, keys=keys)
    rows = offer_rows(entries, BESIDE)
    return as_table(offers_report(rows, CATALOG, matching=2, view=view), width).splitlines()


@pytest.mark.parametrize("width", [40, 80, 100, 120, 200])
@pytest.mark.parametrize("sort", ["price-per-gpu", "price-per-gb", "price-per-pflop-s"])
def test_a_type_is_never_cut_whatever_the_terminal(width: int, sort: str) -> None:
    name = "1x NVIDIA GeForce RTX 3090 Ti with a name as long as no terminal is wide"
    text = "\n".join(printed(LONG, an_offer(name=name, tier="community"), width=width, sort=sort))
    assert LONG.instance_type in text
    assert f"{name}:community" in text
    assert "southcentralus" in text


def test_a_wide_terminal_shows_more_of_the_machine() -> None:
    assert "vCPU" not in printed(LONG)[0]
    assert printed(LONG, width=200)[0].split() == [
        *("provider", "type", "region", "GPUs", "GiB", "link", "fabric", "Gbit/s", "as", "vCPU"),
        *("RAM", "GiB", "kind", "$/h", "$/GPU-h", "age"),
    ]


def test_an_aggregator_is_shown_with_the_cloud_whose_machine_it_is() -> None:
    offer = an_offer(provider="shadeform").model_copy(update={"operator": "lambda"})
    assert printed(offer)[2].startswith("shadeform (lambda)  box")


def test_a_block_shows_its_window_and_a_plan_what_it_covers() -> None:
    block = an_offer(kind=PriceKind.CAPACITY_BLOCK).model_copy(
        update={
            "block": Block(starts_at=datetime(2026, 12, 3, 11, 30, tzinfo=UTC), lengths_h=(24,))
        }
    )
    commitment = Commitment(term_months=36, payment=Payment.NO_UPFRONT, scope="ec2:p5")
    plan = an_offer(kind=PriceKind.SAVINGS_PLAN, commitment=commitment)
    lines = printed(block, plan)
    assert "block 24h 12-03 11:30" in lines[2]
    assert "plan 3y no up ec2:p5" in lines[3]


def test_what_is_too_old_to_plan_with_is_marked() -> None:
    spot = an_offer(kind=PriceKind.SPOT, seen_at=after(2))
    assert [line.split()[-1] for line in printed(spot, an_offer(seen_at=after(2)))[2:]] == [
        "28h!",
        "28h",
    ]


def test_an_upfront_part_is_in_the_price_that_is_shown() -> None:
    assert printed(reserved("1.00", upfront="8760"))[2].split()[-3:] == ["2.00", "2.00", "30h"]


def test_the_figure_of_the_order_has_its_column() -> None:
    heading, _, line = printed(an_offer("2.00"), sort="price-per-pflop-s", width=100)
    assert "$/PFLOP-h fp8" in heading
    rate = BESIDE.gpus["H100-SXM"].fp8_tflops
    assert rate is not None
    assert f"{Decimal(2) / Decimal(str(rate / 1000)):.2f}" in line.split()


def test_keys_stand_whole_and_beside_their_price() -> None:
    lines = printed(LONG, reserved("1.00", upfront="8760"), keys=True)
    assert lines[2].split()[0] == LONG.key
    assert lines[4].split()[0] == "acme/box/here@reserved-12m-partial_upfront"


def test_what_is_held_back_says_why_in_full() -> None:
    why = "spot 110.272, on demand 110.272 $/h, and more words than fit one line of a terminal"
    text = " ".join(printed(Quarantined(LONG, Reason.SPOT_NO_DISCOUNT, why), held=True))
    assert all(word in text for word in why.split())
    assert LONG.instance_type in text
