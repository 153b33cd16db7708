import math

from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.domain.offer import Limits, Offer, PriceKind
from solver.milp.build import build_sets
from solver.milp.room import Room


def limited(of: Offer, **limits: object) -> Offer:
    return of.model_copy(update={"limits": Limits.model_validate(limits)})


def drawn(*offers: Offer, owned: int = 0, load: float = 4) -> Case:
    box = offers[0]
    held = [(box, owned)] if owned else []
    file = workloads(services=[service_entry(load, load)])
    return case(file, list(offers), serving=[serving(box, [1])], owned=held)


def test_a_machine_without_limits_has_room_for_anything() -> None:
    assert Room(drawn(offer("1"))).most_gpus("acme/box/here", on_spot=False) == math.inf


def test_stock_that_two_offers_draw_on_counts_once_and_owned_nodes_beside_it() -> None:
    box = limited(offer("1", gpus=2), stock_nodes=1)
    month = limited(offer("1", gpus=2, kind=PriceKind.RESERVED, term_months=1), stock_nodes=1)
    of = drawn(box, month, owned=2)
    assert Room(of).most_gpus(box.machine, on_spot=False) == 2 + 4


def test_one_offer_without_a_limit_lifts_that_of_the_other() -> None:
    box = limited(offer("1"), max_nodes=2)
    month = offer("1", kind=PriceKind.RESERVED, term_months=1)
    assert Room(drawn(box)).most_gpus(box.machine, on_spot=False) == 2
    assert Room(drawn(box, month)).most_gpus(box.machine, on_spot=False) == math.inf


def test_a_kind_that_its_machine_cannot_hold_is_no_kind() -> None:
    """Stock of 3 where 4 replicas are needed: the service has no kind at all."""
    assert build_sets(drawn(limited(offer("1"), max_nodes=3))).kinds == ()
    assert len(build_sets(drawn(limited(offer("1"), max_nodes=4))).kinds) == 1
