"""No GPU is bought twice: what draws on one stock, in any price kind and size, shares its GPUs.

Of p5 the plan buys 1 spot node throughout and 2 more while pretrain is up, 2 rented ones while
tune is up, and 2 for the year.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from broker.domain.case import Case
from broker.domain.offer import Limits, Offer
from broker.domain.plan import CostLine, NodeStep, Plan, Purchase, Term
from broker.domain.quantities import parse_instant
from broker.verification.check import Violation, check

P5 = "aws/p5.48xlarge/us-east-1"
ON_DEMAND, SPOT, RESERVED = 0, 1, 2
TUNING = "at 2026-12-04 00:00 (and in 7 more slots)"


@pytest.mark.parametrize(
    ("nodes", "refused"), [(3, False), (2, True)], ids=["as many as are bought", "one less"]
)
def test_two_price_kinds_of_a_machine_share_its_stock(
    plan: Plan, case: Case, nodes: int, *, refused: bool
) -> None:
    # While tune is up, 2 are rented and 1 is on spot; while pretrain is up, 3 are on spot.
    case = _limited(case, {ON_DEMAND: Limits(stock_nodes=nodes), SPOT: Limits(stock_nodes=3)})
    message = "24 GPUs are bought, 16 are there at 2026-12-04 00:00 (and in 20 more slots)"
    right = (Violation("stock", P5, message),) if refused else ()
    assert check(_embedding(plan, case), case) == right


def test_committed_nodes_draw_on_the_stock_too(plan: Plan, case: Case) -> None:
    # 1 on spot and 2 for the year throughout, 3 on spot and 2 for the year while pretrain is up.
    enough = _limited(case, {SPOT: Limits(stock_nodes=5), RESERVED: Limits(stock_nodes=5)})
    assert check(_embedding(plan, enough), enough) == ()
    short = _limited(case, {SPOT: Limits(stock_nodes=4), RESERVED: Limits(stock_nodes=4)})
    (found,) = check(_embedding(plan, short), short)
    message = "40 GPUs are bought, 32 are there at 2026-12-12 00:00 (and in 12 more slots)"
    assert found == Violation("stock", P5, message)


def test_the_smallest_stock_that_is_stated_for_a_pool_counts(plan: Plan, case: Case) -> None:
    short = _limited(case, {ON_DEMAND: Limits(stock_nodes=2), SPOT: Limits(stock_nodes=9)})
    (found,) = check(_embedding(plan, short), short)
    assert (found.rule, found.subject) == ("stock", P5)


@pytest.mark.parametrize(
    ("gpus", "refused"), [(17, False), (16, True)], ids=["as many as are bought", "one less"]
)
def test_two_sizes_of_one_host_share_its_stock(
    plan: Plan, case: Case, gpus: int, *, refused: bool
) -> None:
    # 2 nodes of 8 GPUs and 1 of 1 GPU while tune is up.
    two_sizes = _with_small_node(plan, case, Limits(stock_pool="host-7", stock_gpus=gpus))
    message = f"17 GPUs are bought, 16 are there {TUNING}"
    right = (Violation("stock", "host-7", message),) if refused else ()
    assert _without_idle(check(*two_sizes)) == right


def test_sizes_without_a_pool_have_stocks_of_their_own(plan: Plan, case: Case) -> None:
    # 3 nodes of 8 GPUs are p5's own, 3 of 1 GPU the small one's.
    found = check(*_with_small_node(plan, case, Limits(stock_nodes=3)))
    assert _without_idle(found) == ()


def test_owned_nodes_draw_on_no_stock(plan: Plan, case: Case) -> None:
    # While distill is up, 1 lab node is contracted and 1 is owned.
    lab = _limited(case, {3: Limits(stock_nodes=1)})
    assert check(_embedding(plan, lab), lab) == ()


def test_nodes_whose_term_ends_inside_a_slot_draw_on_the_stock_until_then(
    plan: Plan, case: Case
) -> None:
    # The contract for 1 lab node ends at 10:00 on the 31st; from 06:00 on, another 1 is rented.
    enough = _limited(case, {3: Limits(stock_nodes=2), 4: Limits(stock_nodes=2)})
    assert check(_embedding(plan, enough), enough) == ()
    lab = _limited(case, {3: Limits(stock_nodes=1), 4: Limits(stock_nodes=1)})
    message = "16 GPUs are bought, 8 are there at 2026-12-31 06:00"
    right = Violation("stock", "lab/h100x8/fra1", message)
    assert check(_embedding(plan, lab), lab) == (right,)


def _without_idle(found: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Leave out that no work needs the node that a test adds."""
    return tuple(one for one in found if one.rule != "unused_nodes")


def _limited(case: Case, limits: dict[int, Limits]) -> Case:
    offers = [
        offer.model_copy(update={"limits": limits[number]}) if number in limits else offer
        for number, offer in enumerate(case.offers)
    ]
    return _with_offers(case, offers)


def _with_offers(case: Case, offers: Sequence[Offer]) -> Case:
    machines = {offer.machine: offer for offer in reversed(offers)}
    return replace(case, offers=tuple(offers), machines=machines)


def _embedding(plan: Plan, case: Case) -> Plan:
    return plan.model_copy(update={"offers": case.offers})


def _with_small_node(plan: Plan, case: Case, limits: Limits) -> tuple[Plan, Case]:
    """Rent one node of 1 GPU as well while tune is up: 48 h at 6 are 288."""
    big = case.offers[ON_DEMAND]
    shape = big.hardware.shape.model_copy(update={"gpu_count": Fraction(1)})
    small = big.model_copy(
        update={
            "instance_type": "p5.4xlarge",
            "hardware": big.hardware.model_copy(update={"shape": shape}),
            "usd_per_hour": Decimal(6),
            "limits": limits,
        }
    )
    changed = _with_offers(
        case, [big.model_copy(update={"limits": limits}), *case.offers[1:], small]
    )
    start, end = parse_instant("2026-12-04"), parse_instant("2026-12-06")
    bought = Purchase(
        id="small",
        offer=small.key,
        price_kind=small.price_kind,
        steps=(NodeStep.model_validate({"from_at": start, "to_at": end, "nodes": 1}),),
        node_hours=Decimal(48),
        usd=Decimal(288),
    )
    total = plan.total_usd + 288
    dearer = plan.model_copy(
        update={
            "offers": changed.offers,
            "purchases": (*plan.purchases, bought),
            "cost_lines": (
                *plan.cost_lines,
                CostLine(term=Term.ON_DEMAND, subject="small", usd=Decimal(288)),
            ),
            "total_usd": total,
            "bound_usd": total,
            "gap_fraction": 0.0,
        }
    )
    return dearer, changed
