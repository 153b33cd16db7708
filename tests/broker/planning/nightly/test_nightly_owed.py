"""What is owed of the plan in force: commitments that it or an earlier plan bought."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from export_plans import Parts, at, bought, machine, plan

from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Plan, SavingsPlan
from broker.domain.workload import Holding
from broker.planning.nightly.owed import Bought, Owed, OwedLines, owed_lines

THEN = machine("gcp/a3/us-east4", usd="25", kind=PriceKind.RESERVED)
NOW = machine("gcp/a3/us-east4", usd="30", kind=PriceKind.RESERVED)
RENTED = machine("aws/p5/us-east-1", usd="40")
LINE = THEN.key
TERM = timedelta(days=365)


def buying(*nodes: tuple[Offer, int], held: Sequence[Holding] = ()) -> Plan:
    """Buy so many nodes of each offer for a day, beside what is held."""
    made = plan(
        [of for of, _ in nodes],
        Parts(purchases=[bought(of, (0, 24, count)) for of, count in nodes]),
    )
    demand = made.workloads.model_copy(update={"inventory": tuple(held)})
    return made.model_copy(update={"workloads": demand})


def owed(
    in_force: Plan, *earlier: Plan, own: frozenset[str] = frozenset(), days: float = 1
) -> OwedLines:
    every = frozenset({LINE, RENTED.key})
    return owed_lines(
        in_force, own, [Bought(one, every) for one in earlier], at(0) + timedelta(days=days)
    )


def test_commitments_of_the_plan_itself_are_owed_whole_and_rented_nodes_are_not() -> None:
    own = frozenset({LINE, RENTED.key})
    assert owed(buying((NOW, 3), (RENTED, 1)), own=own) == {LINE: Owed(Fraction(1), NOW)}


def test_what_an_earlier_plan_bought_is_owed_for_so_many_nodes_at_its_price() -> None:
    first = buying((THEN, 1), (RENTED, 1))
    assert owed(buying((NOW, 3), (RENTED, 1)), first) == {LINE: Owed(Fraction(1, 3), THEN)}
    assert owed(buying((NOW, 1)), first) == {LINE: Owed(Fraction(1), THEN)}
    assert owed(buying((NOW, 1)), buying((THEN, 5))) == {LINE: Owed(Fraction(1), THEN)}
    assert owed(buying((RENTED, 1)), first) == {}


def test_the_largest_purchase_of_a_line_counts_once() -> None:
    found = owed(buying((NOW, 4)), buying((THEN, 1)), buying((THEN, 2)))
    assert found == {LINE: Owed(Fraction(1, 2), THEN)}
    own = owed(buying((NOW, 4)), buying((THEN, 1)), own=frozenset({LINE}))
    assert own == {LINE: Owed(Fraction(1), NOW)}


def test_a_term_that_is_over_is_owed_no_more() -> None:
    assert owed(buying((NOW, 1)), buying((THEN, 1)), days=364)
    assert owed(buying((NOW, 1)), buying((THEN, 1)), days=366) == {}


def test_what_stands_in_the_inventory_of_the_later_plan_is_not_its_line() -> None:
    held = [Holding(offer=THEN.machine, nodes=1, until=at(0) + TERM)]
    assert owed(buying((NOW, 2), held=held), buying((THEN, 1))) == {}
    assert owed(buying((NOW, 2), held=held), buying((THEN, 2))) == {
        LINE: Owed(Fraction(1, 2), THEN)
    }
    assert owed(buying((NOW, 2), held=held), buying((THEN, 1), held=held)) == {
        LINE: Owed(Fraction(1, 2), THEN)
    }


def test_a_savings_plan_is_measured_by_what_it_promises() -> None:
    def promising(usd: str) -> Plan:
        made = buying((THEN, 1))
        (one,) = made.purchases
        savings = SavingsPlan(usd_per_hour=Decimal(usd), utilization=1, covers=())
        line = one.model_copy(update={"steps": (), "savings": savings})
        return made.model_copy(update={"purchases": (line,)})

    assert owed(promising("8"), promising("2")) == {LINE: Owed(Fraction(1, 4), THEN)}
