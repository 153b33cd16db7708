"""From the bytes of a reply to wire classes: the one place where what cannot be read is caught.

    class _Reply(BaseModel):
        offers: list[Row[_Offer]]

    for row in parse(_Reply, reply).offers:
        if isinstance(row, Unreadable):
            yield Rejection(provider=..., subject=..., reason=row.reason, detail=row.detail)

A reply that is no JSON, or lacks what holds the rows, is a `ProviderError`. A single row that
lacks a field or has one of another type is `Unreadable`, and its neighbours stay good.
Numbers with a point arrive as `Decimal`, digit for digit, never through a float; a field that is
annotated `float` takes them too; NaN and Infinity arrive as null. Wire classes are plain
`BaseModel`s, neither strict nor frozen.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, TypeVar

import httpx
from pydantic import BaseModel, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from broker.domain.errors import ProviderError

_MODEL = TypeVar("_MODEL", bound=BaseModel)
_ROW = TypeVar("_ROW")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that its wire class cannot hold, and why."""

    reason: str
    detail: str


def _or_unreadable(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"][1:])
        reason = "missing_field" if problem["type"] == "missing" else "unreadable_row"
        return Unreadable(reason, f"{field}: {problem['msg']}" if field else problem["msg"])


Row = Annotated[_ROW | Unreadable, WrapValidator(_or_unreadable)]
"""A row of a reply, or the reason why it cannot be read."""


def parse(model: type[_MODEL], reply: httpx.Response) -> _MODEL:
    """Read the JSON body of a reply.

    Raises:
        ProviderError: the body is no JSON (cut short, an HTML page) or has another shape.
    """
    try:
        body = json.loads(reply.content, parse_float=Decimal, parse_constant=_nothing)
        return model.model_validate(body)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the body"
        raise _unreadable(reply, f"{field}: {problem['msg']}") from error
    except ValueError as error:  # no JSON, or no text at all
        raise _unreadable(reply, str(error)) from error


def _nothing(_: str) -> None:
    """Read NaN and Infinity, which are no JSON and yet sent, as what they say: no value."""


def _unreadable(reply: httpx.Response, why: str) -> ProviderError:
    url = reply.request.url
    return ProviderError(
        f"{url.host}{url.path}: the reply cannot be read ({why})",
        hint="try again; if it stays, the provider's API has changed and gpubroker must follow",
    )
