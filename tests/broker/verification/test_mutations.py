"""Whatever figure of a plan is off, the plan is refused: each one is changed in its turn."""

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from pydantic import ValidationError

from broker.domain.case import Case
from broker.domain.plan import Plan
from broker.verification.check import check

Json = dict[str, "Json"] | list["Json"] | str | float | bool | None
Place = tuple[str | int, ...]

CHECKED = {
    "purchases": 65,
    "serving": 143,
    "training": 85,
    "cost_lines": 8,
    "comparisons": 3,
    "total_usd": 1,
    "bound_usd": 1,
    "gap_fraction": 1,
}
"""The parts of a plan that the check answers for, and how many figures and dates each has here."""

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T.*Z")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SLOT = timedelta(hours=6)
_COARSE = {"total_usd", "bound_usd", "node_hours"}
_MORE_IS_ALLOWED = {"requests_per_s"}
"""More routed requests may still keep all rules; fewer never do here."""


@pytest.mark.parametrize("part", CHECKED)
@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
def test_a_plan_with_any_one_figure_changed_is_refused(
    plan: Plan, case: Case, part: str, sign: int
) -> None:
    root = json.loads(plan.model_dump_json(by_alias=True))
    places = list(_leaves(root[part], (part,)))
    assert len(places) == CHECKED[part]
    unnoticed = [
        (place, other)
        for place, value in places
        if not (sign > 0 and _name(place) in _MORE_IS_ALLOWED and "candidate" not in place)
        for other in [_off(_name(place), value, sign)]
        if _is_accepted(_replaced(root, place, other), case)
    ]
    assert unnoticed == []


def _leaves(node: Json, place: Place) -> Iterator[tuple[Place, str | float]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _leaves(value, (*place, key))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _leaves(value, (*place, number))
    elif isinstance(node, str):
        if _INSTANT.fullmatch(node) or _NUMBER.fullmatch(node):
            yield place, node
    elif node is not None and not isinstance(node, bool):
        yield place, node


def _name(place: Place) -> str:
    return next(str(part) for part in reversed(place) if isinstance(part, str))


def _off(name: str, value: str | float, sign: int) -> str | float:
    """Change a figure by as little as its rule can tell, a date by one slot."""
    if isinstance(value, str) and _INSTANT.fullmatch(value):
        return (datetime.fromisoformat(value) + sign * _SLOT).isoformat()
    if isinstance(value, str):
        step = Decimal("0.01") if name in _COARSE else Decimal("0.000001")
        return str(Decimal(value) + sign * step)
    if isinstance(value, int):
        return value + sign
    return value * (1 + sign * 1e-5) if value else sign * 1e-5


def _replaced(node: Json, place: Place, value: str | float) -> Json:
    if not place:
        return value
    first, *rest = place
    if isinstance(node, dict):
        return {
            key: _replaced(one, tuple(rest), value) if key == first else one
            for key, one in node.items()
        }
    if isinstance(node, list):
        return [
            _replaced(one, tuple(rest), value) if number == first else one
            for number, one in enumerate(node)
        ]
    raise TypeError(f"{place} leads nowhere")


def _is_accepted(root: Json, case: Case) -> bool:
    try:
        plan = Plan.model_validate_json(json.dumps(root))
    except ValidationError:
        return False
    return not check(plan, case)
