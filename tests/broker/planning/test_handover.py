"""Nodes that were bought and stand in the inventory since are the same nodes."""

from export_plans import Parts, at, bought, machine, plan, served

from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan
from broker.planning.differences.handover import handed_over
from broker.planning.differences.lines import Window
from broker.planning.differences.steps import steps_between
from broker.planning.nightly.moves import days_apart, disturbed_by

RESERVED = machine("gcp/a3/us-east4", usd="25", kind=PriceKind.RESERVED)
OWNED = machine("gcp/a3/us-east4", usd="1", kind=PriceKind.OWNED)
ELSEWHERE = machine("aws/p5/us-east-1", usd="1", kind=PriceKind.OWNED)
RENTED = machine("gcp/a3/us-east4", usd="40")
DAY = Window(at(0), at(24))


def serving_on(*nodes: tuple[Offer, int]) -> Plan:
    """Serve chat on so many nodes of each offer, all of one machine, for a day."""
    replicas = 8 * sum(count for _, count in nodes)
    first = nodes[0][0]
    return plan(
        [of for of, _ in nodes],
        Parts(
            purchases=[bought(of, (0, 24, count)) for of, count in nodes],
            serving=[served(first, (0, 24, replicas, 1.0))],
        ),
    )


def test_a_commitment_that_stands_in_the_inventory_since_disturbs_nothing() -> None:
    old, new = serving_on((RESERVED, 2)), serving_on((OWNED, 2))
    assert disturbed_by(old, new, DAY).nodes == 0
    assert days_apart(old, new, DAY) == 0
    assert steps_between(old, new) == ()


def test_only_as_many_nodes_as_were_committed_are_the_same() -> None:
    old = serving_on((RESERVED, 2))
    more = serving_on((OWNED, 3))
    assert disturbed_by(old, more, DAY).nodes == 1
    assert [(one.action, one.nodes) for one in steps_between(old, more)] == [("add", 1)]
    fewer = serving_on((OWNED, 1))
    assert disturbed_by(old, fewer, DAY).nodes == 1
    assert ("remove", 1) in [(one.action, one.nodes) for one in steps_between(old, fewer)]
    beside = serving_on((OWNED, 2), (RESERVED, 1))  # which is bought anew
    (add,) = steps_between(old, beside)
    assert (add.action, add.nodes, add.line) == ("add", 1, RESERVED.key)
    half = serving_on((OWNED, 1), (RESERVED, 1))
    assert steps_between(old, half) == ()
    counts = {one.id: one.steps[0].nodes for one in handed_over(old, half).purchases}
    assert counts == {OWNED.key: 1, RESERVED.key: 1}


def test_what_is_rented_or_elsewhere_is_another_node() -> None:
    for old, new in (
        (serving_on((RENTED, 1)), serving_on((OWNED, 1))),
        (serving_on((RESERVED, 1)), serving_on((ELSEWHERE, 1))),
    ):
        assert disturbed_by(old, new, DAY).nodes == 1
        assert handed_over(old, new).purchases == old.purchases
