"""Whatever figure of a plan is off, the plan is refused: each one is changed in its turn."""

import json

import pytest
from changed_figures import is_accepted, leaves, name_of, off_by_little, replaced

from broker.domain.case import Case
from broker.domain.plan import Plan

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

_MORE_IS_ALLOWED = {"requests_per_s"}
"""More routed requests may still keep all rules; fewer never do here."""


@pytest.mark.parametrize("part", CHECKED)
@pytest.mark.parametrize("sign", [1, -1], ids=["more", "less"])
def test_a_plan_with_any_one_figure_changed_is_refused(
    plan: Plan, case: Case, part: str, sign: int
) -> None:
    root = json.loads(plan.model_dump_json(by_alias=True))
    places = list(leaves(root[part], (part,)))
    assert len(places) == CHECKED[part]
    unnoticed = [
        (place, other)
        for place, value in places
        if not (sign > 0 and name_of(place) in _MORE_IS_ALLOWED and "candidate" not in place)
        for other in [off_by_little(name_of(place), value, sign)]
        if is_accepted(replaced(root, place, other), case)
    ]
    assert unnoticed == []
