"""How the work of a machine is shared out between the purchases of its nodes."""

import pytest
from export_plans import Parts, at, bought, machine, plan, served, trained
from tiny_cases import service_entry

from broker.domain.offer import PriceKind
from broker.exports.lines import Line, lines

RENTED = machine("aws/p5.48xlarge/us-east-1")
RESERVED = machine("aws/p5.48xlarge/us-east-1", kind=PriceKind.RESERVED, usd="25")
SPOT = machine("aws/p5.48xlarge/us-east-1", kind=PriceKind.SPOT, usd="15")


def _lines(parts: Parts) -> dict[PriceKind, Line]:
    return {one.purchase.price_kind: one for one in lines(plan([RENTED, RESERVED, SPOT], parts))}


def _replicas(line: Line) -> list[tuple[float, float, int, float]]:
    return [
        (
            (step.from_at - at(0)).total_seconds() / 3600,
            (step.to_at - at(0)).total_seconds() / 3600,
            step.replicas,
            step.requests_per_s,
        )
        for share in line.serving
        for step in share.steps
    ]


def test_committed_nodes_carry_services_first_and_rented_ones_the_rest() -> None:
    # 2 GPUs a replica: 4 on each node of 8. Seven by day are 4 on the reserved node, 3 beyond it.
    found = _lines(
        Parts(
            purchases=[bought(RESERVED, (0, 48, 1)), bought(RENTED, (8, 20, 1))],
            serving=[served(RENTED, (0, 8, 2, 1), (8, 20, 7, 14), (20, 48, 2, 1), gpus=2)],
        )
    )
    assert _replicas(found[PriceKind.RESERVED]) == [(0, 8, 2, 1), (8, 20, 4, 8), (20, 48, 2, 1)]
    assert _replicas(found[PriceKind.ON_DEMAND]) == [(8, 20, 3, 6)]


def test_the_shares_of_a_service_add_up_to_the_plan() -> None:
    serving = served(RENTED, (0, 24, 11, 5.5), (24, 48, 3, 1.5), gpus=4)
    found = _lines(
        Parts([bought(RESERVED, (0, 48, 2)), bought(RENTED, (0, 24, 4))], serving=[serving])
    )
    for hour, count, load in ((1, 11, 5.5), (30, 3, 1.5)):
        up = [
            step
            for line in found.values()
            for share in line.serving
            for step in share.steps
            if step.from_at <= at(hour) < step.to_at
        ]
        assert sum(step.replicas for step in up) == count
        assert sum(step.requests_per_s for step in up) == pytest.approx(load)


def test_a_gang_goes_whole_to_the_purchase_that_has_room_for_it() -> None:
    found = _lines(
        Parts(
            purchases=[bought(RESERVED, (0, 48, 2)), bought(RENTED, (6, 18, 3))],
            serving=[served(RENTED, (0, 48, 2, 2), gpus=4)],
            training=[trained(RENTED, 3, (6, 18))],
        )
    )
    assert not found[PriceKind.RESERVED].training
    (gang,) = found[PriceKind.ON_DEMAND].training
    assert [step.nodes for step in gang.steps] == [3]
    assert gang.is_home


def test_a_gang_of_two_purchases_is_at_home_where_most_of_it_is() -> None:
    found = _lines(
        Parts(
            purchases=[bought(RESERVED, (0, 48, 3)), bought(RENTED, (6, 18, 1))],
            training=[trained(RENTED, 4, (6, 18))],
        )
    )
    (most,), (rest,) = found[PriceKind.RESERVED].training, found[PriceKind.ON_DEMAND].training
    assert (most.steps[0].nodes, most.is_home) == (3, True)
    assert (rest.steps[0].nodes, rest.is_home) == (1, False)


def test_spot_nodes_carry_spot_work_alone() -> None:
    found = _lines(
        Parts(
            purchases=[bought(SPOT, (0, 48, 1)), bought(RENTED, (0, 48, 1))],
            serving=[served(RENTED, (0, 48, 1, 1)), served(SPOT, (0, 48, 2, 3))],
        )
    )
    assert _replicas(found[PriceKind.SPOT]) == [(0, 48, 2, 3)]
    assert _replicas(found[PriceKind.ON_DEMAND]) == [(0, 48, 1, 1)]


def test_under_split_sharing_a_reserved_node_serves_or_trains_but_not_both_in_turn() -> None:
    # Serving needs 2 nodes by day and 1 by night, training 1 by night: of two reserved nodes one is
    # kept for the run, as the day rents one.
    found = _lines(
        Parts(
            purchases=[bought(RESERVED, (0, 48, 2)), bought(RENTED, (8, 20, 1))],
            serving=[
                served(RENTED, (0, 8, 1, 1), (8, 20, 2, 2), (20, 48, 1, 1), gpus=8),
            ],
            training=[trained(RENTED, 1, (20, 32))],
            policy={"sharing": "split"},
        )
    )
    assert [count for _, _, count, _ in _replicas(found[PriceKind.RESERVED])] == [1]
    assert _replicas(found[PriceKind.ON_DEMAND]) == [(8, 20, 1, 1)]
    assert [step.nodes for step in found[PriceKind.RESERVED].training[0].steps] == [1]


def test_services_of_one_machine_fill_its_nodes_together() -> None:
    found = _lines(
        Parts(
            purchases=[bought(RESERVED, (0, 48, 1)), bought(RENTED, (0, 48, 1))],
            serving=[
                served(RENTED, (0, 48, 2, 2), gpus=1, service="small"),
                served(RENTED, (0, 48, 3, 3), gpus=4, service="large"),
            ],
            services=[service_entry(1, 2, name="small"), service_entry(1, 2, name="large")],
        )
    )
    by_service = {
        (line.purchase.price_kind, share.assignment.service): share.most_replicas
        for line in found.values()
        for share in line.serving
    }
    assert by_service == {
        (PriceKind.RESERVED, "large"): 2,
        (PriceKind.ON_DEMAND, "large"): 1,
        (PriceKind.ON_DEMAND, "small"): 2,
    }


def test_a_gap_between_steps_means_that_no_replica_need_be_up() -> None:
    found = _lines(
        Parts([bought(RENTED, (0, 48, 1))], serving=[served(RENTED, (0, 6, 2, 1), (12, 48, 3, 1))])
    )
    (share,) = found[PriceKind.ON_DEMAND].serving
    assert (share.least_replicas, share.most_replicas) == (0, 3)
