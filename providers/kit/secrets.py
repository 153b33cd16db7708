"""Keys from the settings, and how to keep them out of whatever is written.

A provider may repeat a key in what it answers: an error that names it, a list of the account's
keys. A key is looked for in the forms in which it travels: as it is, quoted for a URL, escaped for
JSON or by Python, and in Base64.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

from pydantic import SecretStr

from broker.domain.errors import ProviderError

BLOT = "***"
_SHORTEST = 6
"""Characters of the shortest key that is looked for: less cannot be told from ordinary text."""


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """Texts that must not be written, the longest first; by default none."""

    forms: tuple[str, ...] = ()

    def are_in(self, text: str) -> bool:
        """Tell whether a text holds one of them."""
        return any(form in text for form in self.forms)

    def blot(self, text: str, by: str = BLOT) -> str:
        """Write a text without them."""
        for form in self.forms:
            text = text.replace(form, by)
        return text

    def blotted(self, error: ProviderError) -> ProviderError:
        """Make an error anew without them."""
        return ProviderError(self.blot(str(error)), hint=self.blot(error.hint))


def secrets_of(keys: Iterable[SecretStr]) -> Secrets:
    """Gather the forms in which some keys may be met."""
    found = {form for key in keys for form in _forms(key.get_secret_value())}
    long = (form for form in found if len(form) >= _SHORTEST)
    return Secrets(tuple(sorted(long, key=lambda form: (-len(form), form))))


def _forms(value: str) -> Iterable[str]:
    """List how a key may be written, with or without the blanks around it."""
    for text in {value, value.strip()}:
        yield from (text, quote(text, safe=""), quote_plus(text), repr(text)[1:-1])
        yield from (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
        yield base64.b64encode(text.encode()).decode()
        yield repr(text.encode())[2:-1]
    for line in value.splitlines():  # of a key file
        yield line.strip()
