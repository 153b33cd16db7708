from datetime import timedelta
from decimal import Decimal

import pytest
from export_plans import START, Parts, at, bought, machine, plan, served, trained
from tiny_cases import run_entry, service_entry

from broker.alerts.finding import alerts_of, looked_at
from broker.alerts.night import Change, Night, PriceMove, ProviderState
from broker.domain.alert import Alert, AlertKind
from broker.domain.offer import Place, PriceKind
from broker.domain.plan import Plan
from broker.domain.workload import Holding, Workloads

HELD = machine("acme/box/east")
RENTED = machine("beta/box/east", usd="50")
RUN = run_entry(48 * 3600 * 1000, window={"earliest": "2026-12-01", "deadline": "2026-12-03"})
NO_RUN = run_entry(1, window={"earliest": "2026-12-05", "deadline": "2026-12-06"})
CALM = service_entry(0.5, 1)


def night(**given: object) -> Night:
    """Make a night in the first hour of the plan, in which nothing is amiss."""
    fields: dict[str, object] = {
        "now": START,
        "workloads": "w.yaml",
        "in_force": None,
        "made": None,
        "adopted": False,
        "made_name": "new.json",
    }
    return Night(**{**fields, **given})


def quiet_plan(**changes: object) -> Plan:
    """Serve a little on rented nodes, far below what they can do, and train later."""
    made = plan(
        [RENTED],
        Parts(
            purchases=[bought(RENTED, (0, 48, 1))],
            serving=[served(RENTED, (0, 48, 4, 1.0))],
            services=[CALM],
            runs=[NO_RUN],
        ),
    )
    return made.model_copy(update=changes)


def with_demand(made: Plan, **changes: object) -> Plan:
    """Write other workloads into a plan."""
    data = made.workloads.model_dump(by_alias=True) | changes
    return made.model_copy(update={"workloads": Workloads.model_validate(data, strict=False)})


def only(of: Night, kind: AlertKind) -> Alert:
    found = [alert for alert in alerts_of(of) if alert.kind is kind]
    assert len(found) == 1, [alert.title for alert in alerts_of(of)]
    return found[0]


def kinds(of: Night) -> set[AlertKind]:
    return {alert.kind for alert in alerts_of(of)}


def test_a_quiet_night_is_not_told() -> None:
    calm = quiet_plan()
    state = ProviderState("acme", 100, 100, START, None, "")
    move = PriceMove("beta/box/east@on_demand", Decimal(50), Decimal(52), 1, START)
    assert alerts_of(night(in_force=calm, made=calm, providers=[state], price_moves=[move])) == ()


def test_a_better_plan_tells_its_three_dearest_steps_and_what_a_day_of_waiting_costs() -> None:
    calm = quiet_plan()
    changes = [Change(f"step {n}", Decimal(usd)) for n, usd in enumerate((400, 300, 200, -100))]
    alert = only(
        night(in_force=calm, made=calm, adopted=True, changes=changes), AlertKind.BETTER_PLAN
    )
    # 400 + 300 + 200 − 100 = 800 in two days.
    assert alert.title == "A better plan of w.yaml saves $800 in 2 days"
    assert alert.usd_per_day == 400
    assert alert.facts[:4] == (
        "1. step 0: saves $400",
        "2. step 1: saves $300",
        "3. step 2: saves $200",
        "1 more step, costing $100 in all",
    )
    assert alert.action == "gpubroker approve new.json --by NAME"


def test_a_day_of_waiting_costs_the_saving_of_the_days_in_which_the_plans_differ() -> None:
    calm = quiet_plan()
    changes = [Change("x", Decimal(800))]
    of = night(in_force=calm, made=calm, adopted=True, changes=changes, days_apart=Decimal("0.5"))
    alert = only(of, AlertKind.BETTER_PLAN)
    assert alert.title == "A better plan of w.yaml saves $800 in 0.5 days"
    assert alert.usd_per_day == 1600


def test_a_saving_above_all_that_is_spent_is_not_told_as_one() -> None:
    calm = quiet_plan()  # costs 48 h × 50 USD = 2,400 USD
    of = night(in_force=calm, made=calm, adopted=True, changes=[Change("x", Decimal(2401))])
    assert only(of, AlertKind.BETTER_PLAN).usd_per_day is None


def test_the_state_of_a_better_plan_stays_while_its_saving_moves_a_little() -> None:
    calm = quiet_plan()

    def state(usd: str) -> str:
        of = night(in_force=calm, made=calm, adopted=True, changes=[Change("x", Decimal(usd))])
        return only(of, AlertKind.BETTER_PLAN).state

    assert state("600") == state("700")  # 300 and 350 a day: both from 256 on
    assert state("600") != state("1200")


def test_the_first_plan_is_told_and_one_that_is_not_worth_the_change_is_not() -> None:
    calm = quiet_plan()
    first = only(night(made=calm, adopted=True), AlertKind.BETTER_PLAN)
    assert first.title == "The first plan of w.yaml: $2,400 for 2 days"
    assert kinds(night(in_force=calm, made=calm, adopted=False)) == set()


def test_new_inventory_that_the_plan_in_force_does_not_use_is_idle_and_has_a_value() -> None:
    in_force = quiet_plan()
    inventory = [{"offer": HELD.machine, "nodes": 2}]
    tonight = with_demand(in_force, inventory=inventory)
    alert = only(night(in_force=in_force, made=tonight, machines=[HELD]), AlertKind.IDLE_COMMITMENT)
    # One node is rented for 48 h at 50 USD; two are held, so that one can move: 1,200 USD a day.
    assert alert.usd_per_day == 1200
    assert alert.subject == "acme/box/east"
    assert alert.since == START
    assert "move chat from beta/box/east@on_demand ($50.00/h), up to 1 node " in alert.facts[0]
    assert "48 node-hours, $2,400" in alert.facts[0]
    # Tonight's plan leaves them idle, too: what keeps the work away is to be seen, not adopted.
    assert alert.action == "gpubroker explain new.json"


def test_a_plan_that_uses_the_idle_nodes_is_what_mends_it() -> None:
    in_force = quiet_plan()
    inventory = [{"offer": HELD.machine, "nodes": 1}]
    moved = plan(
        [HELD],
        Parts(
            purchases=[],
            serving=[served(HELD, (0, 48, 4, 1.0))],
            services=[CALM],
            runs=[NO_RUN],
        ),
    )
    made = with_demand(moved, inventory=inventory)
    alert = only(night(in_force=in_force, made=made), AlertKind.IDLE_COMMITMENT)
    assert alert.action == "gpubroker approve new.json --by NAME"


@pytest.mark.parametrize(
    "held",
    [
        machine("acme/box/east", gpu="H200-SXM"),
        machine("acme/box/east", gpus=4),
        HELD.model_copy(update={"place": Place(region="paris", continent="eu")}),
    ],
)
def test_nodes_that_do_not_match_are_not_idle_in_place_of_rented_ones(held: object) -> None:
    in_force = quiet_plan()
    tonight = with_demand(in_force, inventory=[{"offer": HELD.machine, "nodes": 2}])
    of = night(in_force=in_force, made=tonight, machines=[held])
    assert AlertKind.IDLE_COMMITMENT not in kinds(of)


def test_a_commitment_that_was_executed_is_not_counted_twice() -> None:
    reserved = machine("acme/box/east", kind=PriceKind.RESERVED)
    in_force = plan(
        [reserved, RENTED],
        Parts(
            purchases=[bought(reserved, (0, 48, 1)), bought(RENTED, (0, 48, 1))],
            serving=[
                served(reserved, (0, 48, 8, 0.5)),
                served(RENTED, (0, 48, 8, 0.5), user_region="us-west"),
            ],
            services=[CALM],
            runs=[NO_RUN],
        ),
    )
    # The reservation stands in tonight's inventory, as it was bought: it is one node, and in use.
    tonight = with_demand(in_force, inventory=[{"offer": reserved.machine, "nodes": 1}])
    of = night(in_force=in_force, made=tonight)
    assert AlertKind.IDLE_COMMITMENT not in kinds(of)


def test_a_commitment_is_told_a_month_a_week_and_a_day_before_its_end() -> None:
    ends = START + timedelta(days=40)
    tonight = with_demand(
        quiet_plan(), inventory=[{"offer": HELD.machine, "nodes": 3, "until": ends}]
    )
    assert isinstance(tonight.workloads.inventory[0], Holding)
    states = {}
    for left in (31, 29, 20, 6, 1, 0, -1):
        now = ends - timedelta(days=left)
        of = night(now=now, in_force=tonight, made=tonight)
        found = [one for one in alerts_of(of) if one.kind is AlertKind.COMMITMENT_ENDING]
        states[left] = [one.state for one in found]
    within = ["within 30 days"]
    assert states == {
        31: [],
        29: within,
        20: within,
        6: ["within 7 days"],
        1: ["on its last day"],
        0: [],
        -1: [],
    }


def test_a_commitment_of_the_plan_that_ends_says_what_renting_costs_more() -> None:
    reserved = machine("acme/box/east", usd="30", kind=PriceKind.RESERVED)  # for 12 months
    rented = machine("acme/box/east", usd="50")
    in_force = plan(
        [reserved, rented],
        Parts(
            purchases=[bought(reserved, (0, 48, 2)), bought(rented, (0, 1, 1))],
            serving=[served(reserved, (0, 48, 16, 0.5))],
            services=[CALM],
            runs=[NO_RUN],
        ),
    )
    now = START + timedelta(hours=12 * 730) - timedelta(days=5)
    alert = only(night(now=now, in_force=in_force), AlertKind.COMMITMENT_ENDING)
    # Two nodes have work at the end of the horizon: 2 × (50 − 30) × 24.
    assert alert.usd_per_day == 960
    assert "on demand they are $2,400 a day (acme/box/east@on_demand)" in alert.facts


def test_a_price_that_rose_by_a_tenth_is_told_with_what_it_costs_a_day() -> None:
    calm = quiet_plan()
    key = "beta/box/east@on_demand"
    moves = [
        PriceMove(key, Decimal(50), Decimal("54.99"), 2, START),
        PriceMove("beta/big/east@spot", Decimal(10), Decimal("12.5"), 2.5, START),
        PriceMove("beta/old/east@spot", Decimal(10), Decimal(5), 2, START),
    ]
    alert = only(night(in_force=calm, made=calm, price_moves=moves), AlertKind.PRICE_JUMP)
    assert alert.subject == "beta/big/east@spot"
    assert alert.usd_per_day == 150  # 2.5 nodes × 2.50 USD × 24 h
    assert alert.state == "up by 25% or more"
    assert alert.action == "gpubroker history beta/big/east@spot"
    below = night(in_force=calm, price_moves=moves, price_floor_usd_per_day=Decimal("150.01"))
    assert kinds(below) == set()


def test_a_provider_that_fails_is_told_once_with_what_depends_on_it() -> None:
    calm = quiet_plan()
    old = START - timedelta(days=5)
    state = ProviderState("beta", 10, 90, old, START - timedelta(hours=30), "401 no key")
    (alert,) = alerts_of(night(in_force=calm, made=calm, providers=[state]))
    assert alert.kind is AlertKind.PROVIDER_FAILING  # not stale, not shrunk: this is their cause
    assert alert.state == "failing for 24 h or more"
    assert alert.scope == ""
    assert alert.facts[0] == "401 no key"
    assert alert.facts[2] == "the plan in force buys 1 line of it, for $1,200 a day"
    assert alert.action == "gpubroker refresh --provider beta"


def test_a_provider_that_lost_a_third_or_is_three_days_old_is_told() -> None:
    calm = quiet_plan()
    fresh, old = START - timedelta(hours=2), START - timedelta(days=4)
    states = [
        ProviderState("few", 65, 100, fresh, None, ""),
        ProviderState("some", 75, 100, fresh, None, ""),
        ProviderState("old", 100, 100, old, None, ""),
        ProviderState("new", 100, 0, fresh, None, ""),
    ]
    found = alerts_of(night(in_force=calm, made=calm, providers=states))
    assert [(one.kind, one.subject) for one in found] == [
        (AlertKind.PROVIDER_SHRUNK, "few"),
        (AlertKind.PROVIDER_STALE, "old"),
    ]
    assert found[0].title == "few lists 35% fewer offers than a day ago"


@pytest.mark.parametrize(
    ("hours", "deadline_h", "on_spot", "risk"),
    [
        ((0, 40), 48, False, None),
        ((0, 47), 48, False, "tight"),  # 1 h of slack for 47 h of work
        ((0, 40), 48, True, "on spot near the deadline"),  # 8 h for 40, a quarter is 10
        ((0, 20), 48, True, None),
        ((0, 40), 36, False, "late"),  # tonight's file has an earlier deadline
    ],
)
def test_a_run_is_held_against_the_deadline_of_tonights_file(
    hours: tuple[float, float],
    deadline_h: float,
    risk: str | None,
    *,
    on_spot: bool,
) -> None:
    kind = PriceKind.SPOT if on_spot else PriceKind.ON_DEMAND
    box = machine("acme/box/east", kind=kind)
    length = hours[1] - hours[0]
    run = run_entry(
        length * 3600 * 1000, window={"earliest": "2026-12-01", "deadline": at(deadline_h)}
    )
    made = plan(
        [box],
        Parts(
            purchases=[bought(box, (*hours, 1))],
            training=[trained(box, 1, hours)],
            services=[],
            runs=[run],
        ),
    )
    found = [one for one in alerts_of(night(in_force=made)) if one.subject == "tune"]
    assert [one.state.partition(" for ")[0] for one in found] == ([risk] if risk else [])


def test_a_run_that_the_plan_in_force_does_not_know_is_told_and_a_done_one_is_not() -> None:
    box = machine("acme/box/east")
    parts = Parts(
        purchases=[bought(box, (0, 4, 1))], training=[trained(box, 1, (0, 4))], services=[]
    )
    window = {"earliest": "2026-12-01", "deadline": "2026-12-03"}
    done = plan([box], Parts(parts.purchases, (), parts.training, (), [run_entry(4 * 3.6e6)]))
    runs = [run_entry(4 * 3.6e6, window=window), run_entry(1e9, name="new", window=window)]
    tonight = with_demand(done, training=runs)
    alert = only(night(now=at(10), in_force=done, made=tonight), AlertKind.DEADLINE_AT_RISK)
    assert alert.subject == "new"
    assert alert.facts == (
        "deadline 2026-12-03 00:00 UTC",
        "the plan in force has no hour of work on it",
    )
    assert alert.action == "gpubroker plan w.yaml"


def test_a_tight_run_gets_a_command_that_plans_it_with_slack() -> None:
    box = machine("acme/box/east")
    parts = Parts(
        purchases=[bought(box, (0, 47, 1))],
        training=[trained(box, 1, (0, 47))],
        services=[],
        runs=[{**RUN, "tokens": 47 * 3.6e6}],
    )
    alert = only(night(in_force=plan([box], parts)), AlertKind.DEADLINE_AT_RISK)
    # 5 % of 47 h is 2.35 h before 2026-12-03 00:00: 21:39, on the hour 21:00.
    assert alert.action == "gpubroker plan w.yaml --what-if deadline.tune=2026-12-02T21:00"


@pytest.mark.parametrize(
    ("peak", "state"), [(7.8, None), (7.9, "near its capacity"), (8.4, "over its capacity")]
)
def test_the_load_of_tonight_is_held_against_the_replicas_in_force(
    peak: float, state: str | None
) -> None:
    # Four replicas answer 2 requests/s each.
    tonight = with_demand(quiet_plan(), services=[service_entry(1, peak)])
    found = alerts_of(night(in_force=quiet_plan(), made=tonight))
    assert [one.state for one in found] == ([state] if state else [])
    if state:
        assert found[0].since == at(8)  # the slot of 8 hours that has the peak at noon
        assert found[0].action == (
            "gpubroker plan w.yaml --what-if services.chat.availability.spare_replicas=1"
        )


def test_the_budget_is_compared_as_the_program_does_at_todays_prices() -> None:
    calm = with_demand(quiet_plan(), policy={"budget_usd_per_month": "40000"})
    # 2,400 USD in 48 h are 36,500 in 730 h: 91 %.
    near = only(night(in_force=calm, made=calm), AlertKind.BUDGET_NEARLY_USED)
    assert near.title == "The plan of w.yaml takes 91% of its budget"
    assert near.usd_per_day is None
    move = PriceMove("beta/box/east@on_demand", Decimal(50), Decimal(60), 1, START)
    over = only(night(in_force=calm, made=calm, price_moves=[move]), AlertKind.BUDGET_NEARLY_USED)
    # 60 USD/h are 43,800 a month, 3,800 too much: × 24 / 730 a day.
    assert over.state == "above the budget"
    assert over.usd_per_day == (Decimal(3800) * 24 / 730).quantize(Decimal("0.000001"))
    assert over.action.endswith("--what-if policy.budget_usd_per_month=48200")


def test_a_night_that_failed_says_why_and_what_still_stands() -> None:
    calm = quiet_plan()
    of = night(in_force=calm, failure="no plan\nin 60.1 s")
    alert = only(of, AlertKind.NIGHT_FAILED)
    assert alert.facts == (
        "no plan in 60.1 s",
        "the plan in force stands; it goes to 2026-12-03 00:00 UTC",
    )
    other = only(night(in_force=calm, failure="no plan in 59.8 s"), AlertKind.NIGHT_FAILED)
    assert other.state == alert.state
    assert alert.action == "gpubroker nightly w.yaml"


def test_a_night_without_a_plan_ends_no_alert_of_the_plan() -> None:
    calm = quiet_plan()
    old = next(iter(alerts_of(night(made=calm, adopted=True))))
    failed = looked_at(night(in_force=calm, failure="x"))
    assert not failed.covers(old)
    assert looked_at(night(in_force=calm, made=calm)).covers(old)
    assert not looked_at(night(made=calm)).covers(old.model_copy(update={"scope": "other.yaml"}))
