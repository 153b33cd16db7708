from dataclasses import replace

from changed_cases import placed
from pool_cases import large_and_small
from solving import solved
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.case import Case
from broker.planning.zone_notes import pool_notes, zone_notes


def test_a_plan_says_which_regions_stand_for_a_zone() -> None:
    of = _two_machines(min_zones=2)
    known = placed(of, {key: ("here", key.split("/")[1]) for key in of.machines})
    regions = placed(of, {"acme/a/here": ("r1", None), "acme/b/here": ("r2", "z")})
    for one, found in ((known, []), (regions, ["acme/r1"])):
        notes = list(zone_notes(one, solved(one).serving))
        assert [note.partition(":")[0] for note in notes] == [
            f"no zones are known in {name}" for name in found
        ]


def test_nothing_is_said_where_no_service_asks_for_zones() -> None:
    of = _two_machines(min_zones=1)
    assert list(zone_notes(of, solved(of).serving)) == []
    assert list(zone_notes(replace(of, offers=()), ())) == []


def test_a_plan_says_where_the_zone_of_pools_is_not_known() -> None:
    of = large_and_small(whole_rate=0.1)
    (told,) = pool_notes(of, solved(of).serving)
    assert told.startswith("the pools of chat are in acme/here, of which no zone is known: buy all")
    known = placed(of, dict.fromkeys(of.machines, ("here", "a")))
    assert list(pool_notes(known, solved(known).serving)) == []


def _two_machines(*, min_zones: int) -> Case:
    boxes = [offer("1", name="a"), offer("2", name="b")]
    entry = service_entry(2, 2, availability={"min_zones": min_zones}, min_replicas=2)
    file = workloads(services=[entry])
    return case(file, boxes, serving=[serving(one, [1.0]) for one in boxes])
