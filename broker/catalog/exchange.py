"""A catalog that travels: one file that another machine reads the same offers from.

The file is gzip of JSON lines: a header, one line for each offer in the order of keys, one for each
offer that is held back, and last the SHA-256 of all lines before it. Equal catalogs give equal
lines, to the byte. What is read is checked whole before any of it is used.
"""

import gzip
import hashlib
import zlib
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from broker.catalog.gates import Quarantined, Reason
from broker.catalog.snapshot import snapshot_hash
from broker.catalog.state import CatalogState
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer
from broker.domain.quantities import Frozen, Instant

SCHEMA = "gpubroker.catalog"
VERSION = 1

_Model = TypeVar("_Model", bound=BaseModel)


class _Schema(BaseModel):
    schema_: Annotated[str, Field(alias="schema")]


class _Header(Frozen):
    schema_: Annotated[str, Field(alias="schema")]
    at: Instant
    snapshot: str
    offers: int
    held: int


class _Held(Frozen):
    reason: Reason
    detail: str
    offer: Offer


class _Sum(Frozen):
    sha256: str


def write_catalog(state: CatalogState) -> bytes:
    """Write what the catalog says at an instant as the bytes of a file."""
    header = _Header.model_validate(
        {
            "schema": f"{SCHEMA}/{VERSION}",
            "at": state.at,
            "snapshot": snapshot_hash(state.offers),
            "offers": len(state.offers),
            "held": len(state.quarantined),
        }
    )
    lines: list[BaseModel] = [header, *state.offers]
    lines += [
        _Held(reason=one.reason, detail=one.detail, offer=one.offer) for one in state.quarantined
    ]
    body = "".join(f"{line.model_dump_json(by_alias=True)}\n" for line in lines).encode()
    total = _Sum(sha256=hashlib.sha256(body).hexdigest())
    return gzip.compress(body + total.model_dump_json().encode() + b"\n", mtime=0)


def read_catalog(content: bytes, name: str) -> CatalogState:
    """Read the bytes of a file; `name` is that of the file, for errors.

    Raises:
        ConfigurationError: it is no such file, is damaged, or was written by a newer version.
    """
    lines = _lines(content, name)
    header = _header(lines[0], name)
    if len(lines) != header.offers + header.held + 2 or not _is_whole(lines):
        raise _damaged(name, "its lines are not those that were written")
    offers = tuple(_read(Offer, line, name) for line in lines[1 : header.offers + 1])
    held = tuple(_read(_Held, line, name) for line in lines[header.offers + 1 : -1])
    keys = [offer.key for offer in offers]
    if keys != sorted(set(keys)) or snapshot_hash(offers) != header.snapshot:
        raise _damaged(name, f"its offers are not those of {header.snapshot}")
    return CatalogState(
        header.at, offers, tuple(Quarantined(one.offer, one.reason, one.detail) for one in held)
    )


def _lines(content: bytes, name: str) -> list[bytes]:
    try:
        lines = gzip.decompress(content).splitlines()
    except (OSError, EOFError, zlib.error) as cause:
        raise _damaged(name, str(cause)) from cause
    if not lines:
        raise _damaged(name, "it is empty")
    return lines


def _header(line: bytes, name: str) -> _Header:
    schema, _, version = _read(_Schema, line, name).schema_.partition("/")
    if schema != SCHEMA or not version.isdecimal():
        raise _damaged(name, "it is no catalog")
    if int(version) > VERSION:
        raise ConfigurationError(
            f"the catalog file {name!r} was written by a newer version of gpubroker "
            f"(form {version}, this one knows {VERSION})",
            hint="update gpubroker, or export it with this version",
        )
    return _read(_Header, line, name)


def _is_whole(lines: list[bytes]) -> bool:
    body = b"".join(line + b"\n" for line in lines[:-1])
    return lines[-1] == _Sum(sha256=hashlib.sha256(body).hexdigest()).model_dump_json().encode()


def _read(model: type[_Model], line: bytes, name: str) -> _Model:
    try:
        return model.model_validate_json(line)
    except ValidationError as cause:
        problem = cause.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise _damaged(name, f"{field}: {problem['msg']}" if field else problem["msg"]) from cause


def _damaged(name: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the catalog file {name!r} cannot be used: {why}",
        hint="export it again, and copy it whole: gpubroker catalog export FILE",
    )
