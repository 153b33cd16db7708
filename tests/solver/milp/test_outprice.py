"""Options go that cost more than something else rented alone; what could share nodes stays.

A replica of 2 GPUs on a node of 2, rented by the hour without limits, has a price that stands for
itself. Only serving or training options that are compared with such a price are dropped here;
each case is also solved with and without them: the cost is the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from prune_cases import box
from solving import least_usd, same_cost
from tiny_cases import case, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.gpu import Precision
from broker.domain.offer import Limits, Offer, PriceKind
from solver.milp.outprice import drop_outpriced
from solver.milp.prune import prune

ALONE, BIG = "alone", "big"


@pytest.mark.parametrize(
    ("usd", "left"), [("2", {ALONE}), ("1.99", {ALONE, BIG})], ids=["as dear", "cheaper"]
)
def test_a_replica_that_costs_no_less_than_one_alone_goes(usd: str, left: set[str]) -> None:
    alone, big = box(ALONE, "2"), box(BIG, usd)
    # Per replica, a node of `big` is paid whole as well.
    of = _case([alone, big], [_filling(alone, 3), _filling(big, 2.9)])
    assert _left(of) == left


@pytest.mark.parametrize(
    ("rate", "left"), [(2.9, {ALONE}), (3.1, {ALONE, BIG})], ids=["slower", "faster"]
)
def test_a_faster_replica_stays(rate: float, left: set[str]) -> None:
    alone, big = box(ALONE, "2"), box(BIG, "3")
    of = _case([alone, big], [_filling(alone, 3), _filling(big, rate)])
    assert _left(of) == left


def test_machines_of_one_kind_stay_together() -> None:
    # A fleet may be spread over both: the kind has a way that costs no more than the one alone.
    alone, big, other = box(ALONE, "2"), box(BIG, "3"), box("other", "2.5")
    kind = [serving(one, [3], gpus=2) for one in (alone, big)]
    assert _left(_case([alone, big], kind)) == {ALONE, BIG}
    # Only what is on neither machine's side goes; pruning by machine then moves the fleet.
    in_8_bit = kind[0].candidate.model_copy(update={"precision": Precision.FP8})
    of = _case(
        [alone, big, other], [*kind, replace(kind[0], machine=other.machine, candidate=in_8_bit)]
    )
    assert _left(of) == {ALONE, BIG}
    assert {one.machine for one in prune(of).case.serving} == {alone.machine}


def test_a_kind_goes_only_where_each_of_its_machines_costs_as_much() -> None:
    # What is limited stands for nothing else, but it may be the cheapest that a kind has.
    few = Limits(max_nodes=9)
    alone, big, other = box(ALONE, "2"), box(BIG, "3"), box("other", "1.9", limits=few)
    spread = _filling(big, 3)
    both = [spread, replace(spread, machine=other.machine)]
    assert _left(_case([alone, big], [_filling(alone, 3), spread])) == {ALONE}
    assert _left(_case([alone, big, other], [_filling(alone, 3), *both])) == {ALONE, BIG, "other"}
    dear = box("other", "2", limits=few)
    assert _left(_case([alone, big, dear], [_filling(alone, 3), *both])) == {ALONE}


def test_a_kind_goes_only_for_what_is_as_fast_as_on_its_fastest_machine() -> None:
    alone, big, other = box(ALONE, "2"), box(BIG, "3"), box("other", "3")
    spread, faster = _filling(big, 3), _filling(big, 3.1)
    both = [spread, replace(faster, machine=other.machine)]
    assert _left(_case([alone, big, other], [_filling(alone, 3), *both])) == {ALONE, BIG, "other"}


def test_two_replicas_alone_replace_a_faster_one_that_costs_as_much() -> None:
    alone, big = box(ALONE, "2"), box(BIG, "4")
    assert _left(_case([alone, big], [_filling(alone, 3), _filling(big, 6)])) == {ALONE}
    assert _left(_case([alone, big], [_filling(alone, 3), _filling(big, 6.1)])) == {ALONE, BIG}


@pytest.mark.parametrize(
    "limits",
    [Limits(stock_nodes=9), Limits(max_nodes=9), Limits(stock_pool="host", stock_gpus=99)],
    ids=["stock", "most nodes", "pool"],
)
def test_nothing_is_dropped_for_what_is_limited(limits: Limits) -> None:
    alone, big = box(ALONE, "2", limits=limits), box(BIG, "3")
    assert _left(_case([alone, big], [_filling(alone, 3), _filling(big, 3)])) == {ALONE, BIG}


def test_nothing_is_dropped_for_what_is_under_a_quota() -> None:
    alone, big = box(ALONE, "2"), box(BIG, "3", provider="zeta")
    options = [_filling(alone, 3), _filling(big, 3)]
    quota = {"provider": "acme", "gpus": 99}
    assert _left(_case([alone, big], options, quotas=[quota])) == {ALONE, BIG}
    assert _left(_case([alone, big], options, quotas=[quota | {"provider": "zeta"}])) == {ALONE}


def test_nothing_is_dropped_for_what_is_committed_or_owned() -> None:
    alone, big = box(ALONE, "2"), box(BIG, "3")
    year = box(ALONE, "1.5", kind=PriceKind.RESERVED, term_months=12)
    options = [_filling(alone, 3), _filling(big, 3)]
    assert _left(_case([alone, big, year], options)) == {ALONE, BIG}
    assert _left(_case([alone, big], options, owned=[(alone, 1)])) == {ALONE, BIG}


def test_nothing_is_dropped_for_a_part_of_a_node() -> None:
    alone, big = box(ALONE, "2"), box(BIG, "3")
    assert _left(_case([alone, big], [_serving(alone, 3), _filling(big, 3)])) == {ALONE, BIG}


def test_options_on_owned_nodes_stay() -> None:
    alone, big = box(ALONE, "2"), box(BIG, "3")
    options = [_filling(alone, 3), _filling(big, 3)]
    runs = [training(alone), training(big)]
    of = _case([alone, big], options, runs=runs, owned=[(big, 1)])
    assert _left(of) == {ALONE, BIG}
    assert _runs_left(of) == {ALONE, BIG}


def test_a_part_of_a_node_stays_that_shares_it_with_what_is_not_replaceable() -> None:
    # `code` runs on `big` alone and pays for its nodes; `chat` fills the other half for nothing.
    alone, big = box(ALONE, "1.4"), box(BIG, "3")
    chat = [_filling(alone, 6), _serving(big, 6)]
    code = _serving(big, 6, service="code")
    assert _left(_case([alone, big], chat)) == {ALONE}
    of = _case([alone, big], [*chat, code])
    assert _left(of) == {ALONE, BIG}
    # A replica of each on one node at 3 an hour, a day long.
    assert least_usd(of) == pytest.approx(24 * 3)


def test_a_part_of_a_node_goes_where_nothing_fills_the_rest() -> None:
    # `code` takes nodes of `big` whole.
    alone, big = box(ALONE, "1.4"), box(BIG, "3")
    code = _filling(big, 3, service="code")
    of = _case([alone, big], [_filling(alone, 3), _serving(big, 3), code])
    assert _services_left(of, BIG) == {"code"}


def test_a_whole_node_goes_beside_parts_that_stay() -> None:
    # `code` takes parts of nodes: a whole one for `chat` is one more.
    alone, big = box(ALONE, "1.4"), box(BIG, "3")
    code = _serving(big, 3, service="code")
    of = _case([alone, big], [_filling(alone, 3), _filling(big, 3), code])
    assert _services_left(of, BIG) == {"code"}


@pytest.mark.parametrize("kind", [PriceKind.RESERVED, PriceKind.CONTRACT])
def test_a_committed_machine_stays_whole_where_anything_on_it_is_not_replaceable(
    kind: PriceKind,
) -> None:
    # `code` may commit to nodes of `big`, on which chat and the run then work for nothing.
    alone, big = box(ALONE, "1"), box(BIG, "6")
    year = box(BIG, "5", kind=kind, term_months=12)
    chat = [_filling(alone, 3), _filling(big, 3)]
    code = _filling(big, 3, service="code")
    runs = [training(alone), training(big)]
    stays = _case([alone, big, year], [*chat, code], runs=runs)
    assert _left(stays) == _runs_left(stays) == {ALONE, BIG}
    goes = _case([alone, big, year], chat, runs=runs)
    assert _left(goes) == _runs_left(goes) == {ALONE}


def test_a_run_that_is_not_replaceable_keeps_what_could_share_its_committed_nodes() -> None:
    alone, big = box(ALONE, "1"), box(BIG, "6")
    year = box(BIG, "5", kind=PriceKind.RESERVED, term_months=12)
    chat = [_filling(alone, 3), _filling(big, 3)]
    assert _left(_case([alone, big, year], chat, runs=[training(big)])) == {ALONE, BIG}
    assert _left(_case([alone, big], chat, runs=[training(big)])) == {ALONE}


def test_the_cheapest_way_to_pay_for_a_machine_is_compared() -> None:
    alone, big = box(ALONE, "2"), box(BIG, "3")
    chat = [_filling(alone, 3), _filling(big, 3)]
    cheap = box(BIG, "1.9", kind=PriceKind.RESERVED, term_months=12)
    dear = box(BIG, "1.9", kind=PriceKind.RESERVED, term_months=12, upfront_usd="876")
    assert _left(_case([alone, big, cheap], chat)) == {ALONE, BIG}
    # 876 over 8,760 h are 0.1 an hour: 2 in all.
    assert _left(_case([alone, big, dear], chat)) == {ALONE}


@pytest.mark.parametrize(
    ("spot_usd", "left"),
    [("1.9", {(ALONE, False), (BIG, False), (BIG, True)}), ("2.1", {(ALONE, False)})],
    ids=["spot is cheaper", "both are dearer"],
)
def test_firm_and_spot_replicas_of_one_kind_go_together(
    spot_usd: str, left: set[tuple[str, bool]]
) -> None:
    alone, big, spot = box(ALONE, "2"), box(BIG, "3"), box(BIG, spot_usd, kind=PriceKind.SPOT)
    options = [_filling(alone, 3), _filling(big, 3), _filling(big, 3, on_spot=True)]
    of = _case([alone, big, spot], options, spot={"max_share": 0.5})
    found = {(one.machine, one.on_spot) for one in drop_outpriced(of).serving}
    assert {(machine.split("/")[1], on_spot) for machine, on_spot in found} == left
    _same_cost(of)


def test_spot_alone_replaces_nothing() -> None:
    # Whoever serves on spot needs firm replicas of the same kind for the rest.
    alone, big = box(ALONE, "1", kind=PriceKind.SPOT), box(BIG, "3")
    options = [_filling(alone, 3, on_spot=True), _filling(big, 3)]
    of = _case([alone, big], options, spot={"max_share": 0.5}, policy={"max_groups": 2})
    assert _left(of) == {ALONE, BIG}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({}, {ALONE}),
        ({"egress_usd": "7.99"}, {ALONE}),
        ({"tokens_per_s": 2.0}, {ALONE}),
        ({"tokens_per_s": 2.1}, {BIG}),
    ],
    ids=["dearer", "dearer with egress", "three slots for two", "two slots for three"],
)
def test_a_run_goes_that_costs_more_than_one_on_rented_nodes(
    change: Mapping[str, object], left: set[str]
) -> None:
    # 33.6 h of work are 5 slots of 8 h at 1 an hour, 40 in all. On `big` at 2 an hour, 3 slots are
    # 48 and 2 slots 32.
    alone, big = box(ALONE, "1"), box(BIG, "2")
    runs = [training(alone), training(big, **change)]  # type: ignore[arg-type] - by keyword
    of = _case([alone, big], [], runs=runs, hours=33.6, days=2)
    assert _runs_left(of) == left


@pytest.mark.parametrize(
    ("egress_usd", "left"), [("8.1", {BIG}), ("7.9", {ALONE})], ids=["dearer", "cheaper"]
)
def test_the_way_of_the_data_is_part_of_the_price_of_a_run(egress_usd: str, left: set[str]) -> None:
    # One slot of 8 h at 1 an hour and egress, or at 2.
    alone, big = box(ALONE, "1"), box(BIG, "2")
    of = _case([alone, big], [], runs=[training(alone, egress_usd=egress_usd), training(big)])
    assert _runs_left(of) == left


def test_a_run_that_does_not_finish_in_its_window_goes() -> None:
    alone, big = box(ALONE, "1"), box(BIG, "2")
    runs = [training(alone, tokens_per_s=0.3), training(big)]
    of = _case([alone, big], [], runs=runs)
    assert _runs_left(of) == {BIG}


@pytest.mark.parametrize("limits", [Limits(stock_nodes=1), Limits(max_nodes=1)], ids=str)
def test_no_run_is_dropped_for_one_on_limited_nodes(limits: Limits) -> None:
    alone, big = box(ALONE, "1", limits=limits), box(BIG, "2")
    assert _runs_left(_case([alone, big], [], runs=[training(alone), training(big)])) == {
        ALONE,
        BIG,
    }


def test_a_run_on_spot_nodes_stays_where_they_are_cheaper() -> None:
    alone, big, spot = box(ALONE, "1"), box(BIG, "2"), box(BIG, "0.9", kind=PriceKind.SPOT)
    runs = [training(alone), training(big), training(big, on_spot=True)]
    of = _case([alone, big, spot], [], runs=runs)
    left = drop_outpriced(of).training
    assert [(one.machine.split("/")[1], one.candidate.on_spot) for one in left] == [(BIG, True)]
    _same_cost(of)


def _filling(
    of: Offer, rate: float, *, service: str = "chat", on_spot: bool = False
) -> ServingOption:
    """Serve by replicas that take a whole node."""
    return _serving(of, rate, gpus=2, service=service, on_spot=on_spot)


def _serving(
    of: Offer, rate: float, *, gpus: int = 1, service: str = "chat", on_spot: bool = False
) -> ServingOption:
    """Serve in a number format of the machine's own: no other machine has replicas of the kind."""
    option = serving(of, [rate], gpus=gpus, service=service, on_spot=on_spot)
    precision = Precision.FP8 if of.instance_type == BIG else Precision.BF16
    candidate = option.candidate.model_copy(update={"precision": precision})
    return replace(option, candidate=candidate)


def _case(
    offers: Sequence[Offer],
    options: Sequence[ServingOption],
    *,
    runs: Sequence[TrainingOption] = (),
    owned: Sequence[tuple[Offer, int]] = (),
    quotas: Sequence[Mapping[str, object]] = (),
    policy: Mapping[str, object] | None = None,
    hours: float = 8,
    days: int = 1,
    **service: object,
) -> Case:
    """Ask each service for 6 requests/s, and for a run of so many hours where there are `runs`."""
    names = sorted({one.service for one in options})
    run = run_entry(
        hours * 3600,
        restartable=True,
        window={"earliest": "2026-12-01", "deadline": f"2026-12-0{1 + days}"},
    )
    file = workloads(
        services=[service_entry(6, 6, name=name, **service) for name in names],
        training=[run] if runs else [],
        quotas=list(quotas),
        policy=dict(policy or {}),
        days=days,
    )
    return case(file, offers, serving=options, training=runs, owned=owned)


def _left(of: Case) -> set[str]:
    _same_cost(of)
    return {one.machine.split("/")[1] for one in drop_outpriced(of).serving}


def _runs_left(of: Case) -> set[str]:
    _same_cost(of)
    return {one.machine.split("/")[1] for one in drop_outpriced(of).training}


def _services_left(of: Case, name: str) -> set[str]:
    _same_cost(of)
    left = drop_outpriced(of).serving
    return {one.service for one in left if one.machine.split("/")[1] == name}


def _same_cost(of: Case) -> None:
    assert same_cost(least_usd(drop_outpriced(of)), least_usd(of))
