"""The JSON form of a price file, read member by member: products first, then their terms.

Only the products with accelerators are held, so memory follows their number and not the file's
size. Attribute names are matched as they are: AWS writes some in lower case, others in camel case.
"""

import json
from collections.abc import Iterator

import httpx
from pydantic import BaseModel, Field, ValidationError

from providers.aws.wire import PriceRow, Product, is_accelerated, unreadable_file

_ATTRIBUTES = {
    "region": "regionCode",
    "location_type": "locationType",
    "instance_type": "instanceType",
    "instance_family": "instanceFamily",
    "vcpus": "vcpu",
    "memory": "memory",
    "storage": "storage",
    "gpus": "gpu",
    "gpu_memory": "gpuMemory",
    "tenancy": "tenancy",
    "operating_system": "operatingSystem",
    "licence": "licenseModel",
    "preinstalled": "preInstalledSw",
    "operation": "operation",
    "capacity_status": "capacitystatus",
    "market_option": "marketoption",
}
_SPACE = " \t\r\n"
_LONGEST_VALUE = 64 * 2**20


class _Product(BaseModel):
    sku: str
    family: str = Field(default="", alias="productFamily")
    attributes: dict[str, str]


class _Dimension(BaseModel):
    unit: str
    price_per_unit: dict[str, str] = Field(alias="pricePerUnit")
    begin_range: str = Field(default="", alias="beginRange")
    end_range: str = Field(default="", alias="endRange")


class _Term(BaseModel):
    offer_term_code: str = Field(alias="offerTermCode")
    effective_date: str = Field(default="", alias="effectiveDate")
    dimensions: dict[str, _Dimension] = Field(alias="priceDimensions")
    attributes: dict[str, str] = Field(default={}, alias="termAttributes")


class _Terms(BaseModel):
    of_sku: dict[str, _Term]


def accelerated_rows(reply: httpx.Response) -> Iterator[PriceRow]:
    """Read the prices of types with accelerators.

    Raises:
        ProviderError: the file is cut short, or is no price file.
    """
    products: dict[str, Product] = {}
    parts: list[str] = []
    text = _JsonText(reply.iter_text())
    try:
        for name in text.members():
            if name == "products":
                products = dict(_accelerated_products(text))
            elif name == "terms":
                yield from _priced(text, products)
            else:
                text.value()
                continue
            parts.append(name)
    except (ValueError, httpx.HTTPError) as cause:
        why = cause.errors()[0]["msg"] if isinstance(cause, ValidationError) else str(cause)
        raise unreadable_file(reply, why) from cause
    if parts != ["products", "terms"]:
        raise unreadable_file(reply, f"it holds {parts} and not products, then terms")


def _accelerated_products(text: "_JsonText") -> Iterator[tuple[str, Product]]:
    for sku in text.members():
        entry = _Product.model_validate_json(text.value())
        values = {name: entry.attributes.get(key, "") for name, key in _ATTRIBUTES.items()}
        product = Product(sku=entry.sku, family=entry.family, **values)
        if is_accelerated(product.instance_type, product.instance_family, product.gpus):
            yield sku, product


def _priced(text: "_JsonText", products: dict[str, Product]) -> Iterator[PriceRow]:
    for term_type in text.members():
        for sku in text.members():
            value = text.value()
            if sku in products:
                yield from _rows(products[sku], term_type, value)


def _rows(product: Product, term_type: str, value: str) -> Iterator[PriceRow]:
    for term in _Terms.model_validate_json(f'{{"of_sku": {value}}}').of_sku.values():
        for dimension in term.dimensions.values():
            for currency, price in dimension.price_per_unit.items():
                yield PriceRow(
                    product=product,
                    term_type=term_type,
                    offer_term_code=term.offer_term_code,
                    effective_date=term.effective_date,
                    starting_range=dimension.begin_range,
                    ending_range=dimension.end_range,
                    unit=dimension.unit,
                    price=price,
                    currency=currency,
                    lease=term.attributes.get("LeaseContractLength", ""),
                    purchase_option=term.attributes.get("PurchaseOption", ""),
                    offering_class=term.attributes.get("OfferingClass", ""),
                )


class _JsonText:
    """JSON text that comes in pieces. Every method raises ValueError where it is cut or wrong."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._buffer = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def members(self) -> Iterator[str]:
        """Walk an object: each key, whose value must be read before the next is asked for."""
        self._expect("{")
        if self._peek() == "}":
            self._expect("}")
            return
        while True:
            name = json.loads(self.value())
            self._expect(":")
            yield str(name)
            if self._peek() == "}":
                self._expect("}")
                return
            self._expect(",")

    def value(self) -> str:
        """Give the text of the next value, whatever it is."""
        self._peek()
        while True:
            try:
                _, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as cause:
                if len(self._buffer) - self._at > _LONGEST_VALUE or not self._more():
                    raise ValueError(f"a value is cut short: {cause}") from cause
                continue
            if end == len(self._buffer) and self._more():
                continue  # a number may go on in the next piece
            value, self._at = self._buffer[self._at : end], end
            return value

    def _peek(self) -> str:
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                raise ValueError("the text ends in the middle")

    def _expect(self, character: str) -> None:
        found = self._peek()
        if found != character:
            raise ValueError(f"{found!r} stands where {character!r} should")
        self._at += 1

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._buffer = self._buffer[self._at :] + piece
        self._at = 0
        return True
