"""Keeps secrets out of what is told, logged or raised.

A secret is looked for as it is, quoted for a URL, escaped for JSON and in Base64; of a secret
address also its path and the long parts of it, as a server may repeat those alone.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, urlsplit

from pydantic import SecretStr

from broker.domain.alert import Alert

_BLOT = "***"
_SHORTEST = 6
"""Less cannot be told from ordinary text."""

_LONG_PART = 12


@dataclass(frozen=True, slots=True, repr=False)
class Scrub:
    """Texts that must not be written, the longest first; by default none."""

    forms: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """Write a text without them."""
        for form in self.forms:
            text = text.replace(form, _BLOT)
        return text

    def alert(self, alert: Alert) -> Alert:
        """Write an alert without them."""
        words = {
            name: self.text(getattr(alert, name))
            for name in ("subject", "state", "title", "action", "scope")
        }
        facts = tuple(self.text(fact) for fact in alert.facts)
        return alert.model_copy(update={**words, "facts": facts})


NO_SECRETS = Scrub()


def scrub_of(secrets: Iterable[SecretStr | None]) -> Scrub:
    """Gather the forms in which some secrets may be met."""
    values = {one.get_secret_value().strip() for one in secrets if one is not None}
    found = {form for value in values for form in _forms(value) if len(form) >= _SHORTEST}
    return Scrub(tuple(sorted(found, key=lambda form: (-len(form), form))))


def _forms(value: str) -> Iterator[str]:
    yield from (value, quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1])
    yield base64.b64encode(value.encode()).decode()
    if "://" in value:
        yield from _parts(value)


def _parts(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
    except ValueError:  # none that anything is sent to
        return
    yield from (parts.path, parts.query, parts.password or "")
    yield from (part for part in parts.path.split("/") if len(part) >= _LONG_PART)
