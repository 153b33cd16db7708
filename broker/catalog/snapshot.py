"""The name of a catalog: equal offers, equal hash, wherever they were read from."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from broker.domain.offer import Offer

_Fields = Mapping[str, bool | Mapping[str, bool]]


def snapshot_hash(offers: Iterable[Offer]) -> str:
    """Hash the offers in the order of their keys (SHA-256)."""
    digest = hashlib.sha256()
    for offer in sorted(offers, key=lambda one: one.key):
        digest.update(canonical(offer).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def statement_digest(offer: Offer) -> str:
    """Identify what is said of an offer, apart from when it was seen."""
    return _digest(offer, {"provenance": {"observed_at": True, "effective_at": True}})


def terms_digest(offer: Offer) -> str:
    """Identify what an offer sells and asks: not where or when it was seen, nor how many there are.

    What a person let through stays let through while this is the same.
    """
    return _digest(offer, {"provenance": True, "limits": True})


def canonical(offer: Offer, but: _Fields | None = None) -> str:
    """Write an offer in the one way in which equal offers are equal texts.

    Names are sorted and amounts have no trailing zeros. `but` names the fields that are left out;
    of an offer that nobody takes back, so is when that would be, as no catalog once knew of it.
    """
    fields = offer.model_dump(exclude=dict(but) if but else None)
    if "limits" in fields and fields["limits"].get("until", "") is None:
        del fields["limits"]["until"]
    return _ENCODER.encode(fields)


def _digest(offer: Offer, but: _Fields) -> str:
    return hashlib.sha256(canonical(offer, but).encode()).hexdigest()


def _text(value: object) -> str:
    match value:
        case Decimal():
            return f"{value.normalize():f}"
        case Fraction():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case date():
            return value.isoformat()
        case _:
            raise TypeError(f"{value!r} has no canonical text")


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_text)
