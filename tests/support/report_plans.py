"""A small plan in which everything that a report tells occurs, with names that bite."""

from decimal import Decimal
from functools import lru_cache

from solving import assembled, solved
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.offer import PriceKind
from broker.domain.plan import Comparison, Plan, RejectedCount, Status

FORMULA = '=HYPERLINK("http://evil","x")'
MARKUP = "<script>alert(1)</script>|@everyone"
LATER_USD = "0.31"


@lru_cache(maxsize=1)
def report_plan() -> Plan:
    """Solve it once: owned, reserved, rented and spot nodes, a service, a run with egress."""
    owned = offer("9", name="kept", provider="acme", gpus=2)
    rent = offer("1.00", name=FORMULA, provider="beta")
    reserved = offer(
        "0.20",
        name=FORMULA,
        provider="beta",
        kind=PriceKind.RESERVED,
        term_months=1,
        upfront_usd=f"{Decimal(LATER_USD) * 730}",
    )
    spot = offer("0.15", name=MARKUP, provider="gamma", kind=PriceKind.SPOT)
    big = offer("7.77", name="train", provider="delta", gpus=8)
    demand = workloads(
        services=[service_entry(6, 11, spot={"max_share": 0.3})],
        training=[
            run_entry(8 * 3600.0, window={"earliest": "2026-12-03", "deadline": "2026-12-05"})
        ],
        days=9,
        policy={"max_groups": 4},
        inventory=[{"offer": "acme/kept/here", "nodes": 1}],
    )
    of = case(
        demand,
        [owned, rent, reserved, spot, big],
        serving=[
            serving(owned, [1.0]),
            serving(rent, [1.0]),
            serving(spot, [1.0], on_spot=True),
        ],
        training=[training(big, egress_usd="12.345678")],
        owned=[(owned, 1)],
    )
    plan = assembled(of, solved(of))
    return plan.model_copy(
        update={
            "comparisons": (
                _comparison("best single provider: beta", plan.total_usd * Decimal("1.21")),
                _comparison("on demand only", plan.total_usd * Decimal("1.9")),
                _comparison("no sharing of nodes", None),
            ),
            "rejected": (
                RejectedCount(reason="chat: too slow", offers=7, example="acme/slow/here@spot"),
                RejectedCount(reason="price is stale", offers=1234, example=f"{MARKUP}@spot"),
            ),
            "warnings": (f"{rent.key}: disk is billed apart", f"a warning with {MARKUP}"),
        }
    )


def plan_of_nothing() -> Plan:
    """Make an infeasible plan of the same workloads."""
    plan = report_plan()
    nothing = {
        "status": Status.INFEASIBLE,
        "total_usd": Decimal(0),
        "bound_usd": Decimal(0),
        "gap_fraction": 0.0,
        "purchases": (),
        "serving": (),
        "training": (),
        "cost_lines": (),
        "comparisons": (),
        "offers": (),
    }
    return plan.model_copy(update=nothing)


def _comparison(strategy: str, usd: Decimal | None) -> Comparison:
    return Comparison(
        strategy=strategy,
        status=Status.OPTIMAL if usd else Status.INFEASIBLE,
        total_usd=usd.quantize(Decimal("0.000001")) if usd else None,
        bound_usd=None,
        gap_fraction=None,
    )
