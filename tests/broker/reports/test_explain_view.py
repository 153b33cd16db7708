import io
from decimal import Decimal

from rich.console import Console

from broker.domain.explanation import (
    Explanation,
    LineReason,
    OtherPlan,
    Outcome,
    RuleWorth,
    UsdRange,
)
from broker.domain.plan import Status
from broker.exports.explained import told
from broker.reports.explain_view import explanation_page

MICRO = Decimal("0.000001")


def explained(*rules: RuleWorth) -> Explanation:
    """Explain a plan of one line; another plan costs the same to the cent."""
    other = OtherPlan(
        outcome=Outcome.FOUND,
        total_usd=Decimal(10),
        dearer=UsdRange(least_usd=-MICRO, most_usd=MICRO),
    )
    line = LineReason(
        line="acme/box/here@on_demand",
        usd=Decimal(10),
        workloads=("chat",),
        why="no rule binds it",
        binding=(),
        runner_up=other,
        rank_count=1,
        rivals_count=2,
    )
    return Explanation(
        status=Status.OPTIMAL,
        snapshot="c5a1",
        workloads_sha256="10ad",
        total_usd=Decimal(10),
        bound_usd=Decimal(10),
        lines=(line,),
        rules=rules,
    )


def page(of: Explanation) -> str:
    out = io.StringIO()
    Console(file=out, width=80).print(explanation_page(of))
    return out.getvalue()


def test_less_than_a_cent_is_no_range_and_has_no_sign() -> None:
    assert "without it  +0.00 USD" in page(explained())
    assert "the best plan costs 0.00 USD more." in told(explained())[0].sentences[1]


def test_of_many_rules_that_were_not_looked_at_some_are_named() -> None:
    rules = [
        RuleWorth(
            rule=f"rule{number:02}", value="1", loosened="2", outcome=Outcome.UNKNOWN, saving=None
        )
        for number in range(14)
    ]
    shown = page(explained(*rules))
    assert "rule11 and 2 more" in shown
    assert "rule12" not in shown
