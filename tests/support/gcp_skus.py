"""SKUs of Google's price list, written by hand as the catalog does."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import httpx
from pydantic import JsonValue

from broker.domain.offer import Evidence
from providers.gcp.wire import SKUS_URL
from providers.kit.adapter import stamp

SEEN_AT = datetime(2026, 9, 17, tzinfo=UTC)
IOWA = ("us-central1",)

Row = dict[str, JsonValue]


def sku(
    text: str,
    price: str | None = "1.5",
    *,
    unit: str = "h",
    regions: Sequence[str] = IOWA,
    tiers: Iterable[tuple[int, str]] = (),
    currency: str = "USD",
    effective: str = "2026-09-16T12:00:00Z",
    lacking: str = "",
) -> Row:
    """Write a SKU as the catalog does; a price of None is none at all.

    `lacking` is a field of the money to leave out.
    """
    whole = [(0, price)] if price is not None else []
    rates: list[JsonValue] = [
        {"startUsageAmount": start, "unitPrice": _money(amount, currency, lacking)}
        for start, amount in tiers or whole
    ]
    info: Row = {
        "effectiveTime": effective,
        "pricingExpression": {"usageUnit": unit, "tieredRates": rates},
    }
    return {
        "skuId": "EXAMPLE",
        "description": text,
        "category": {"resourceGroup": "GPU", "usageType": "OnDemand"},
        "serviceRegions": list(regions),
        "pricingInfo": [info] if rates else [],
    }


def a2_ultra(**changes: Row) -> list[Row]:
    """Write the four parts of a2-ultragpu-1g in Iowa at Google's prices, some of them changed."""
    parts = {
        "core": sku("A2 Instance Core running in Americas", "0.031611"),
        "ram": sku("A2 Instance Ram running in Americas", "0.004237", unit="GiBy.h"),
        "gpu": sku("Nvidia Tesla A100 80GB GPU running in Americas", "3.92808"),
        "disk": sku("SSD backed Local Storage", "0.08", unit="GiBy.mo"),
    }
    return [*{**parts, **changes}.values()]


def page(skus: Iterable[Row], **query: str) -> httpx.Response:
    """Make a reply with a page of SKUs, the only one."""
    reply = httpx.Response(200, json={"skus": list(skus), "nextPageToken": ""})
    reply.request = httpx.Request("GET", SKUS_URL, params=query)
    stamp(reply, observed_at=SEEN_AT, evidence=Evidence.COMPOSED)
    return reply


def _money(amount: str, currency: str, lacking: str) -> Row:
    units, _, fraction = amount.partition(".")
    money: Row = {
        "currencyCode": currency,
        "units": units,
        "nanos": int(fraction.ljust(9, "0")),
    }
    return {name: value for name, value in money.items() if name != lacking}
