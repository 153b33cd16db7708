"""Isolated workloads: they cost what each costs when planned alone, and no plan shares their nodes.

Nodes have one GPU where nothing else is said; a day has three slots.
"""

import math
from dataclasses import replace

import pytest
from changed_cases import with_workloads
from solving import EXACT, assembled, program_of, same_cost, solved
from tenant_cases import cheapest_apart_usd, shares_a_node, tenant_case, with_few_nodes
from tiny_cases import case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, OwnedNodes
from broker.domain.offer import Block, Limits, Offer, PriceKind
from broker.domain.plan import Status
from broker.verification.check import check
from solver.milp.dump import lines
from solver.milp.forced import forced_optimum
from solver.milp.optimize import optimize, relaxed_bound_usd
from solver.milp.optimum import Optimum
from solver.milp.prune import prune

SEEDS = range(40)
BOX = offer("4")
MONTH = offer("2", kind=PriceKind.RESERVED, term_months=1)
DAY, NIGHT = [[1.0, 1.0, 0.0]], {"earliest": "2026-12-01T16:00:00Z", "deadline": "2026-12-02"}


@pytest.mark.parametrize("seed", SEEDS)
def test_isolated_workloads_cost_what_each_costs_alone(seed: int) -> None:
    of = tenant_case(seed)
    expected = cheapest_apart_usd(of)
    for found in (solved(of), optimize(of, EXACT), solved(prune(of).case)):
        if math.isinf(expected):
            assert found.status is Status.INFEASIBLE
            continue
        assert float(found.total_usd) == pytest.approx(expected, rel=1e-5, abs=1e-4)
        assert check(assembled(of, found), of) == ()
        assert relaxed_bound_usd(of) <= expected * (1 + 1e-6)


def test_some_isolation_costs_money() -> None:
    drawn = [tenant_case(seed) for seed in SEEDS]
    shared = [solved(with_workloads(of, {"policy.isolated": []})) for of in drawn]
    apart = [solved(of) for of in drawn]
    dearer = [
        one.total_usd < other.total_usd
        for one, other in zip(shared, apart, strict=True)
        if Status.INFEASIBLE not in (one.status, other.status)
    ]
    assert sum(dearer) > 3
    assert any(shares_a_node(assembled(of, one)) for of, one in zip(drawn, shared, strict=True))


@pytest.mark.parametrize("seed", range(25))
def test_few_nodes_are_few_for_all_together(seed: int) -> None:
    of = with_few_nodes(tenant_case(seed), seed)
    whole, found = solved(of), optimize(of, EXACT)
    assert found.status is whole.status
    if whole.status is not Status.INFEASIBLE:
        assert same_cost(float(found.total_usd), float(whole.total_usd))
        assert check(assembled(of, found), of) == ()
        assert relaxed_bound_usd(of) <= float(whole.total_usd) * (1 + 1e-6)


def test_a_node_that_serves_by_day_does_not_train_by_night() -> None:
    """An owned node would do for both; it is left to the service, 16 h, or to the run, 8 h."""
    assert optimize(_day_and_night([]), EXACT).total_usd == 0
    for isolated in (["chat"], ["tune"], ["chat", "tune"]):
        found = optimize(_day_and_night(isolated, kept_for="chat"), EXACT)
        assert found.total_usd == 32
    kept = optimize(_day_and_night(["tune"], kept_for="tune"), EXACT)
    assert kept.total_usd == 64
    assert {one.id: one.isolated_for for one in kept.purchases} == {
        "acme/box/here@on_demand": None,
        "acme/box/here@owned#tune": "tune",
    }


def test_a_node_that_is_kept_for_one_and_sold_to_nobody_serves_no_other() -> None:
    """The service has the only node there; with it kept for the run, the service has none."""
    of = _day_and_night(["tune"], kept_for="tune")
    unsold = replace(of, offers=())
    assert optimize(unsold, EXACT).status is Status.INFEASIBLE
    assert relaxed_bound_usd(unsold) == math.inf
    assert optimize(replace(_day_and_night([]), offers=()), EXACT).total_usd == 0


def test_a_node_is_not_filled_by_two_tenants() -> None:
    """Two services of half a node each: one node together, two apart."""
    box = offer("1", gpus=2)
    assert _two_services(box, isolated=[]).total_usd == 24
    found = _two_services(box, isolated=["chat"])
    assert found.total_usd == 48
    assert {one.id: one.offer for one in found.purchases} == {
        "acme/box/here@on_demand": box.key,
        "acme/box/here@on_demand#chat": box.key,
    }


def test_spot_nodes_are_not_shared_either() -> None:
    box = offer("1", gpus=2, kind=PriceKind.SPOT)
    share = {"max_share": 1.0}
    assert _two_services(box, isolated=[], on_spot=True, spot=share).total_usd == 24
    assert _two_services(box, isolated=["embed"], on_spot=True, spot=share).total_usd == 48


def test_a_commitment_is_one_tenants_for_its_whole_term() -> None:
    """Shared, a node of a month serves and trains; apart, the run rents its 8 h."""
    of = _day_and_night([], owned=False, offers=(BOX, MONTH))
    assert optimize(of, EXACT).total_usd == 48
    apart = _day_and_night(["chat"], owned=False, offers=(BOX, MONTH))
    found = optimize(apart, EXACT)
    assert found.total_usd == 48 + 32
    assert check(assembled(apart, found), apart) == ()


def test_a_capacity_block_is_booked_for_one() -> None:
    block = offer("1", kind=PriceKind.CAPACITY_BLOCK)
    block = block.model_copy(update={"block": Block(lengths_h=(24,))})
    assert optimize(_day_and_night([], owned=False, offers=(BOX, block)), EXACT).total_usd == 24
    of = _day_and_night(["tune"], owned=False, offers=(BOX, block))
    found = optimize(of, EXACT)
    assert found.total_usd == 48
    assert {one.isolated_for for one in found.purchases if one.block} == {None, "tune"}
    assert check(assembled(of, found), of) == ()


def test_rows_of_a_limit_of_nodes() -> None:
    few = offer("1", max_nodes=3)
    file = workloads(services=[service_entry(1, 1), service_entry(1, 1, name="embed")])
    of = case(file, [few], serving=[serving(few, [1]), serving(few, [1], service="embed")])
    of = with_workloads(of, {"policy.isolated": ["chat"]})
    nodes = "+1 on_demand_nodes[0,0] +1 on_demand_nodes[1,0] <= 3"
    assert list(lines(program_of(of), "tenant_limit")) == [
        f"tenant_limit[acme/box/here@on_demand,0]: {nodes}"
    ]


@pytest.mark.parametrize("limits", [Limits(max_nodes=1), Limits(stock_nodes=1)])
def test_of_one_node_there_is_one(limits: Limits) -> None:
    """The other tenant takes the dearer machine."""
    few = offer("1").model_copy(update={"limits": limits})
    assert _two_services(few, offer("3", name="other"), isolated=["chat"]).total_usd == 24 + 72


def test_an_offer_may_be_forced_for_either() -> None:
    cheap, dear = offer("1"), offer("3", name="dear")
    of = _services(cheap, dear, isolated=["chat"])
    assert optimize(of, EXACT).total_usd == 48
    forced = forced_optimum(of, dear.key, EXACT)
    assert forced.total_usd == 24 + 72
    assert forced.status is Status.OPTIMAL


def test_a_plan_that_shares_a_node_is_refused() -> None:
    box = offer("1", gpus=2)
    of = _services(box, isolated=["chat"])
    shared = with_workloads(of, {"policy.isolated": []})
    plan = assembled(of, solved(shared))
    assert {one.rule for one in check(plan, of)} == {"capacity"}
    (node,) = plan.purchases
    kept = node.model_copy(update={"isolated_for": "chat"})
    assert {one.rule for one in check(plan.model_copy(update={"purchases": (kept,)}), of)} == {
        "capacity"
    }
    alone = {"purchases": (kept,), "workloads": shared.workloads}
    (found,) = check(plan.model_copy(update=alone), shared)
    assert found.rule == "isolation"
    assert "is isolated_for 'chat'; isolated workloads are none" in found.message


def test_nodes_of_one_tenant_are_of_the_tier_that_is_sold() -> None:
    """A policy on a tier, and a surcharge on it, mean the nodes of isolated workloads, too."""
    box = offer("1").model_copy(update={"tier": "secure"})
    of = with_workloads(
        _services(box, isolated=["chat"]),
        {
            "policy.providers": {"allow": ["acme:secure"]},
            "policy.surcharges": [{"rate": "0.5", "providers": ["acme:secure"]}],
        },
    )
    found = optimize(of, EXACT)
    assert found.total_usd == 2 * 36
    assert check(assembled(of, found), of) == ()
    denied = with_workloads(of, {"policy.providers": {"deny": ["acme:secure"]}})
    plan = assembled(of, found).model_copy(update={"workloads": denied.workloads})
    assert {(one.rule, one.subject) for one in check(plan, denied)} == {
        ("places", one.id) for one in found.purchases
    }


def _day_and_night(
    isolated: list[str],
    *,
    kept_for: str | None = None,
    owned: bool = True,
    offers: tuple[Offer, ...] = (BOX,),
) -> Case:
    """Serve one replica in the first 16 h, and train for the 8 h after."""
    load = {"requests_per_s": {"step": "8 h", "by_size": DAY}}
    file = workloads(
        services=[service_entry(1, 1, traffic=load, min_replicas=0)],
        training=[run_entry(8 * 3600, window=NIGHT)],
    )
    of = case(file, offers, serving=[serving(BOX, [1])], training=[training(BOX)])
    of = with_workloads(of, {"policy.isolated": isolated})
    kept = kept_for if kept_for in isolated else None
    nodes = (OwnedNodes(BOX.machine, 1, None, kept),) if owned else ()
    return Case(of.workloads, of.offers, of.machines, of.serving, of.training, nodes)


def _services(*boxes: Offer, isolated: list[str], on_spot: bool = False, **more: object) -> Case:
    names = ("chat", "embed")
    file = workloads(
        services=[service_entry(1, 1, name=name, **more) for name in names],
        policy={"isolated": isolated},
    )
    options = [serving(box, [1], service=name, on_spot=on_spot) for box in boxes for name in names]
    return case(file, boxes, serving=options)


def _two_services(
    *boxes: Offer, isolated: list[str], on_spot: bool = False, **more: object
) -> Optimum:
    of = _services(*boxes, isolated=isolated, on_spot=on_spot, **more)
    found = optimize(of, EXACT)
    assert check(assembled(of, found), of) == ()
    return found
