"""Take out of a recording what belongs to an account: keys, tokens, cookies, ids, addresses.

What is taken out is found in three ways: keys from the settings wherever they stand; values of
fields, parameters and headers whose names say that they are secret or somebody's; and forms that
name an account by themselves (addresses of mail, ARNs, OCIDs). A long value found in one place is
taken out everywhere, always by the same word, so that a replay still asks what was asked.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

import httpx
from pydantic import JsonValue

from providers.kit.secrets import Secrets

WORD = "scrubbed"
"""What stands in the place of what was taken out."""

KEPT_HEADERS = re.compile(
    r"content-type|link|retry-after|opc-next-page|x-[\w-]*(page|total|count|next|cursor|offset)[\w-]*"
)
"""The headers of a reply that say how to go on; all others are left out."""

_SECRET = re.compile(
    r"(x|xamz)?(access|api|auth|bearer|csrf|id|refresh|security|session)token|csrf|jwt"
    r"|(x|xamz)?(api|access|private|secret|secretaccess|ssh)key|accesskeyid"
    r"|(api|client)?secret|clientid|passwd|password|(xamz)?(credentials?|signature)|sig"
    r"|auth|authorization|(set)?cookie|session(id)?"
)
_SECRET_PARAMETER = re.compile(rf"{_SECRET.pattern}|key|token")
_ACCOUNTS = re.compile(
    r"account|(billing)?account(id|number|uuid)|email(address)?|(first|full|last|user)name|phone"
    r"|(compartment|customer|organi[sz]ation|org|owner|payer|project|subscription|team|tenancy"
    r"|tenant|user|workspace)id|useruuid"
)
"""Names, without signs and in lower case, of what is secret and of what is somebody's."""

_LONG = 8
"""Characters from which on a value is taken out wherever it stands, not in its field alone."""

_FORMS = (
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), f"{WORD}@example.com"),
    (re.compile(r"(arn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}"), r"\g<1>000000000000"),
    (re.compile(r"ocid1\.(tenancy|user|compartment)\.[\w.-]+"), rf"ocid1.\1.{WORD}"),
)


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Takes out keys, and the values found by `look_into`, which maps each to its word."""

    secrets: Secrets = field(default_factory=Secrets)
    found: Mapping[str, str] = field(default_factory=dict)

    def text(self, text: str) -> str:
        """Scrub a text of any kind."""
        for value, word in self.found.items():
            text = text.replace(value, word)
        text = self.secrets.blot(text, by=WORD)
        for form, instead in _FORMS:
            text = form.sub(instead, text)
        return text

    def json(self, value: JsonValue) -> JsonValue:
        """Scrub a JSON value: names, texts, and fields that hold what is secret or somebody's."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(one) for one in value]
        if isinstance(value, dict):
            return {self.text(name): self._field(name, one) for name, one in value.items()}
        return value

    def url(self, url: httpx.URL) -> str:
        """Scrub an address: no user, no parameter that holds a key."""
        kept = [
            (name, self.text(value))
            for name, value in url.params.multi_items()
            if not self._is_secret_parameter(name, value)
        ]
        bare = self.text(str(url.copy_with(userinfo=b"", query=None, fragment=None)))
        return f"{bare}?{urlencode(kept)}" if kept else bare

    def form(self, text: str) -> str:
        """Scrub the body of a request that is no JSON: a form by its fields, else as a text."""
        fields = parse_qsl(text, keep_blank_values=True)
        if not fields or urlencode(fields) != text:
            return self.text(text)
        return urlencode(
            [
                (name, WORD if _SECRET.fullmatch(_plain(name)) else self.text(value))
                for name, value in fields
            ]
        )

    def headers(self, headers: httpx.Headers) -> dict[str, str]:
        """Keep the headers of a reply that say how to go on."""
        kept = {}
        for name, value in headers.items():
            if KEPT_HEADERS.fullmatch(name.lower()):
                is_type = name.lower() == "content-type"
                kept[name.lower()] = value.partition(";")[0] if is_type else self.text(value)
        return kept

    def _field(self, name: str, value: JsonValue) -> JsonValue:
        if not _is_taken_out(name) or isinstance(value, dict | list):
            return self.json(value)
        if isinstance(value, str):
            return self.found.get(value, WORD) if value else value
        return 0 if isinstance(value, int | float) and not isinstance(value, bool) else value

    def _is_secret_parameter(self, name: str, value: str) -> bool:
        named = _SECRET_PARAMETER.fullmatch(_plain(name)) and value not in self.found
        return bool(named) or self.secrets.are_in(value)


def look_into(
    values: Iterable[JsonValue], requests: Iterable[httpx.Headers], replies: Iterable[httpx.Headers]
) -> Mapping[str, str]:
    """Find long values that are secret or somebody's in bodies and headers, the longest first."""
    found = {one for value in values for one in _in_json(value)}
    for headers in requests:
        secret = (value for name, value in headers.items() if _is_secret_header(name))
        found |= {word for value in secret for word in (value, value.rpartition(" ")[2])}
    for headers in replies:
        cookies = (value.partition(";")[0] for value in headers.get_list("set-cookie"))
        found |= {cookie.partition("=")[2] for cookie in cookies}
    ordered = sorted((one for one in found if len(one) >= _LONG), key=lambda one: (-len(one), one))
    return {value: f"{WORD}-{number}" for number, value in enumerate(ordered, start=1)}


def _in_json(value: JsonValue) -> Iterable[str]:
    if isinstance(value, list):
        for one in value:
            yield from _in_json(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if isinstance(one, str) and _is_taken_out(name):
                yield one
            else:
                yield from _in_json(one)


def _is_secret_header(name: str) -> bool:
    plain = _plain(name)
    return bool(_SECRET.fullmatch(plain)) or plain.endswith(("key", "token", "secret"))


def _is_taken_out(name: str) -> bool:
    plain = _plain(name)
    return bool(_SECRET.fullmatch(plain) or _ACCOUNTS.fullmatch(plain))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
