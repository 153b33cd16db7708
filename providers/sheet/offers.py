"""From a typed row to offers: one for each price that can be paid for a node."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from broker.domain.offer import (
    Commitment,
    Evidence,
    Hardware,
    Limits,
    Offer,
    Payment,
    PriceKind,
    Provenance,
    Quote,
    Rejection,
)
from broker.domain.quantities import quantize_usd
from broker.specs.fx import usd_per_unit
from broker.specs.load import Specs
from providers.sheet import quirks
from providers.sheet.machines import Machines
from providers.sheet.places import Located, locate
from providers.sheet.reasons import Reason, Refused
from providers.sheet.rows import Basis, SheetRow, StatedPlace, StatedPrice

_OLD_RATE = timedelta(days=31)
_COMMITTED = (PriceKind.RESERVED, PriceKind.SAVINGS_PLAN)


@dataclass(frozen=True, slots=True)
class _NodePrice:
    """A price of a whole node, in its own currency and as dollars."""

    amount: Decimal
    upfront: Decimal
    usd_per_unit: Decimal
    converted_on: date | None

    @property
    def usd_per_hour(self) -> Decimal:
        return quantize_usd(self.amount * self.usd_per_unit)

    @property
    def upfront_usd(self) -> Decimal:
        return quantize_usd(self.upfront * self.usd_per_unit)


class OfferBuilder:
    """Builds the offers of one sheet; looks each machine, place and rate up once."""

    def __init__(self, specs: Specs, sheet_at: datetime) -> None:
        self._specs = specs
        self._sheet_at = sheet_at
        self._machines = Machines(specs)
        self._places: dict[tuple[str, StatedPlace], Located] = {}
        self._rates: dict[tuple[str, date], tuple[Decimal, date] | None] = {}

    def offers_in(self, row: SheetRow) -> Iterator[Offer | Rejection]:
        """Give the row's offers, and a rejection for the row or for each price that is none.

        Raises:
            ConfigurationError: no rate is known for the currency of a price.
        """
        row = self._with_our_provider(row)
        if not row.prices:
            yield _rejection(row, Refused(Reason.NO_PRICE, "no price is stated"))
            return
        names_a_gpu = row.basis is Basis.PER_GPU and self._machines.names_a_gpu(row.machine)
        refused = self._of_later(row) or quirks.refuse_row(row, names_a_gpu=names_a_gpu)
        hardware = refused or self._machines.hardware(row.machine)
        if isinstance(hardware, Refused):
            yield _rejection(row, hardware)
            return
        for price in row.prices:
            made = self._offer(row, price, hardware)
            yield _rejection(row, made) if isinstance(made, Refused) else made

    def _of_later(self, row: SheetRow) -> Refused | None:
        """Refuse what nobody knew yet on the sheet's date."""
        if row.observed_at is None or row.observed_at <= self._sheet_at:
            return None
        detail = f"of {row.observed_at:%Y-%m-%d}, the sheet is read as of {self._sheet_at:%Y-%m-%d}"
        return Refused(Reason.DATED_LATER, detail)

    def _with_our_provider(self, row: SheetRow) -> SheetRow:
        """Name the provider by our id (`do` is digitalocean), so that policies find it."""
        said = row.machine.provider
        ours = said if said in quirks.MANAGED_SERVICES else self._specs.providers.of(said)
        return row if ours == said else replace(row, machine=replace(row.machine, provider=ours))

    def _offer(self, row: SheetRow, price: StatedPrice, hardware: Hardware) -> Offer | Refused:
        node = self._node_price(row, price, hardware.shape.gpu_count)
        refused = (
            _no_price(price, node)
            or _no_terms(price)
            or quirks.refuse_price(row, price, usd_per_gpu=_per_gpu(node, hardware))
        )
        if refused:
            return refused
        located = self._located(row)
        return Offer(
            provider=row.machine.provider,
            instance_type=row.machine.instance_type,
            place=located.place,
            price_kind=quirks.kind_of(row, price),
            hardware=hardware,
            usd_per_hour=node.usd_per_hour,
            quote=Quote(
                amount=node.amount or node.upfront,
                currency=price.currency,
                usd_per_unit=node.usd_per_unit,
                converted_on=node.converted_on,
            ),
            provenance=self._provenance(row),
            tier=row.tier,
            commitment=_commitment(price, node),
            limits=Limits(min_nodes=row.min_nodes or 1, max_nodes=row.max_nodes),
            certifications=row.certifications,
            warnings=(
                *quirks.warnings(row, price),
                *_assumed(price),
                *self._old_rate(row, node),
                *located.warnings,
            ),
        )

    def _node_price(self, row: SheetRow, price: StatedPrice, gpu_count: Fraction) -> _NodePrice:
        """Multiply a price per GPU by the GPUs of the node; a slice keeps its exact part."""
        per_gpu = row.basis is Basis.PER_GPU
        count = gpu_count if per_gpu else Fraction(1)
        rate, on = self._rate(row, price)
        return _NodePrice(
            amount=price.amount * count.numerator / count.denominator,
            upfront=price.upfront * count.numerator / count.denominator,
            usd_per_unit=rate,
            converted_on=on,
        )

    def _rate(self, row: SheetRow, price: StatedPrice) -> tuple[Decimal, date | None]:
        if price.currency == "USD":
            return Decimal(1), None
        on = (row.observed_at or self._sheet_at).date()
        key = (price.currency, on)
        if key not in self._rates:
            self._rates[key] = usd_per_unit(price.currency, on)
        rate = self._rates[key]
        if rate is None:
            raise row.cells.error(
                price.column,
                f"is in {price.currency}, for which no rate of {on} is known",
                hint="convert it to USD yourself, or use a currency that the ECB quotes (EUR, INR)",
            )
        return rate

    def _old_rate(self, row: SheetRow, node: _NodePrice) -> tuple[str, ...]:
        on = (row.observed_at or self._sheet_at).date()
        if node.converted_on is None or on - node.converted_on <= _OLD_RATE:
            return ()
        return (f"converted at the rate of {node.converted_on}, the newest that is known",)

    def _located(self, row: SheetRow) -> Located:
        key = (row.machine.provider, row.place)
        if key not in self._places:
            self._places[key] = locate(self._specs, row.machine.provider, row.place)
        return self._places[key]

    def _provenance(self, row: SheetRow) -> Provenance:
        return Provenance(
            source=row.source,
            observed_at=row.observed_at or self._sheet_at,
            evidence=Evidence.SHEET,
            valid_until=row.valid_until,
            undated=row.observed_at is None,
        )


def _per_gpu(node: _NodePrice, hardware: Hardware) -> Decimal:
    count = hardware.shape.gpu_count
    return quantize_usd(node.usd_per_hour * count.denominator / count.numerator)


def _no_price(price: StatedPrice, node: _NodePrice) -> Refused | None:
    """Refuse what costs nothing; only an upfront payment may stand without an hourly price."""
    if node.usd_per_hour or (node.upfront_usd and not price.amount):
        return None
    return Refused(Reason.NO_PRICE, f"{price.column} is {price.amount}, which is no price")


def _no_terms(price: StatedPrice) -> Refused | None:
    """Refuse commitments whose terms are not stated, as they cannot be bought nor costed."""
    if price.kind is PriceKind.CAPACITY_BLOCK:
        return Refused(Reason.NO_WINDOW, "a capacity block needs a start and an end")
    if price.kind in _COMMITTED and price.term_months is None:
        return Refused(Reason.NO_TERM, f"{price.kind} needs term_months")
    return None


def _commitment(price: StatedPrice, node: _NodePrice) -> Commitment | None:
    if price.term_months is None:
        return None
    return Commitment(
        term_months=price.term_months,
        payment=price.payment or _assumed_payment(price),
        upfront_usd=node.upfront_usd,
    )


def _assumed_payment(price: StatedPrice) -> Payment:
    if not price.upfront:
        return Payment.MONTHLY
    return Payment.PARTIAL_UPFRONT if price.amount else Payment.ALL_UPFRONT


def _assumed(price: StatedPrice) -> tuple[str, ...]:
    if price.term_months is None or price.payment:
        return ()
    return (f"no payment option is stated; {_assumed_payment(price)} is assumed",)


def _rejection(row: SheetRow, refused: Refused) -> Rejection:
    tier = f":{row.tier}" if row.tier else ""
    where = f" in {row.place.region}" if row.place.region else ""
    return Rejection(
        provider=row.machine.provider,
        subject=f"{row.machine.instance_type}{tier}{where} ({row.cells.where})",
        reason=str(refused.reason),
        detail=refused.detail,
    )
