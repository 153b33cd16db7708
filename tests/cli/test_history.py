import json

import pytest
from command_line import Gpubroker

OFFER = "lambda/gpu_8x_h100_sxm5/us-east-1@on_demand"


@pytest.fixture
def offer(gpubroker: Gpubroker) -> str:
    """Fill the catalog, and name an offer of it."""
    assert gpubroker("refresh", "--recorded", "--provider", "lambda").code == 0
    rows = json.loads(gpubroker("offers", "--format", "json").out)["offers"]
    return str(rows[0]["key"])


def test_the_price_is_told_with_a_chart_and_its_steps(gpubroker: Gpubroker, offer: str) -> None:
    ended = gpubroker("history", offer)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == offer
    assert "$/GPU-h" in lines
    assert any("█" in line for line in lines)
    assert lines[-1].split()[2] == "now"
    assert max(map(len, lines)) <= 80


def test_json_has_every_step(gpubroker: Gpubroker, offer: str) -> None:
    told = json.loads(gpubroker("history", offer, "--format", "json").out)
    assert told["schema"] == "gpubroker.history/1"
    assert told["offer"] == offer
    (step,) = told["steps"]
    assert step["to_at"] is None
    assert step["usd_per_gpu_hour"] > 0
    assert told["lowest_usd_per_hour"] == told["highest_usd_per_hour"]


def test_the_kind_may_be_left_out(gpubroker: Gpubroker, offer: str) -> None:
    ended = gpubroker("history", offer.partition("@")[0], "--format", "json")
    assert json.loads(ended.out)["offer"] == offer


def test_an_unknown_offer_is_answered_with_the_nearest(gpubroker: Gpubroker, offer: str) -> None:
    ended = gpubroker("history", offer.replace("gpu_", "gpo_"))
    assert ended.code == 2
    assert offer in ended.err


@pytest.mark.parametrize("since", ["2020-01-01", "2020-01-01T06:00Z"])
def test_a_price_that_still_stands_is_told_whatever_the_date(
    since: str, gpubroker: Gpubroker, offer: str
) -> None:
    ended = gpubroker("history", offer, "--since", since, "--format", "csv")
    assert len(ended.out.splitlines()) == 2


def test_a_date_that_is_none_is_refused(gpubroker: Gpubroker, offer: str) -> None:
    ended = gpubroker("history", offer, "--since", "yesterday")
    assert ended.code == 2
    assert "--since 'yesterday' is no date" in ended.err


def test_an_empty_catalog_says_how_to_fill_it(gpubroker: Gpubroker) -> None:
    ended = gpubroker("history", OFFER)
    assert ended.code == 2
    assert "gpubroker refresh --recorded" in ended.err
