"""Where replicas may be on slices: on GPUs that can be cut, and that the buyer has whole."""

import pytest
from provider_runs import NOW
from sizing_cases import service_of, shape_of
from tiny_cases import offer, service_entry, workloads

from broker.domain.candidate import Label, ServingCandidate
from broker.domain.case import Case
from broker.domain.gpu import Precision
from broker.domain.offer import Virtualization
from broker.planning.case import build_case
from broker.planning.freshness import NEVER, Freshness
from broker.planning.sized import Sizer
from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def sized(specs: Specs, gpu: str, gpus: int = 1, *, mig: bool = True) -> list[ServingCandidate]:
    service = service_of(model="qwen3-1.7b", precisions=(Precision.BF16,), tpot_s=0.08)
    service = service.model_copy(update={"mig": mig})
    found, _ = Sizer(specs, 0.15).serving(service, shape_of(specs.gpu(gpu), gpus), rtt_s=0.0)
    return found


def options(specs: Specs, virtualization: Virtualization, *, mig: bool = True) -> set[str]:
    """Name what replicas of a small model have on an H100."""
    box = offer("4")
    hardware = box.hardware.model_copy(update={"virtualization": virtualization})
    box = box.model_copy(update={"hardware": hardware})
    entry = service_entry(1, 1) | {"model": "qwen3-1.7b", "mig": mig}
    entry["slo"] = {"ttft": {"p95": "2 s"}, "tpot": {"p95": "80 ms"}}
    demand = workloads(services=[entry | {"max_network_rtt": "500 ms"}])
    place = specs.place("aws", "us-east-1")
    placed = box.model_copy(update={"place": place, "provider": "aws"})
    case: Case = build_case(demand, [placed], specs, Freshness(NOW, NEVER, NEVER)).case
    return {one.candidate.laid_out for one in case.serving}


def test_slices_are_looked_at_where_a_service_allows_them(specs: Specs) -> None:
    whole = sized(specs, "H100-SXM", mig=False)
    assert all(one.gpu_slice is None for one in whole)
    both = sized(specs, "H100-SXM")
    assert both[: len(whole)] == whole
    assert [one.laid_out for one in both[len(whole) :]] == ["1g.20gb", "3g.40gb"]


def test_a_slice_serves_less_than_its_gpu_and_says_what_it_is(specs: Specs) -> None:
    whole, quarter, half = sized(specs, "H100-SXM")
    rates = [one.rates[0].requests_per_s for one in (quarter, half, whole)]
    assert rates == sorted(rates)
    assert 0 < rates[0] < rates[2] / 2
    for one, gpu in ((quarter, "H100-SXM-1g.20gb"), (half, "H100-SXM-3g.40gb")):
        assert one.gpu == gpu
        assert one.label is Label.ESTIMATED
        assert one.band.high_factor > whole.band.high_factor
        assert "slice" in one.assumptions[0]
        assert one.memory.used_gib <= one.memory.available_gib == specs.gpu(gpu).memory_gib


def test_slices_of_a_larger_node_are_the_same(specs: Specs) -> None:
    one, eight = (
        {each.laid_out: each for each in sized(specs, "H100-SXM", gpus) if each.gpu_slice}
        for gpus in (1, 8)
    )
    assert one == eight


def test_gpus_that_cannot_be_cut_have_no_slices(specs: Specs) -> None:
    assert all(one.gpu_slice is None for one in sized(specs, "L40S"))


@pytest.mark.parametrize(
    ("virtualization", "can_be_cut"),
    [
        (Virtualization.VM, True),
        (Virtualization.BARE_METAL, True),
        (Virtualization.CONTAINER, False),
        (Virtualization.UNKNOWN, False),
    ],
)
def test_only_whole_machines_are_cut(
    specs: Specs, virtualization: Virtualization, *, can_be_cut: bool
) -> None:
    found = options(specs, virtualization)
    assert "tp1" in found
    assert ({"1g.20gb", "3g.40gb"} <= found) == can_be_cut
    assert options(specs, virtualization, mig=False) == {"tp1"}
