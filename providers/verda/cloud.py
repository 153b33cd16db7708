"""The adapter for Verda's instances."""

import re
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    UNKNOWN_REGION,
    Commitment,
    Hardware,
    Offer,
    Payment,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd
from broker.specs.load import Specs, Unresolved
from providers.kit.access import Access
from providers.kit.adapter import provenance
from providers.kit.currency import Rates, in_usd
from providers.kit.gpus import gpu_of
from providers.kit.parse import Unreadable, parse
from providers.kit.parts import Missing, mark_unreadable, or_missing
from providers.verda.wire import Periods, Places, Token, Type, Types

API = "https://api.verda.com/v1"
TYPES = f"{API}/instance-types"
PLACES = f"{API}/instance-availability"
PERIODS = f"{API}/long-term/periods/instances"
TOKEN = f"{API}/oauth2/token"

_COUNT = re.compile(r"^\d+\s*x\s+")
_CONFIDENTIAL = ".CC"
_MONTHS = {"month": 1, "year": 12}
_PERCENT = 100
_VOLUME = "the system volume is billed apart, by the GB and month"
_NO_PLACES = "where it can be had is not known: the list of places could not be read"


_ByType = Mapping[str, Sequence[str]]
"""Locations, by the type that can be started there."""


@dataclass(frozen=True, slots=True)
class _Term:
    """A long term, and the share of the fixed price that is paid."""

    months: int
    share: Decimal


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to buy a type."""

    kind: PriceKind
    quote: Quote
    commitment: Commitment | None = None


@dataclass(frozen=True, slots=True)
class _Market:
    """Long terms, and locations on demand and on spot; None where the list could not be read."""

    terms: tuple[_Term, ...]
    firm: _ByType | None
    spot: _ByType | None

    def regions(self, instance_type: str, kind: PriceKind) -> Sequence[str]:
        """Name the locations that have a type now; the unknown one where there is no list."""
        places = self.spot if kind is PriceKind.SPOT else self.firm
        return (UNKNOWN_REGION,) if places is None else places.get(instance_type, ())


class Verda:
    """Adapter for Verda's instances."""

    name = "verda"
    keys: tuple[str, ...] = ("client_id", "client_secret")

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access
        self._rates = Rates()

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response | Missing]:
        """Ask for the types, then for terms and places, each of which may be missing."""
        yield http.get(TYPES, params={"currency": "usd"})
        headers = self._token(http)
        firm, spot = (PriceKind.ON_DEMAND, PriceKind.RESERVED), (PriceKind.SPOT,)
        for url, params, kinds in (
            (PERIODS, {}, (PriceKind.RESERVED,)),
            (PLACES, {"is_spot": "false"}, firm),
            (PLACES, {"is_spot": "true"}, spot),
        ):
            ask = partial(http.get, url, params=params, headers=headers)
            yield from or_missing(ask, Missing(self.name, price_kinds=kinds))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each way to buy a GPU type in each place that has it."""
        pages = iter(replies)
        types = next(pages, None)
        if types is None:
            return
        terms: list[_Term] = []
        places: dict[bool, _ByType] = {}
        for reply in pages:
            try:
                yield from self._read_beside(reply, terms, places)
            except ProviderError as failure:  # that list is missing, and no more
                mark_unreadable(reply, failure)
        market = _Market(tuple(terms), firm=places.get(False), spot=places.get(True))
        for row in parse(Types, types).root:
            if isinstance(row, Unreadable):
                yield self._rejection("a type", row.reason, row.detail)
            else:
                yield from self._offers(row, market, types)

    def _token(self, http: httpx.Client) -> dict[str, str]:
        """Exchange client id and secret for a token; without both, ask as anyone may."""
        id_, secret = (self._access.key(name) for name in self.keys)
        if id_ is None or secret is None:
            return {}
        body = {
            "grant_type": "client_credentials",
            "client_id": id_.get_secret_value(),
            "client_secret": secret.get_secret_value(),
        }
        token = parse(Token, http.post(TOKEN, json=body)).access_token
        return {"Authorization": f"Bearer {token}"}

    def _read_beside(
        self, reply: httpx.Response, terms: list[_Term], places: dict[bool, _ByType]
    ) -> Iterator[Rejection]:
        """Add what a list beside the types says to `terms` or to `places`."""
        if reply.request.url.path == httpx.URL(PERIODS).path:
            yield from self._read_terms(reply, terms)
        else:
            is_spot = reply.request.url.params["is_spot"] == "true"
            places[is_spot] = yield from self._read_places(reply)

    def _read_terms(self, reply: httpx.Response, terms: list[_Term]) -> Iterator[Rejection]:
        """Add the terms that are sold to `terms`."""
        for row in parse(Periods, reply).root:
            if isinstance(row, Unreadable):
                yield self._rejection("a period", row.reason, row.detail)
                continue
            months = row.unit_value * _MONTHS.get(row.unit_name.lower().rstrip("s"), 0)
            if not row.is_enabled:
                yield self._rejection(row.code, "not_sold", "the period is not enabled")
            elif months < 1 or months != int(months):
                yield self._rejection(row.code, "unknown_term", f"{row.unit_value} {row.unit_name}")
            elif not 0 <= row.discount_percentage < _PERCENT:
                yield self._rejection(row.code, "no_price", f"{row.discount_percentage} % off")
            else:
                terms.append(_Term(int(months), 1 - row.discount_percentage / _PERCENT))

    def _read_places(self, reply: httpx.Response) -> Generator[Rejection, None, _ByType]:
        """Give the locations of each type that can be started now."""
        places: defaultdict[str, list[str]] = defaultdict(list)
        for row in parse(Places, reply).root:
            if isinstance(row, Unreadable):
                yield self._rejection("a location", row.reason, row.detail)
                continue
            for instance_type in row.availabilities:
                places[instance_type].append(row.location_code)
        return places

    def _offers(
        self, row: Type, market: _Market, reply: httpx.Response
    ) -> Iterator[Offer | Rejection]:
        hardware = self._hardware(row)
        if isinstance(hardware, Rejection):
            yield hardware
            return
        for way in self._ways(row, market.terms, provenance(reply).observed_at.date()):
            if isinstance(way, Rejection):
                yield way
                continue
            regions = market.regions(row.instance_type, way.kind)
            if not (regions or way.commitment):
                detail = f"no location has it {way.kind}"
                yield self._rejection(row.instance_type, "no_capacity", detail)
            for region in regions:
                yield self._offer(row, way, hardware, region=region, reply=reply)

    def _ways(self, row: Type, terms: Iterable[_Term], day: date) -> Iterator[_Way | Rejection]:
        for kind, price in (
            (PriceKind.ON_DEMAND, row.price_per_hour),
            (PriceKind.SPOT, row.spot_price),
        ):
            quote = self._quote(price, row.currency, day)
            if quote is None:
                detail = f"{kind} {price} {row.currency}"
                yield self._rejection(row.instance_type, "no_price", detail)
            else:
                yield _Way(kind, quote)
        for term in terms:
            quote = self._quote((row.price_per_hour or Decimal(0)) * term.share, row.currency, day)
            if quote is not None:
                yield _Way(PriceKind.RESERVED, quote, _in_advance(quote, term))

    def _quote(self, price: Decimal | None, currency: str, day: date) -> Quote | None:
        if not price or price < 0:
            return None
        return self._rates.quote(price, currency.upper(), day)

    def _offer(
        self, row: Type, way: _Way, hardware: Hardware, *, region: str, reply: httpx.Response
    ) -> Offer:
        prepaid = way.commitment is not None
        volume = (_VOLUME,) if row.storage and row.storage.description == "dynamic" else ()
        return Offer(
            provider=self.name,
            instance_type=row.instance_type,
            place=self._specs.place(self.name, region),
            price_kind=way.kind,
            hardware=hardware,
            usd_per_hour=Decimal(0) if prepaid else in_usd(way.quote),
            quote=way.quote,
            provenance=provenance(reply),
            tier="confidential" if row.instance_type.endswith(_CONFIDENTIAL) else "",
            commitment=way.commitment,
            spot=SpotTerms() if way.kind is PriceKind.SPOT else None,
            warnings=(*volume, *((_NO_PLACES,) if region == UNKNOWN_REGION else ())),
        )

    def _hardware(self, row: Type) -> Hardware | Rejection:
        count = row.gpu.number_of_gpus
        if count < 1:
            return self._rejection(row.instance_type, "not_a_gpu", f"{count} GPUs")
        plain_type = row.instance_type.removesuffix(_CONFIDENTIAL)
        gpu = gpu_of(
            self._specs,
            [_COUNT.sub("", row.gpu.description or "").replace(" CC ", " ")],
            known=self._specs.node(self.name, plain_type),
            gpu_count=Fraction(count),
            memory_gib=row.gpu_memory.size_in_gigabytes / count if row.gpu_memory else None,
            provider=self.name,
        )
        if isinstance(gpu, Unresolved):
            return self._rejection(row.instance_type, gpu.reason, gpu.detail)
        return self._specs.hardware(
            self.name,
            plain_type,
            gpu=gpu,
            gpu_count=Fraction(count),
            vcpus=row.cpu.number_of_cores if row.cpu else None,
            host_memory_gib=row.memory.size_in_gigabytes if row.memory else None,
            virtualization=Virtualization.VM,
        )

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _in_advance(quote: Quote, term: _Term) -> Commitment:
    hours = term.months * HOURS_PER_MONTH
    return Commitment(
        term_months=term.months,
        payment=Payment.ALL_UPFRONT,
        upfront_usd=quantize_usd(quote.amount * quote.usd_per_unit * hours),
    )
