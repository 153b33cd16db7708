from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

import pytest
from batch_cases import daily
from solving import assembled, solved
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import CatalogRef, NodeStep, Plan, Purchase
from broker.domain.workload import Workloads
from broker.planning.catalog_view import CatalogView
from broker.planning.differences.compare import Catalogs, Find, Solve, compare_plans
from broker.planning.differences.demand import load_changes, new_load_old_rules, rule_changes
from broker.planning.differences.lines import repriced_usd
from broker.reports.diff_view import PlanDifference

BOX = offer("10", name="box")
OTHER = offer("12", name="other")
DAY_USD = Decimal(240)


def demand(
    mean: float = 1.0, *, policy: dict[str, object] | None = None, **more: object
) -> Workloads:
    entry = service_entry(mean, mean, start_up="10 min", **more)
    return workloads(services=[entry], policy=policy or {})


def view(*offers: Offer) -> CatalogView:
    hashed = "+".join(f"{one.key}={one.usd_per_hour}" for one in offers)
    return CatalogView(offers, (), (), as_of=START, now=START, snapshot=hashed)


def plan_over(asked: Workloads, catalog: CatalogView) -> Plan:
    """Plan on boxes that each answer one request a second."""
    allowed = [one for one in catalog.offers if one.provider not in asked.policy.providers.deny]
    service = asked.services[0].name
    options = [
        serving(one, [1.0], on_spot=one.price_kind is PriceKind.SPOT, service=service)
        for one in {one.machine: one for one in allowed}.values()
    ]
    of = case(asked, allowed, serving=options)
    plan = assembled(of, solved(of))
    ref = CatalogRef(
        snapshot=catalog.snapshot, offers=len(catalog.offers), as_of=START, oldest_price_at=None
    )
    return plan.model_copy(update={"catalog": ref, "workloads": asked})


def found_between(old: Plan, new: Plan, find: Find, solve: Solve | None = None) -> PlanDifference:
    """Compare two plans whose catalogs are found, as far as they are."""
    return compare_plans(old, new, Catalogs.of(old, new, find), solve=solve)


def compared(
    old: tuple[Workloads, CatalogView], new: tuple[Workloads, CatalogView], *, solve: bool = True
) -> PlanDifference:
    """Compare the plans of two workloads and catalogs, both of which can be found."""
    catalogs = {one.snapshot: one for _, one in (old, new)}
    return found_between(
        plan_over(*old),
        plan_over(*new),
        lambda ref: catalogs[ref.snapshot],
        solve=plan_over if solve else None,
    )


def parts(of: PlanDifference) -> dict[str, Decimal]:
    """Give the parts that are not nothing; all of them add up to the change."""
    assert sum((part.usd for part in of.parts), Decimal(0)) == of.change_usd
    return {part.cause: part.usd for part in of.parts if part.usd}


def test_a_price_that_moves_one_percent_is_all_of_the_change() -> None:
    dearer = BOX.model_copy(update={"usd_per_hour": Decimal("10.10")})
    found = compared((demand(), view(BOX, OTHER)), (demand(), view(dearer, OTHER)))
    assert parts(found) == {"price": Decimal("2.40")}
    assert found.is_no_change
    assert [row.change for row in found.lines] == ["repriced"]
    assert found.steps == ()


def test_buying_elsewhere_at_new_prices_is_price_too() -> None:
    """24 h at 13 instead of 10 add 72; at 12 the other box takes 24 of them off again."""
    dearer = BOX.model_copy(update={"usd_per_hour": Decimal(13)})
    found = compared((demand(), view(BOX, OTHER)), (demand(), view(dearer, OTHER)))
    assert parts(found) == {"price": Decimal(48)}
    assert [row.change for row in found.lines] == ["added", "removed"]
    assert "+72.00 for the old purchases" in found.parts[0].why
    assert "-24.00 for buying otherwise" in found.parts[0].why


def test_an_offer_that_is_gone_has_no_new_price_and_counts_as_catalog() -> None:
    found = compared((demand(), view(BOX, OTHER)), (demand(), view(OTHER)))
    assert parts(found) == {"catalog": Decimal(48)}
    assert "no new price for what the old plan buys: acme/box/here@on_demand" in found.notes[0]


def test_a_cheaper_offer_that_came_counts_as_catalog_beside_the_price() -> None:
    dearer = OTHER.model_copy(update={"usd_per_hour": Decimal("12.5")})
    found = compared((demand(), view(OTHER)), (demand(), view(BOX, dearer)))
    assert parts(found) == {"price": Decimal(12), "catalog": Decimal(-60)}


def test_more_load_alone_is_all_of_the_change_and_nothing_is_solved() -> None:
    found = compared((demand(1), view(BOX)), (demand(3), view(BOX)), solve=False)
    assert parts(found) == {"load": 2 * DAY_USD}
    assert [row.change for row in found.lines] == ["changed"]


def test_rules_alone_are_all_of_the_change() -> None:
    spare = {"spare_replicas": 2}
    found = compared((demand(), view(BOX)), (demand(availability=spare), view(BOX)), solve=False)
    assert parts(found) == {"rules": 2 * DAY_USD}


def test_load_and_rules_are_told_apart_by_solving_the_demand_between() -> None:
    """Three boxes carry the new load under the old rules; a spare is the fourth."""
    new = demand(3, availability={"spare_replicas": 1})
    found = compared((demand(1), view(BOX)), (new, view(BOX)))
    assert parts(found) == {"load": 2 * DAY_USD, "rules": DAY_USD}


def test_without_solving_load_and_rules_stand_together() -> None:
    new = demand(3, availability={"spare_replicas": 1})
    found = compared((demand(1), view(BOX)), (new, view(BOX)), solve=False)
    assert parts(found) == {"load and rules together": 3 * DAY_USD}
    assert [part.cause for part in found.parts] == ["price", "catalog", "load and rules together"]
    assert any("were not told apart" in note for note in found.notes)


def test_all_four_causes_are_split_exactly() -> None:
    """Price: 240 → 264. Catalog: the other box at 9 saves 48. Load: 2 more. Rules: a spare."""
    dearer = BOX.model_copy(update={"usd_per_hour": Decimal(11)})
    cheap = offer("9", name="cheap")
    new = demand(3, availability={"spare_replicas": 1})
    found = compared((demand(1), view(BOX)), (new, view(dearer, cheap)))
    nine = Decimal(9 * 24)
    assert parts(found) == {
        "price": Decimal(24),
        "catalog": Decimal(-48),
        "load": 2 * nine,
        "rules": nine,
    }


def test_where_the_old_rules_cannot_carry_the_new_load_the_two_stand_together() -> None:
    old, new = demand(1, policy={"budget_usd_per_month": 8000}), demand(3)
    plans = plan_over(old, view(BOX)), plan_over(new, view(BOX))
    found = found_between(*plans, lambda _: view(BOX), plan_over)
    assert parts(found) == {"load and rules together": 2 * DAY_USD}


def test_rules_that_name_what_the_other_file_lacks_stand_together_with_the_load() -> None:
    """The budget of a team that is no more cannot be held against the load of today's teams."""

    def team(name: str, mean: float) -> Workloads:
        budget = {"team": name, "usd": 100_000}
        return demand(mean, policy={"budgets": [budget]}, team=name, name=f"{name}-chat")

    found = compared((team("ops", 1.0), view(BOX)), (team("wards", 2.0), view(BOX)))
    assert parts(found) == {"load and rules together": DAY_USD}


def test_a_catalog_that_is_not_found_leaves_open_what_else_changed() -> None:
    dearer = BOX.model_copy(update={"usd_per_hour": Decimal("10.10")})

    def not_found(ref: CatalogRef) -> CatalogView:
        raise ConfigurationError(f"no {ref.snapshot}", hint="")

    plans = plan_over(demand(), view(BOX)), plan_over(demand(2), view(dearer))
    found = found_between(*plans, not_found, plan_over)
    assert parts(found) == {
        "price": Decimal("2.40"),
        "catalog and load together": Decimal("242.40"),
    }


def test_a_catalog_that_is_named_must_be_that_of_its_plan() -> None:
    old, new = plan_over(demand(), view(BOX)), plan_over(demand(2), view(BOX))
    with pytest.raises(ConfigurationError, match="NEW was made from"):
        Catalogs.of(old, new, lambda _: view(BOX), named=view(OTHER))
    with pytest.raises(ConfigurationError, match="OLD was made from"):
        Catalogs.of(old, new, lambda _: view(BOX), old_named=view(OTHER))


def test_catalogs_that_nobody_keeps_are_used_where_they_are_named() -> None:
    dearer = BOX.model_copy(update={"usd_per_hour": Decimal("10.10")})

    def not_found(ref: CatalogRef) -> CatalogView:
        raise ConfigurationError(f"no {ref.snapshot}", hint="")

    old, new = plan_over(demand(), view(BOX)), plan_over(demand(2), view(dearer))
    catalogs = Catalogs.of(old, new, not_found, named=view(dearer), old_named=view(BOX))
    found = parts(compare_plans(old, new, catalogs, solve=plan_over))
    assert found == {"price": Decimal("2.40"), "load": Decimal("242.40")}
    same = Catalogs.of(old, plan_over(demand(2), view(BOX)), not_found, old_named=view(BOX))
    assert same.new is same.old is not None


def test_a_change_inside_the_gaps_is_said_to_be_uncertain() -> None:
    old = plan_over(demand(), view(BOX, OTHER))
    new = plan_over(demand(), view(OTHER))
    wide = {"bound_usd": Decimal(230), "gap_fraction": 0.2}
    new = new.model_copy(update=wide | {"catalog": old.catalog})
    found = found_between(old, new, lambda _: view(BOX, OTHER))
    assert parts(found) == {"search": Decimal(48)}
    assert "+48.00 USD of the change is within the proof's uncertainty" in found.notes[0]
    sure = new.model_copy(update={"bound_usd": Decimal(288), "gap_fraction": 0.0})
    found = found_between(old, sure, lambda _: view(BOX, OTHER))
    assert not any("uncertainty" in note for note in found.notes)


def test_an_infeasible_plan_cannot_be_compared() -> None:
    good, bad = plan_over(demand(), view(BOX)), plan_over(demand(), view())
    with pytest.raises(ConfigurationError, match="NEW has no purchases"):
        found_between(good, bad, lambda _: view(BOX))


RESERVED = offer("6.10", kind=PriceKind.RESERVED, term_months=12, upfront_usd="1234.56")


@pytest.mark.parametrize("bought", [BOX, RESERVED, offer("3.333333", kind=PriceKind.SPOT)])
def test_an_old_purchase_at_its_old_price_costs_what_the_plan_says(bought: Offer) -> None:
    spot = {"spot": {"max_share": 1.0}} if bought.price_kind is PriceKind.SPOT else {}
    plan = plan_over(demand(2, **spot), view(bought))
    (purchase,) = plan.purchases
    assert purchase.usd > 0
    assert repriced_usd(purchase, bought) == purchase.usd


def test_a_commitment_is_repriced_with_its_upfront_share() -> None:
    """A day of 6.10 $/h and of 8 760 $ over 8 760 h is 24 · (6.10 + 1)."""
    dearer = RESERVED.model_copy(
        update={
            "commitment": RESERVED.commitment
            and RESERVED.commitment.model_copy(update={"upfront_usd": Decimal(8760)})
        }
    )
    (purchase,) = plan_over(demand(), view(RESERVED)).purchases
    assert repriced_usd(purchase, dearer) == Decimal("170.40")


def names(of: PlanDifference) -> list[tuple[str, str, int]]:
    return [(row.action, row.line.partition("/here")[0], row.nodes) for row in of.steps]


def test_nodes_are_added_then_waited_for_then_the_others_drained_and_removed() -> None:
    dearer = BOX.model_copy(update={"usd_per_hour": Decimal(13)})
    found = compared((demand(2), view(BOX, OTHER)), (demand(2), view(dearer, OTHER)))
    assert names(found) == [
        ("add", "acme/other", 2),
        ("wait", "", 0),
        ("drain", "acme/box", 2),
        ("remove", "acme/box", 2),
    ]
    begin, ready = START, START + timedelta(minutes=10)
    assert [row.at for row in found.steps] == [begin, begin, ready, ready]
    assert [row.number for row in found.steps] == [1, 2, 3, 4]
    assert found.steps[0].workloads == "chat"


def test_fewer_nodes_of_a_line_that_stays_need_no_waiting() -> None:
    found = compared((demand(3), view(BOX)), (demand(1), view(BOX)))
    assert names(found) == [("drain", "acme/box", 2), ("remove", "acme/box", 2)]


def test_nodes_that_go_for_some_hours_alone_are_said_to_come_back() -> None:
    old = plan_over(demand(2), view(BOX))
    (line,) = old.purchases
    noon = START + timedelta(hours=12)
    steps = (
        NodeStep(from_at=START, to_at=noon, nodes=1),
        NodeStep(from_at=noon, to_at=line.steps[-1].to_at, nodes=2),
    )
    fewer = old.model_copy(update={"purchases": (line.model_copy(update={"steps": steps}),)})
    remove = compare_found(old, fewer, BOX).steps[-1]
    assert (remove.action, remove.at, remove.nodes) == ("remove", START, 1)
    assert remove.note == "needed again from 2026-12-01 12:00 on"
    other = compare_found(old, plan_over(demand(1), view(BOX)), BOX).steps[-1]
    assert (other.action, other.note) == ("remove", "")


def test_a_line_with_hours_without_a_node_has_none_at_the_least() -> None:
    old = plan_over(demand(2), view(BOX))
    (line,) = old.purchases
    noon, last_at = START + timedelta(hours=12), line.steps[-1].to_at
    steps = (
        NodeStep(from_at=START, to_at=noon, nodes=2),
        NodeStep(from_at=last_at - timedelta(hours=1), to_at=last_at, nodes=2),
    )
    come_and_go = old.model_copy(update={"purchases": (line.model_copy(update={"steps": steps}),)})
    (row,) = compare_found(old, come_and_go, BOX).lines
    assert (row.old_least_nodes, row.new_least_nodes, row.new_most_nodes) == (2, 0, 2)


def shifted(purchases: Sequence[Purchase], **to_hours: int) -> tuple[Purchase, ...]:
    """Let each purchase begin so many hours after the horizon does."""
    return tuple(
        one.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"from_at": START + timedelta(hours=to_hours["hours"])})
                    for step in one.steps
                )
            }
        )
        for one in purchases
    )


def compare_found(old: Plan, new: Plan, *offers: Offer) -> PlanDifference:
    return found_between(old, new, lambda _: view(*offers))


def test_a_commitment_is_never_added_before_its_start() -> None:
    old, new = plan_over(demand(), view(BOX)), plan_over(demand(), view(RESERVED))
    late = new.model_copy(update={"purchases": shifted(new.purchases, hours=8)})
    found = compare_found(old, late, BOX)
    (add,) = (row for row in found.steps if row.action == "add")
    assert add.at == START + timedelta(hours=8)
    assert add.note == "the commitment begins on 2026-12-01 08:00"


def test_a_commitment_that_goes_is_owed_to_its_end_if_it_is_bought() -> None:
    old, new = plan_over(demand(), view(RESERVED)), plan_over(demand(), view(BOX))
    found = compare_found(old, new, BOX)
    assert found.steps[-1].action == "remove"
    assert "owed to the end of its term" in found.steps[-1].note


def test_a_line_that_has_not_begun_is_just_not_bought() -> None:
    old, new = plan_over(demand(), view(BOX)), plan_over(demand(), view(OTHER))
    later = old.model_copy(update={"purchases": shifted(old.purchases, hours=16)})
    found = compare_found(later, new, OTHER)
    going = [row for row in found.steps if "box" in row.line]
    assert [(row.action, row.at) for row in going] == [("remove", START)]
    assert "was to begin on 2026-12-01; do not buy it" in going[0].note


def test_horizons_that_move_on_a_day_are_compared_where_both_lie() -> None:
    asked = demand().model_copy(update={"horizon": demand().horizon.model_copy(update={"days": 2})})
    moved = asked.horizon.model_copy(update={"start": START + timedelta(days=1)})
    tomorrow = asked.model_copy(update={"horizon": moved})
    found = compared((asked, view(BOX)), (tomorrow, view(BOX)))
    assert found.is_no_change
    assert found.steps == ()
    assert found.notes[-1].endswith("where both lie, 2026-12-02 to 2026-12-03")


def test_load_is_traffic_sizes_users_tokens_and_the_horizon_and_all_else_is_rules() -> None:
    old = workloads(services=[service_entry(1, 1)], training=[run_entry(1e6)])
    new = workloads(
        services=[service_entry(2, 2, min_replicas=2), service_entry(1, 1, name="more")],
        training=[run_entry(2e6, restartable=True)],
        days=2,
        policy={"budget_usd_per_month": 100},
    )
    assert load_changes(old, new) == ("horizon", "more is new", "chat.traffic", "tune.tokens")
    rules = ("policy.budget_usd_per_month", "chat.min_replicas", "tune.restartable")
    assert rule_changes(old, new) == rules
    between = new_load_old_rules(old, new)
    assert load_changes(between, new) == ()
    assert rule_changes(old, between) == ()


def test_a_run_that_moves_waits_for_its_restart() -> None:
    asked = workloads(training=[run_entry(3600.0 * 8, restart="30 min")])
    plans = []
    for one in (BOX, OTHER):
        of = case(asked, [one], training=[training(one)])
        plans.append(assembled(of, solved(of)))
    found = compare_found(*plans, BOX, OTHER)
    assert names(found)[:2] == [("add", "acme/other", 1), ("wait", "", 0)]
    assert found.steps[2].at - found.steps[0].at == timedelta(minutes=30)


def test_the_tokens_of_a_batch_job_are_load_and_its_deadline_is_a_rule() -> None:
    old = daily(1)
    more, later = daily(1, tokens_per_day=7200.0), daily(1, by="12:00 UTC")
    assert load_changes(old, more) == ("embed.tokens_per_day",)
    assert rule_changes(old, more) == ()
    assert (load_changes(old, later), rule_changes(old, later)) == ((), ("embed.by",))
    both = daily(1, tokens_per_day=7200.0, by="12:00 UTC")
    assert new_load_old_rules(old, both).batch[0] == more.batch[0]
