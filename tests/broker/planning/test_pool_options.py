"""Which machines may have pools: with a fabric that is known, in one place, both of them."""

import pytest
from provider_runs import NOW
from tiny_cases import offer, service_entry, workloads

from broker.domain.case import Case
from broker.domain.offer import Fabric, Offer
from broker.domain.pool import Role
from broker.planning.case import build_case
from broker.planning.freshness import NEVER, Freshness
from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def node(
    specs: Specs,
    name: str,
    gpu: str = "H100-SXM",
    *,
    region: str = "us-east-1",
    zone: str | None = None,
    fabric: Fabric = Fabric.EFA,
    gbit_per_s: float | None = 3200.0,
) -> Offer:
    of = offer("30", name=name, provider="aws", gpus=8)
    shape = of.hardware.shape.model_copy(
        update={"gpu": gpu, "fabric": fabric, "fabric_gbit_per_s": gbit_per_s}
    )
    place = specs.place("aws", region).model_copy(update={"zone": zone})
    hardware = of.hardware.model_copy(update={"shape": shape})
    return of.model_copy(update={"hardware": hardware, "place": place})


def built(specs: Specs, *offers: Offer, **more: object) -> Case:
    entry = service_entry(1, 1, **({"disaggregated": True} | more))
    entry |= {"slo": {"ttft": {"p95": "2 s"}, "tpot": {"p95": "50 ms"}}}
    asked = workloads(services=[entry | {"max_network_rtt": "500 ms"}])
    return build_case(asked, list(offers), specs, Freshness(NOW, NEVER, NEVER)).case


def roles(of: Case) -> dict[str, set[Role]]:
    """Name what pools each instance type has."""
    found: dict[str, set[Role]] = {}
    for one in of.serving:
        if one.candidate.pool is not None:
            found.setdefault(one.machine.split("/")[1], set()).add(one.candidate.pool.role)
    return found


def links(of: Case, name: str, role: Role) -> set[tuple[str, float]]:
    return {
        (str(one.candidate.layout), one.candidate.pool.link_gb_per_s)
        for one in of.serving
        if one.candidate.pool is not None
        and one.candidate.pool.role is role
        and one.machine.split("/")[1] == name
    }


def test_a_service_that_does_not_ask_for_pools_has_none(specs: Specs) -> None:
    assert roles(built(specs, node(specs, "p5"), disaggregated=False)) == {}


def test_pools_come_after_the_options_that_there_are_without_them(specs: Specs) -> None:
    plain = built(specs, node(specs, "p5"), disaggregated=False)
    asked = built(specs, node(specs, "p5"))
    assert asked.serving[: len(plain.serving)] == plain.serving
    assert all(
        one.candidate.pool and not one.on_spot for one in asked.serving[len(plain.serving) :]
    )


def test_a_fabric_that_is_not_known_joins_nothing(specs: Specs) -> None:
    unknown = node(specs, "bare", fabric=Fabric.UNKNOWN, gbit_per_s=None)
    assert roles(built(specs, node(specs, "p5"), unknown)) == {"p5": set(Role)}


def test_both_pools_say_where_they_are(specs: Specs) -> None:
    of = built(specs, node(specs, "p5", zone="us-east-1a"))
    pools = {one.candidate.pool for one in of.serving} - {None}
    assert {one.place for one in pools if one} == {"aws/us-east-1/us-east-1a"}


def test_each_pair_of_replicas_has_a_class_of_link_in_common(specs: Specs) -> None:
    """Of 400 Gbit/s a GPU of eight has 6.25 GB/s, of 100 Gbit/s 1.6."""
    slow = node(specs, "slow", "L40S", gbit_per_s=100.0)
    fast = node(specs, "fast", gbit_per_s=400.0)
    of = built(specs, slow, fast)
    assert ("tp1", 1.0) in links(of, "slow", Role.DECODE)
    assert {("tp1", 1.0), ("tp1", 4.0)} <= links(of, "fast", Role.PREFILL)
    assert not any(link > 4.0 for layout, link in links(of, "fast", Role.DECODE) if layout == "tp1")
    by_class: dict[object, set[Role]] = {}
    for one in of.serving:
        pool = one.candidate.pool
        if pool is not None:
            by_class.setdefault(one.candidate.pool_class, set()).add(pool.role)
    assert all(found == set(Role) for found in by_class.values())


def test_pools_of_other_zones_or_fabrics_are_in_other_classes(specs: Specs) -> None:
    others = [
        node(specs, "a", zone="a"),
        node(specs, "b", zone="b"),
        node(specs, "c", zone="a", fabric=Fabric.INFINIBAND),
    ]
    of = built(specs, *others)
    classes = {
        (one.candidate.pool.place, one.candidate.pool.fabric)
        for one in of.serving
        if one.candidate.pool
    }
    zones = ("aws/us-east-1/a", "aws/us-east-1/b")
    assert classes == {(zones[0], "efa"), (zones[1], "efa"), (zones[0], "infiniband")}


def test_the_models_that_may_answer_have_pools_of_their_own(specs: Specs) -> None:
    of = built(specs, node(specs, "p5"), alternatives=["qwen3-1.7b"])
    models = {one.candidate.pool_class.model for one in of.serving if one.candidate.pool_class}
    assert models == {"llama-3.1-8b", "qwen3-1.7b"}
