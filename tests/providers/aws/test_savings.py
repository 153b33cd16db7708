"""Savings plans: which rows of the file become offers, and what of the rate is paid when."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

import httpx
import pytest

from broker.domain.offer import Commitment, Offer, Payment, PriceKind, Rejection
from broker.specs.load import Specs
from providers.aws.adapter import AwsCloud
from providers.aws.savings import offers_in_savings_file
from providers.aws.wire import Product
from providers.kit.parts import is_unreadable

MakeReply = Callable[..., httpx.Response]
MakeCsv = Callable[..., str]
Found = tuple[list[Offer], list[Rejection]]
Read = Callable[..., Found]

URL = (
    "https://pricing.us-east-1.amazonaws.com/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"
    "/20261006182900/us-east-1/index.csv"
)
META = (
    "FormatVersion,v1.0\nDisclaimer,none\nPublication Date,2026-10-06T18:29:00Z\n"
    "Version,20261006182900\nOfferCode,AmazonComputeSavingsPlan\n"
)
PLAIN: Mapping[str, str] = {
    "SKU": "EXAMPLEPLAN",
    "Unit": "Hrs",
    "EffectiveDate": "2026-08-01T00:00:00Z",
    "DiscountedRate": "40.0",
    "Currency": "USD",
    "DiscountedSKU": "EXAMPLE1",
    "PurchaseOption": "No Upfront",
    "LeaseContractLength": "1",
    "LeaseContractLengthUnit": "year",
    "Instance Family": "p5",
    "Product Family": "EC2InstanceSavingsPlans",
    "DiscountedRegionCode": "us-east-1",
    "DiscountedInstanceType": "p5.48xlarge",
}


def plans(*rows: Mapping[str, str]) -> str:
    lines = [",".join(PLAIN), *(",".join({**PLAIN, **row}.values()) for row in rows)]
    return META + "\n".join(lines) + "\n"


@pytest.fixture
def read(aws: AwsCloud, make_reply: MakeReply, make_csv: MakeCsv) -> Read:
    """Translate savings plan rows after a price file with the plain machine EXAMPLE1."""

    def translate(*rows: Mapping[str, str]) -> Found:
        windows = {"SKU": "EXAMPLEWIN", "Operating System": "Windows"}
        replies = [make_reply(make_csv([{}, windows])), make_reply(plans(*rows), URL)]
        found = list(aws.offers_in(replies))
        return (
            [
                one
                for one in found
                if isinstance(one, Offer) and one.price_kind is PriceKind.SAVINGS_PLAN
            ],
            [one for one in found if isinstance(one, Rejection) and "savings" in one.subject],
        )

    return translate


def test_a_rate_without_upfront_is_paid_by_the_hour(read: Read) -> None:
    (offer,), rejections = read({})

    assert rejections == []
    assert offer.key == "aws/p5.48xlarge/us-east-1@savings_plan-12m-no_upfront-ec2:p5"
    assert offer.usd_per_hour == offer.quote.amount == 40
    assert offer.commitment == Commitment(
        term_months=12, payment=Payment.NO_UPFRONT, scope="ec2:p5"
    )
    assert offer.hardware.shape.gpu == "H100-SXM"
    assert offer.provenance.source == URL


def test_a_rate_that_is_paid_upfront_is_paid_for_every_hour_of_the_term(read: Read) -> None:
    # 20.6950 × 26280 h = 543,864.60
    upfront = {
        "PurchaseOption": "All Upfront",
        "LeaseContractLength": "3",
        "DiscountedRate": "20.6950",
    }
    (offer,), _ = read(upfront)

    assert offer.usd_per_hour == 0
    assert offer.commitment is not None
    assert offer.commitment.upfront_usd == Decimal("543864.60")
    assert offer.effective_usd_per_hour == Decimal("20.6950")
    assert offer.quote.amount == Decimal("20.6950")


def test_half_of_a_rate_is_paid_upfront_where_a_part_is(read: Read) -> None:
    # 41.28 ÷ 2 = 20.64 by the hour, and 20.64 × 8760 h = 180,806.40 at the start
    (offer,), _ = read({"PurchaseOption": "Partial Upfront", "DiscountedRate": "41.28"})

    assert offer.usd_per_hour == Decimal("20.64")
    assert offer.commitment is not None
    assert offer.commitment.upfront_usd == Decimal("180806.40")
    assert offer.effective_usd_per_hour == Decimal("41.28")


def test_a_compute_plan_and_the_plan_of_a_family_are_two_offers(read: Read) -> None:
    compute = {"Product Family": "ComputeSavingsPlans", "Instance Family": ""}
    offers, _ = read({}, compute)

    assert {one.commitment.scope for one in offers if one.commitment} == {"ec2:p5", "compute"}
    assert len({one.key for one in offers}) == 2


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        ({"DiscountedSKU": "EXAMPLEWIN"}, "not_a_plain_linux_machine"),
        ({"DiscountedSKU": "EXAMPLEDED"}, "not_a_plain_linux_machine"),
        ({"Product Family": "SageMakerSavingsPlans"}, "other_plan"),
        ({"Instance Family": ""}, "other_plan"),
        ({"LeaseContractLength": "5"}, "unknown_term"),
        ({"LeaseContractLengthUnit": "month"}, "unknown_term"),
        ({"PurchaseOption": "Deferred"}, "unknown_payment"),
        ({"Unit": "GB"}, "other_unit"),
        ({"Currency": "CNY"}, "other_unit"),
        ({"DiscountedRate": "0.0"}, "zero_price"),
        ({"DiscountedRate": ""}, "unreadable_price"),
        ({"DiscountedRate": "-1"}, "negative_price"),
        ({"EffectiveDate": "soon"}, "unreadable_date"),
        ({"EffectiveDate": "2026-10-01T00:00:00Z"}, "not_yet_effective"),
    ],
)
def test_a_row_that_is_no_rate_of_a_plain_machine_is_rejected(
    read: Read, difference: Mapping[str, str], reason: str
) -> None:
    offers, rejections = read(difference)

    assert offers == []
    assert [(one.subject, one.reason) for one in rejections] == [
        ("us-east-1/p5.48xlarge@savings_plan", reason)
    ]


def test_machines_without_gpus_and_other_services_are_not_of_interest(read: Read) -> None:
    other = {"DiscountedSKU": "EXAMPLE2", "DiscountedInstanceType": "m5.xlarge"}

    assert read(other, {**other, "DiscountedInstanceType": ""}) == ([], [])


def test_a_newer_rate_supersedes_an_older_one(read: Read) -> None:
    old = {"EffectiveDate": "2025-01-01T00:00:00Z", "DiscountedRate": "60"}
    (offer,), (rejection,) = read(old, {})

    assert offer.usd_per_hour == 40
    assert rejection.reason == "superseded_row"


def test_plans_without_the_price_file_of_their_region_are_rates_of_nothing(
    aws: AwsCloud, make_reply: MakeReply
) -> None:
    (told,) = aws.offers_in([make_reply(plans({}), URL)])

    assert isinstance(told, Rejection)
    assert told.reason == "not_a_plain_linux_machine"


@pytest.mark.parametrize("text", [plans({})[:-40], META, plans({}).replace("DiscountedSKU", "X")])
def test_a_file_of_another_form_is_marked_as_unreadable(
    aws: AwsCloud, make_reply: MakeReply, text: str
) -> None:
    reply = make_reply(text, URL)
    (told,) = aws.offers_in([reply])

    assert isinstance(told, Rejection)
    assert told.reason == "unreadable_reply"
    assert is_unreadable(reply)


def test_a_long_file_is_read_line_by_line(specs: Specs, make_reply: MakeReply) -> None:
    served = 0

    def chunks() -> Iterator[bytes]:
        nonlocal served
        yield plans().encode()
        for _ in range(1000):
            served += 1
            yield (",".join(PLAIN.values()) + "\n").encode()

    plain: dict[str, Product] = {}
    found = offers_in_savings_file(make_reply(chunks(), URL), plain, specs)

    assert served == 0
    assert [one.reason for one in found if isinstance(one, Rejection)] == [
        "not_a_plain_linux_machine"
    ]
    assert served == 1000
