"""Offers, trust gates and a small provider for tests of the catalog.

`PriceList` is a whole adapter: it asks its shop for one JSON page and translates it. `Shop` is the
other side, behind an httpx transport: what it lists can change, break, or take its time.
"""

import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import httpx
from plain_offers import plain_hardware, plain_offer
from pydantic import BaseModel

from broker.catalog.gates import Gates, gates_from
from broker.catalog.runs import Reading
from broker.domain.offer import (
    Commitment,
    Evidence,
    Offer,
    Payment,
    Place,
    PriceKind,
    Provenance,
    Rejection,
)
from broker.settings import Settings
from providers.kit.adapter import provenance, stamp

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
GATES: Gates = gates_from(Settings(), {})


def after(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def an_offer(  # noqa: PLR0913 - every field that a test varies
    usd: str = "2.00",
    *,
    name: str = "box",
    provider: str = "acme",
    kind: PriceKind = PriceKind.ON_DEMAND,
    gpus: Fraction | int = 1,
    gpu: str = "H100-SXM",
    region: str = "here",
    zone: str | None = None,
    tier: str = "",
    seen_at: datetime = NOON,
    evidence: Evidence = Evidence.LIVE,
    commitment: Commitment | None = None,
) -> Offer:
    return plain_offer(
        Decimal(usd),
        plain_hardware(gpu, gpus, 79.65),
        Place(region=region, zone=zone, country="DE", continent="eu"),
        Provenance(source="https://acme.example/prices", observed_at=seen_at, evidence=evidence),
        provider=provider,
        instance_type=name,
        kind=kind,
        quoted_usd=Decimal(usd) or Decimal(1),
        tier=tier,
        commitment=commitment,
    )


def reserved(usd: str, *, upfront: str, months: int = 12, name: str = "box") -> Offer:
    commitment = Commitment(
        term_months=months, payment=Payment.PARTIAL_UPFRONT, upfront_usd=Decimal(upfront)
    )
    return an_offer(usd, name=name, kind=PriceKind.RESERVED, commitment=commitment)


def a_reading(
    *offers: Offer,
    provider: str = "acme",
    live: bool = True,
    rejections: tuple[Rejection, ...] = (),
) -> Reading:
    return Reading(provider, live, NOON, tuple(offers), rejections)


class _Line(BaseModel):
    name: str
    usd: str


class _Page(BaseModel):
    lines: list[_Line]


class PriceList:
    """An adapter: on-demand machines of one H100 each, by name and price."""

    def __init__(self, name: str = "acme") -> None:
        self.name = name

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        for page in (1, 2):
            yield http.get(f"https://{self.name}.example/prices", params={"page": page})

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        for reply in replies:
            for line in _Page.model_validate_json(reply.content).lines:
                if Decimal(line.usd) == 0:
                    yield Rejection(provider=self.name, subject=line.name, reason="no_price")
                    continue
                offer = an_offer(line.usd, name=line.name, provider=self.name)
                yield offer.model_copy(update={"provenance": provenance(reply)})


class Shop:
    """What `PriceList` asks: page 1 lists `prices`, page 2 is empty, or breaks."""

    def __init__(self, prices: dict[str, str], *, seen_at: datetime = NOON) -> None:
        self.prices = prices
        self.seen_at = seen_at
        self.second_page = '{"lines": []}'
        self.released = threading.Event()
        self.released.set()

    def client(self, _provider: str) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.released.wait(timeout=30)
        if request.url.params["page"] == "1":
            lines = [{"name": name, "usd": usd} for name, usd in self.prices.items()]
            reply = httpx.Response(200, json={"lines": lines})
        else:
            reply = httpx.Response(200, text=self.second_page)
        stamp(reply, observed_at=self.seen_at, evidence=Evidence.LIVE)
        return reply
