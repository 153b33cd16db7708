"""Candidates of pools: what only prefills or only decodes, over which link, and what it keeps."""

import pytest
from sizing_cases import service_of, shape_of

from broker.domain.candidate import Label, ServingCandidate
from broker.domain.gpu import Precision
from broker.domain.offer import Fabric, Shape
from broker.domain.pool import Pool, Role
from broker.planning.sized import Sizer
from broker.specs.load import Specs
from solver.sizing.pools import FASTEST_GB_PER_S, link_class, link_classes


def shape(specs: Specs, gpu: str, gbit_per_s: float | None = 3200.0, gpus: int = 8) -> Shape:
    changes = {"fabric": Fabric.EFA, "fabric_gbit_per_s": gbit_per_s}
    return shape_of(specs.gpu(gpu), gpus).model_copy(update=changes)


def sized(
    specs: Specs, of: Shape, role: Role, link: float = 16.0, *, ttft_s: float = 2.0
) -> dict[str, ServingCandidate]:
    service = service_of(
        model="llama-3.1-70b", precisions=(Precision.FP8,), ttft_s=ttft_s, tpot_s=0.05
    )
    pool = Pool(role=role, place="aws/us-east-1", fabric="efa", stack="cuda", link_gb_per_s=link)
    found, _ = Sizer(specs, 0.15).pool(service, of, pool, rtt_s=0.0)
    return {str(one.layout): one for one in found}


def test_a_replica_has_its_part_of_the_fabric_rounded_down(specs: Specs) -> None:
    of = shape(specs, "H100-SXM", 400.0)
    assert [link_class(of, gpus) for gpus in (1, 2, 4, 8)] == [4.0, 8.0, 16.0, 32.0]
    assert link_classes(of) == {4.0, 8.0, 16.0, 32.0}
    assert link_classes(shape(specs, "H100-SXM", 3200.0)) == {FASTEST_GB_PER_S}
    assert link_class(shape(specs, "H100-SXM", None), 8) is None


def test_caches_over_plain_ethernet_go_as_fast_as_tcp(specs: Specs) -> None:
    """As in training: 70 % of the line, and 200 Gbit/s of a node at most."""
    of = shape(specs, "H100-SXM", 400.0).model_copy(update={"fabric": Fabric.ETHERNET})
    assert [link_class(of, gpus) for gpus in (1, 2, 4, 8)] == [2.0, 4.0, 8.0, 16.0]  # 25 GB/s
    slow = of.model_copy(update={"fabric_gbit_per_s": 80.0})
    assert link_class(slow, 8) == 4.0  # 7 GB/s
    assert link_class(of.model_copy(update={"fabric": Fabric.UNKNOWN}), 8) is None


def test_each_pool_keeps_its_own_part_of_the_objective(specs: Specs) -> None:
    of = shape(specs, "H100-SXM")
    prefill, decode = sized(specs, of, Role.PREFILL), sized(specs, of, Role.DECODE)
    for one in prefill.values():
        (rate,) = one.rates
        assert 0 < rate.ttft_s <= 2.0
        assert rate.tpot_s == 0
    for one in decode.values():
        (rate,) = one.rates
        assert 0 < rate.tpot_s <= 0.05
        assert rate.ttft_s == 0
    for one in (*prefill.values(), *decode.values()):
        assert one.memory.used_gib <= one.memory.available_gib
        assert one.label is Label.ESTIMATED
        assert any("aws/us-east-1" in told and "16 GB/s" in told for told in one.assumptions)
        assert any("no public measurements of pools" in told for told in one.assumptions)


def test_pools_together_do_more_than_replicas_that_do_both(specs: Specs) -> None:
    of = shape(specs, "H100-SXM")
    service = service_of(
        model="llama-3.1-70b", precisions=(Precision.FP8,), ttft_s=2.0, tpot_s=0.05
    )
    both, _ = Sizer(specs, 0.15).serving(service, of, rtt_s=0.0)
    alone = {str(one.layout): one.rates[0].requests_per_s for one in both}["tp4"]
    for role in Role:
        assert sized(specs, of, role)["tp4"].rates[0].requests_per_s > alone


def test_a_slower_link_leaves_fewer_prompts_and_answers_that_it_still_takes_in(
    specs: Specs,
) -> None:
    of = shape(specs, "H100-SXM")
    slow, fast = (sized(specs, of, Role.PREFILL, link)["tp4"] for link in (1.0, 16.0))
    assert slow.rates[0].requests_per_s < fast.rates[0].requests_per_s
    slower, slow, fast, faster = (
        sized(specs, of, Role.DECODE, link)["tp2"].rates[0].requests_per_s
        for link in (2.0, 4.0, 8.0, 16.0)
    )
    assert slower == pytest.approx(slow / 2)
    assert slow < fast == faster


def test_a_link_that_takes_longer_than_the_first_token_may_serves_nothing(specs: Specs) -> None:
    assert sized(specs, shape(specs, "H100-SXM"), Role.PREFILL, 0.0625, ttft_s=0.5) == {}


@pytest.mark.parametrize(
    ("gbit_per_s", "layouts"),
    [(None, set[str]()), (100.0, set[str]()), (200.0, {"tp8"}), (400.0, {"tp4", "tp8"})],
)
def test_no_replica_is_in_a_class_above_its_own_link(
    specs: Specs, gbit_per_s: float | None, layouts: set[str]
) -> None:
    found = sized(specs, shape(specs, "H100-SXM", gbit_per_s), Role.DECODE)
    assert found.keys() <= layouts
    assert bool(found) == bool(layouts)
