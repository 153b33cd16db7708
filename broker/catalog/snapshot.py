"""The name of a catalog: equal offers, equal hash, wherever they were read from."""

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from broker.domain.offer import Offer


def snapshot_hash(offers: Iterable[Offer]) -> str:
    """Hash the offers in the order of their keys (SHA-256)."""
    digest = hashlib.sha256()
    for offer in sorted(offers, key=lambda one: one.key):
        digest.update(canonical(offer, but=frozenset()).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def canonical(offer: Offer, *, but: frozenset[str]) -> str:
    """Write an offer in the one way in which equal offers are equal texts.

    Names are sorted and amounts have no trailing zeros. `but` names fields of the provenance that
    are left out.
    """
    fields = offer.model_dump(exclude={"provenance": set(but)} if but else None)
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), default=_text)


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
