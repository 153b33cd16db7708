"""What a change costs from now on, what it disturbs, and how it is told."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from export_plans import Parts, at, bought, machine, plan, served, trained

from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import CostLine, Plan, Term
from broker.planning.differences.lines import Window
from broker.planning.nightly.moves import days_apart, disturbed_by, moves_between
from broker.planning.nightly.owed import NOTHING_OWED, Owed, OwedLines
from broker.planning.nightly.window import Costs, costs_of, first_costs, window_from

A = machine("aws/p5/us-east-1", usd="40")
B = machine("gcp/a3/us-east4", usd="30")
C = machine("oci/bm/ashburn", usd="20")
DAY = Window(at(0), at(24))


def serving_plan(of: Offer, nodes: int, *, start: float = 0, end: float = 24) -> Plan:
    """Serve chat on so many nodes of eight replicas."""
    step = (start, end, 8 * nodes, 1.0)
    return plan(
        [of], Parts(purchases=[bought(of, (start, end, nodes))], serving=[served(of, step)])
    )


def costs(
    old: Plan, new: Plan, *offers: Offer, window: Window = DAY, owed: OwedLines = NOTHING_OWED
) -> Costs:
    prices = {offer.key: offer for offer in offers}
    return costs_of(old, new, window, prices=prices, owed=owed)


def test_the_window_begins_with_the_next_slot_and_ends_with_the_horizon() -> None:
    horizon = serving_plan(A, 1).workloads.horizon
    assert window_from(at(-500), horizon) == Window(horizon.start, horizon.end)
    later = window_from(at(2) + timedelta(seconds=1), horizon)
    assert later.from_at == horizon.start + horizon.slot * -(
        -(at(2) + timedelta(seconds=1) - horizon.start) // horizon.slot
    )
    assert later.to_at == horizon.end
    over = window_from(horizon.end + timedelta(days=3), horizon)
    assert over.from_at == over.to_at == horizon.end


def test_both_plans_are_charged_at_tonights_prices_and_from_now_on() -> None:
    old, new = serving_plan(A, 2), serving_plan(B, 2)
    dearer = machine("aws/p5/us-east-1", usd="50")
    found = costs(old, new, dearer, B, window=Window(at(6), at(24)))
    assert found.before_usd == 2 * 18 * 50
    assert found.after_usd == 2 * 18 * 30
    assert found.saving_usd == 720


def test_an_offer_that_is_gone_is_charged_at_its_last_price() -> None:
    found = costs(serving_plan(A, 1), serving_plan(B, 1), B)
    assert found.before_usd == 24 * 40


def test_leaving_a_commitment_that_was_bought_saves_nothing() -> None:
    reserved = machine("gcp/a3/us-east4", usd="25", kind=PriceKind.RESERVED)
    old, new = serving_plan(reserved, 1), serving_plan(C, 1)
    (line,) = old.purchases
    kept = costs(old, new, reserved, C)
    assert kept.saving_usd == 24 * (25 - 20)  # not bought yet: it need not be
    whole = {line.id: Owed(Fraction(1), reserved)}
    owed = costs(old, new, reserved, C, owed=whole)
    assert owed.saving_usd == -24 * 20
    more = costs(old, serving_plan(reserved, 3), reserved, owed=whole)
    assert more.saving_usd == -24 * 2 * 25


@pytest.mark.parametrize("usd", ["15", "60"], ids=["fell", "rose"])
def test_what_was_bought_costs_what_it_did_then(usd: str) -> None:
    """One node was bought at 25, and three at that are planned: two are still at tonight's."""
    reserved = machine("gcp/a3/us-east4", usd="25", kind=PriceKind.RESERVED)
    tonight = machine("gcp/a3/us-east4", usd=usd, kind=PriceKind.RESERVED)
    old, three = serving_plan(reserved, 1), serving_plan(tonight, 3)
    (line,) = old.purchases
    found = costs(old, three, tonight, owed={line.id: Owed(Fraction(1), reserved)})
    assert found.before_usd == 24 * 25
    assert found.after_usd == 24 * (25 + 2 * int(usd))
    left = costs(
        three, serving_plan(C, 1), tonight, C, owed={line.id: Owed(Fraction(1, 3), reserved)}
    )
    assert left.before_usd == 24 * (25 + 2 * int(usd))
    assert left.after_usd == 24 * (25 + 20)


def test_plans_are_apart_where_nodes_or_their_work_differ() -> None:
    window = Window(at(0), at(24))
    assert days_apart(serving_plan(A, 2), serving_plan(A, 2), window) == 0
    assert days_apart(serving_plan(A, 2), serving_plan(B, 2), window) == 1
    assert days_apart(serving_plan(A, 2), serving_plan(A, 3), Window(at(18), at(24))) == Decimal(
        "0.25"
    )


def test_the_data_of_a_run_is_brought_once() -> None:
    def training_plan(of: Offer, usd: str) -> Plan:
        run = Parts(purchases=[bought(of, (4, 8, 1))], training=[trained(of, 1, (4, 8))])
        made = plan([of], run)
        egress = CostLine(term=Term.EGRESS, subject="tune", usd=Decimal(usd))
        total = made.total_usd + egress.usd
        return made.model_copy(
            update={"cost_lines": (*made.cost_lines, egress), "total_usd": total}
        )

    old, same, elsewhere = training_plan(A, "7"), training_plan(A, "7"), training_plan(B, "9")
    assert costs(old, elsewhere, A, B).saving_usd == 4 * 10 - 2
    begun = Window(at(6), at(24))
    assert costs(old, same, A, window=begun).saving_usd == 0
    assert costs(old, elsewhere, A, B, window=begun).saving_usd == 2 * 10 - 9


def test_nodes_that_come_or_go_are_disturbed_the_larger_of_both() -> None:
    assert disturbed_by(serving_plan(A, 4), serving_plan(B, 3), DAY).nodes == 4
    assert disturbed_by(serving_plan(A, 3), serving_plan(B, 4), DAY).nodes == 4
    fewer = disturbed_by(serving_plan(A, 4), serving_plan(A, 3), DAY)
    assert (fewer.nodes, fewer.of_nodes, fewer.share) == (1, 4, 0.25)
    assert disturbed_by(serving_plan(A, 4), serving_plan(A, 4), DAY).nodes == 0


def test_a_node_that_carries_other_work_is_disturbed_though_it_stays() -> None:
    old = serving_plan(A, 2)
    wider = plan(
        [A],
        Parts(
            purchases=[bought(A, (0, 24, 2))],
            serving=[served(A, (0, 24, 8, 1.0)), served(A, (0, 24, 4, 1.0), gpus=2)],
        ),
    )
    assert disturbed_by(old, wider, DAY).nodes == 1  # eight of sixteen GPUs work otherwise


def test_what_is_past_is_not_disturbed() -> None:
    old = plan([A], Parts(purchases=[bought(A, (0, 6, 5), (6, 24, 1))]))
    new = plan([A], Parts(purchases=[bought(A, (0, 24, 1))]))
    assert disturbed_by(old, new, Window(at(6), at(24))).nodes == 0
    assert disturbed_by(old, new, DAY).nodes == 4


def told(old: Plan | None, new: Plan, *offers: Offer) -> Sequence[tuple[str, Decimal]]:
    of = costs(old, new, *offers) if old else first_costs(new, DAY)
    return [(one.text, one.usd) for one in moves_between(old, new, of, DAY)]


def test_lines_of_one_workload_are_one_move_with_one_saving() -> None:
    assert told(serving_plan(A, 2), serving_plan(B, 2), A, B) == [
        (f"chat: from 2 × {A.key} to 2 × {B.key}", Decimal(24 * 2 * 10))
    ]


def test_what_stands_for_itself_is_told_apart_and_adds_up_to_the_whole() -> None:
    def both(chat: Offer, tune: Offer) -> Plan:
        offers = list({one.key: one for one in (chat, tune)}.values())
        parts = Parts(
            purchases=[bought(chat, (0, 24, 1)), bought(tune, (0, 8, 1))],
            serving=[served(chat, (0, 24, 8, 1.0))],
            training=[trained(tune, 1, (0, 8))],
        )
        return plan(offers, parts)

    old, new = both(A, B), both(B.model_copy(update={"instance_type": "other"}), C)
    other = new.offers[0]
    found = told(old, new, A, B, C, other)
    assert found == [
        (f"chat: from 1 × {A.key} to 1 × {other.key}", Decimal(240)),
        (f"tune: from 1 × {B.key} to 1 × {C.key}", Decimal(80)),
    ]
    assert sum(usd for _, usd in found) == costs(old, new, A, B, C, other).saving_usd


def test_more_or_fewer_nodes_of_a_line_and_a_first_plan_are_told_in_words() -> None:
    assert told(serving_plan(A, 3), serving_plan(A, 2), A) == [
        (f"chat: 2 × {A.key} instead of 3", Decimal(960))
    ]
    assert told(None, serving_plan(A, 1)) == [(f"chat: add 1 × {A.key}", Decimal(-960))]
    hours = told(serving_plan(A, 1), serving_plan(A, 1, end=12), A)
    assert hours == [(f"chat: 1 × {A.key} at other hours", Decimal(480))]
