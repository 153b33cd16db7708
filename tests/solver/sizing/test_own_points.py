"""What three points of a deployment are worth, held out on the project's own table."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from broker.specs.load import Specs

TOOLS = Path(__file__).parents[3] / "tools" / "accuracy"


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    """Load the tool that prints these figures."""
    sys.path.insert(0, str(TOOLS))
    try:
        import judge_own_points  # noqa: PLC0415 - a tool, no package
    finally:
        sys.path.remove(str(TOOLS))
    return judge_own_points


def test_three_points_bring_the_time_per_token_to_ten_percent(
    judge: ModuleType, specs: Specs
) -> None:
    points = [one for one in judge.points_of(judge.own_rows(specs)) if one.tpot_s is not None]
    known = judge.residuals_of(points, judge.step_residual, specs)
    before, after = (
        judge.worth(known, judge.STEP_SPREAD, count, "time per token", splits=2) for count in (0, 3)
    )
    assert len(after.errors) > 1000
    assert after.median <= 0.10
    assert after.median < 0.8 * before.median
    assert after.p90 < before.p90
    assert 0.85 <= after.coverage <= 0.95


def test_points_of_other_models_change_nothing(judge: ModuleType, specs: Specs) -> None:
    points = list(judge.points_of(judge.own_rows(specs)))[::60]
    assert len({one.deployment for one in points}) > 5
    assert judge.of_another_model(points, specs) == 0
