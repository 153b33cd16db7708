"""A plan with one figure changed, wherever it stands in the JSON."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from pydantic import ValidationError

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.verification.check import check

Json = dict[str, "Json"] | list["Json"] | str | float | bool | None
Place = tuple[str | int, ...]

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T.*Z")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SLOT = timedelta(hours=6)
_COARSE = {"total_usd", "bound_usd", "node_hours"}


def leaves(node: Json, place: Place) -> Iterator[tuple[Place, str | float]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from leaves(value, (*place, key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from leaves(value, (*place, number))
    elif isinstance(node, str):
        if _INSTANT.fullmatch(node) or _NUMBER.fullmatch(node):
            yield place, node
    elif node is not None and not isinstance(node, bool):
        yield place, node


def name_of(place: Place) -> str:
    return next(str(part) for part in reversed(place) if isinstance(part, str))


def off_by_little(name: str, value: str | float, sign: int) -> str | float:
    """Change a figure by as little as its rule can tell, a date by one slot."""
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        return (datetime.fromisoformat(value) + sign * _SLOT).isoformat()
    if isinstance(value, str):
        step = Decimal("0.01") if name in _COARSE else Decimal("0.000001")
        return str(Decimal(value) + sign * step)
    if isinstance(value, int):
        return value + sign
    return value * (1 + sign * 1e-5) if value else sign * 1e-5


def replaced(node: Json, place: Place, value: str | float) -> Json:
    if not place:
        return value
    first, *rest = place
    if isinstance(node, dict):
        return {
            key: replaced(one, tuple(rest), value) if key == first else one
            for key, one in node.items()
        }
    if isinstance(node, list):
        return [
            replaced(one, tuple(rest), value) if number == first else one
            for number, one in enumerate(node)
        ]
    raise TypeError(f"{place} leads nowhere")


def is_accepted(root: Json, case: Case) -> bool:
    try:
        plan = Plan.model_validate_json(json.dumps(root))
    except ValidationError:
        return False
    return not check(plan, case)
