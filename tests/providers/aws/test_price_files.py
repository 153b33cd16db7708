"""Reading the price files: whole or cut short, as CSV and as JSON, in constant memory."""

import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping

import httpx
import pytest

from broker.domain.offer import Offer, Rejection
from providers.aws.adapter import AwsCloud
from providers.aws.price_json import _JsonText, accelerated_rows
from providers.kit.parts import is_unreadable
from providers.kit.recorded import recordings

MakeReply = Callable[..., httpx.Response]
MakeCsv = Callable[..., str]

JSON_URL = (
    "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/20260910195514"
    "/us-east-1/index.json"
)


def offers_of(aws: AwsCloud, reply: httpx.Response) -> dict[str, Offer]:
    return {one.key: one for one in aws.offers_in([reply]) if isinstance(one, Offer)}


def why_unreadable(aws: AwsCloud, reply: httpx.Response) -> str:
    """Read a reply that gives nothing but the reason why it cannot be read."""
    (told,) = aws.offers_in([reply])
    assert isinstance(told, Rejection)
    assert (told.subject, told.reason) == (str(reply.request.url), "unreadable_reply")
    assert is_unreadable(reply)
    return told.detail


def recorded_json() -> str:
    found = {one.name: one for one in recordings("aws")}
    return json.dumps(found["prices-us-east-1-json"].response.body)


def test_columns_are_found_by_name_wherever_they_stand(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv
) -> None:
    columns = [*reversed(make_csv([]).splitlines()[-1].replace('"', "").split(",")), "New Column"]
    index = columns.index("SKU")
    columns = ["SKU", *columns[:index], *columns[index + 1 :]]

    offers = offers_of(aws, make_reply(make_csv([{"New Column": "x"}], columns)))

    assert list(offers) == ["aws/p5.48xlarge/us-east-1@on_demand"]


@pytest.mark.parametrize("column", ["PricePerUnit", "MarketOption", "Tenancy", "Region Code"])
def test_a_missing_column_stops_the_file_and_is_named(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv, column: str
) -> None:
    columns = [
        name for name in make_csv([]).splitlines()[-1].replace('"', "").split(",") if name != column
    ]

    why = why_unreadable(aws, make_reply(make_csv([{}], columns)))

    assert f"us-east-1/index.csv: the price file cannot be read (column '{column}'" in why


@pytest.mark.parametrize("cut", [1, 2, 10, 100, 250])
def test_a_file_that_is_cut_short_inside_a_row_is_an_error(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv, cut: int
) -> None:
    text = make_csv([{}, {"SKU": "EXAMPLE2", "Instance Type": "g5.xlarge"}]).rstrip("\n")

    assert "cannot be read" in why_unreadable(aws, make_reply(text[:-cut]))


@pytest.mark.parametrize("text", ["", "<html>try later</html>", '"FormatVersion","v1.0"\n'])
def test_what_is_no_price_file_is_an_error(aws: AwsCloud, make_reply: MakeReply, text: str) -> None:
    assert "no header" in why_unreadable(aws, make_reply(text))


def test_a_file_that_is_no_text_is_an_error(aws: AwsCloud, make_reply: MakeReply) -> None:
    assert "cannot be read" in why_unreadable(
        aws, make_reply(iter([b'"FormatVersion","v1.0"\n"SKU","\xff"\n']))
    )


def test_a_connection_that_breaks_in_a_file_is_an_error(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv
) -> None:
    def chunks() -> Iterator[bytes]:
        yield make_csv([{}]).encode()
        raise httpx.RemoteProtocolError("peer closed connection")

    assert "peer closed connection" in why_unreadable(aws, make_reply(chunks()))


def test_a_field_may_hold_commas_quotes_and_line_separators(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv
) -> None:
    odd = 'a "quoted", odd\u2028text\x85\x0c and a line\nfeed'
    columns = [*make_csv([]).splitlines()[-1].replace('"', "").split(","), "PriceDescription"]

    offers = offers_of(aws, make_reply(make_csv([{"PriceDescription": odd}], columns)))

    assert len(offers) == 1


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_how_a_reply_is_cut_into_pieces_changes_nothing(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv, size: int
) -> None:
    content = make_csv([{}, {"Instance Type": "g5.xlarge", "GPU": "1", "GPU Memory": ""}]).encode()
    pieces = (content[at : at + size] for at in range(0, len(content), size))

    assert len(offers_of(aws, make_reply(pieces))) == 2


def test_a_file_of_two_hundred_thousand_rows_is_read_in_little_memory(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv
) -> None:
    header, plain = make_csv([{}]).rsplit("\n", 2)[:2]
    other = plain.replace("p5.48xlarge", "m5.xlarge").replace("GPU instance", "General purpose")
    other = other.replace('"8"', '""')
    windows = plain.replace('"Linux"', '"Windows"')
    block = ("\n".join([other] * 999 + [windows]) + "\n").encode()
    assert 200 * len(block) > 50_000_000

    def chunks() -> Iterator[bytes]:
        yield f"{header}\n{plain}\n".encode()
        for _ in range(200):
            yield block

    tracemalloc.start()
    try:
        found = list(aws.offers_in([make_reply(chunks())]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [one.detail.split(":")[0] for one in found[1:]] == ["200 rows, the first"]
    assert peak < 20_000_000


def test_the_json_form_gives_the_offers_of_the_csv_form(
    aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv
) -> None:
    offers = offers_of(aws, make_reply(recorded_json(), JSON_URL))

    p5 = offers["aws/p5.48xlarge/us-east-1@on_demand"]
    same = offers_of(aws, make_reply(make_csv([{"Storage": ""}])))[p5.key]
    assert p5.model_copy(update={"provenance": same.provenance, "quote": same.quote}) == same
    assert {key: str(one.usd_per_hour) for key, one in offers.items()} == {
        "aws/p5.48xlarge/us-east-1@on_demand": "55.040000",
        "aws/p4d.24xlarge/us-east-1@on_demand": "21.957642",
        "aws/p5.48xlarge/us-east-1@reserved-36m-no_upfront": "23.777300",
    }


def test_the_json_form_counts_what_is_no_offer(aws: AwsCloud, make_reply: MakeReply) -> None:
    found = list(aws.offers_in([make_reply(recorded_json(), JSON_URL)]))

    rejected = [(one.subject, one.reason) for one in found if not isinstance(one, Offer)]
    assert rejected == [("us-east-1/p5.48xlarge", "price_on_request")]


@pytest.mark.parametrize("size", [1, 13, 4096])
def test_how_json_is_cut_into_pieces_changes_nothing(make_reply: MakeReply, size: int) -> None:
    text = recorded_json().encode()
    pieces = (text[at : at + size] for at in range(0, len(text), size))

    whole = list(accelerated_rows(make_reply(recorded_json(), JSON_URL)))
    assert list(accelerated_rows(make_reply(pieces, JSON_URL))) == whole
    assert len(whole) == 4


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_json_that_is_cut_short_is_an_error(
    aws: AwsCloud, make_reply: MakeReply, share: float
) -> None:
    text = recorded_json()

    assert "cannot be read" in why_unreadable(
        aws, make_reply(text[: int(share * len(text))], JSON_URL)
    )


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"products": {}},
        {"terms": {"OnDemand": {}}, "products": {}},
        {"products": {"EXAMPLE": {"sku": "EXAMPLE"}}, "terms": {}},
        {"products": [], "terms": {}},
    ],
)
def test_json_of_another_form_is_an_error(
    aws: AwsCloud, make_reply: MakeReply, body: Mapping[str, object]
) -> None:
    assert "cannot be read" in why_unreadable(aws, make_reply(json.dumps(body), JSON_URL))


def test_unknown_members_of_json_are_skipped(aws: AwsCloud, make_reply: MakeReply) -> None:
    body = {"attributesList": {}, "flags": [1, 2.5, None], **json.loads(recorded_json()), "n": 12}

    assert len(offers_of(aws, make_reply(json.dumps(body), JSON_URL))) == 3


def test_a_number_that_goes_on_in_the_next_piece_is_read_whole() -> None:
    text = _JsonText(iter(['{"a": 12', '34, "b"', ': "x"}']))

    assert [(name, text.value()) for name in text.members()] == [("a", "1234"), ("b", '"x"')]
