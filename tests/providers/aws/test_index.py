"""The index of AWS's price files: gone for a moment, of another form, silent on a region."""

from collections.abc import Callable
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import JsonValue

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.feeds import PRICE_HOST, REGION_INDEX_URL
from providers.kit.access import Access
from providers.kit.http import live_client
from providers.kit.parts import Missing, replies_only

MakeCsv = Callable[..., str]

NOW = datetime(2026, 11, 27, tzinfo=UTC)
PATH = "/offers/v1.0/aws/AmazonEC2/20260910195514/us-east-1/index"
GONE = httpx.Response(404, text="NoSuchKey")
EAST: JsonValue = {"regionCode": "us-east-1", "currentVersionUrl": f"{PATH}.json"}


def index_of(**others: JsonValue) -> httpx.Response:
    named = {name.replace("_", "-"): one for name, one in others.items()}
    return httpx.Response(200, json={"regions": {"us-east-1": EAST, **named}})


def refresh(
    aws: AwsCloud, indexes: list[httpx.Response], csv: str
) -> tuple[list[str], list[Missing], list[float]]:
    """Read AWS with one answer after the other to the index; give keys, what misses, pauses."""
    missing: list[Missing] = []
    pauses: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        if url == REGION_INDEX_URL:
            return indexes.pop(0) if len(indexes) > 1 else indexes[0]
        return httpx.Response(200, text=csv) if url == f"{PRICE_HOST}{PATH}.csv" else GONE

    inner = httpx.MockTransport(answer)
    with live_client(lambda: NOW, transport=inner, sleep=pauses.append) as http:
        found = list(aws.offers_in(replies_only(aws.fetch(http), missing)))
    return [one.key for one in found if isinstance(one, Offer)], missing, pauses


def test_an_index_that_is_gone_for_a_moment_is_asked_for_again(
    specs: Specs, make_csv: MakeCsv
) -> None:
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))
    keys, _, pauses = refresh(aws, [GONE, index_of()], make_csv([{}]))
    assert keys == ["aws/p5.48xlarge/us-east-1@on_demand"]
    assert len(pauses) == 1  # what is gone beside the index is not waited for


def test_an_index_that_stays_gone_fails_the_refresh(specs: Specs, make_csv: MakeCsv) -> None:
    with pytest.raises(ProviderError, match=r"region_index.*404"):
        refresh(AwsCloud(specs, Access()), [GONE], make_csv([{}]))


@pytest.mark.parametrize("text", ["<html>", "{}", '{"regions": {"us-east-1"'])
def test_an_index_that_cannot_be_read_fails_the_refresh(
    specs: Specs, make_csv: MakeCsv, text: str
) -> None:
    aws = AwsCloud(specs, Access(regions=("us-east-1",)))
    with pytest.raises(ProviderError, match="region_index"):
        refresh(aws, [httpx.Response(200, text=text)], make_csv([{}]))


def test_a_region_without_a_file_in_the_index_is_missing_alone(
    specs: Specs, make_csv: MakeCsv
) -> None:
    aws = AwsCloud(specs, Access(regions=("us-east-1", "us-west-2")))
    index = index_of(us_west_2={"regionCode": "us-west-2"}, xx_new_1=None)
    keys, missing, _ = refresh(aws, [index], make_csv([{}]))
    assert keys == ["aws/p5.48xlarge/us-east-1@on_demand"]
    (region,) = (one for one in missing if one.region)
    assert region.region == "us-west-2"
    assert "no path of a price file" in region.why
