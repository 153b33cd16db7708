"""What the AWS tests share: the tables, replies by hand, and price files written row by row."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

import httpx
import pytest

from broker.domain.offer import Evidence, Offer, Rejection
from broker.specs.load import Specs, load_specs
from providers.aws.adapter import AwsCloud
from providers.kit.access import Access
from providers.kit.adapter import stamp

PRICES = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/20260910195514"
SEEN_AT = datetime(2026, 9, 11, tzinfo=UTC)

PLAIN: Mapping[str, str] = {
    "SKU": "EXAMPLE1",
    "OfferTermCode": "EXAMPLE",
    "TermType": "OnDemand",
    "EffectiveDate": "2026-09-01",
    "StartingRange": "0",
    "EndingRange": "Inf",
    "Unit": "Hrs",
    "PricePerUnit": "55.0400000000",
    "Currency": "USD",
    "LeaseContractLength": "",
    "PurchaseOption": "",
    "OfferingClass": "",
    "Product Family": "Compute Instance",
    "Location Type": "AWS Region",
    "Instance Type": "p5.48xlarge",
    "Instance Family": "GPU instance",
    "vCPU": "192",
    "Memory": "2048 GiB",
    "Storage": "8 x 3840 NVMe SSD",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "License Model": "No License required",
    "operation": "RunInstances",
    "CapacityStatus": "Used",
    "GPU": "8",
    "GPU Memory": "80 GB",
    "MarketOption": "OnDemand",
    "Pre Installed S/W": "NA",
    "Region Code": "us-east-1",
}
"""A plain Linux row of p5.48xlarge, with the columns that are read."""

META = (
    '"FormatVersion","v1.0"\n"Disclaimer","none"\n"Publication Date","2026-09-10T19:55:14Z"\n'
    '"Version","20260910195514"\n"OfferCode","AmazonEC2"\n'
)


def csv_text(rows: Iterable[Mapping[str, str]], columns: Iterable[str] = tuple(PLAIN)) -> str:
    """Write a price file: the lines about it, the header, the rows; all fields quoted."""
    text = io.StringIO()
    writer = csv.DictWriter(
        text, tuple(columns), quoting=csv.QUOTE_ALL, lineterminator="\n", extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows({**PLAIN, **row} for row in rows)
    return META + text.getvalue()


def reply_of(
    content: str | Iterator[bytes], url: str = f"{PRICES}/us-east-1/index.csv"
) -> httpx.Response:
    """Make a reply as a transport does: with its request, stamped."""
    reply = httpx.Response(200, content=content, request=httpx.Request("GET", url))
    stamp(reply, observed_at=SEEN_AT, evidence=Evidence.RECORDED)
    return reply


@pytest.fixture(scope="session")
def specs() -> Specs:
    return load_specs()


@pytest.fixture
def aws(specs: Specs) -> AwsCloud:
    return AwsCloud(specs, Access(regions=("us-east-1",)))


@pytest.fixture
def make_reply() -> Callable[..., httpx.Response]:
    return reply_of


@pytest.fixture
def make_csv() -> Callable[..., str]:
    return csv_text


Found = tuple[list[Offer], list[Rejection]]


@pytest.fixture
def read(aws: AwsCloud) -> Callable[..., Found]:
    """Translate a price file of some rows, each given by how it differs from the plain one."""

    def translate(*rows: Mapping[str, str], text: str | None = None) -> Found:
        found = list(aws.offers_in([reply_of(csv_text(rows) if text is None else text)]))
        return (
            [one for one in found if isinstance(one, Offer)],
            [one for one in found if isinstance(one, Rejection)],
        )

    return translate
