"""Replicas on slices in what other tools take: Kubernetes asks for the slice, others refuse it."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
import yaml
from export_plans import Parts, bought, machine, plan, served

from broker.domain.gpu import GpuSlice
from broker.domain.plan import Plan, ServingAssignment
from broker.exports import dstack, kubernetes, skypilot
from broker.exports.files import ExportFile
from broker.exports.sharing import shared_out

BOX = machine("nebius/gpu-h100-sxm_1gpu-16vcpu-200gb/eu-north1", gpus=1, usd="3")
QUARTER = GpuSlice(profile="1g.20gb", gpu_share=Fraction(1, 4))


def on_quarters(of: ServingAssignment) -> ServingAssignment:
    changes = {"gpu": "H100-SXM-1g.20gb", "gpu_slice": QUARTER}
    return of.model_copy(update={"candidate": of.candidate.model_copy(update=changes)})


@pytest.fixture(scope="module")
def sample() -> Plan:
    """Have 5 quarters on two nodes, and one on the first alone in the afternoon."""
    return plan(
        [BOX],
        Parts(
            purchases=[bought(BOX, (0, 12, 2), (12, 24, 1))],
            serving=[on_quarters(served(BOX, (0, 12, 5, 8), (12, 24, 1, 1)))],
            training=[],
        ),
    )


def test_a_pod_asks_for_its_slice_and_the_nodes_are_to_be_cut(sample: Plan) -> None:
    (file,) = kubernetes.export(sample)
    deployment = next(iter(yaml.safe_load_all(file.text)))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/mig-1g.20gb": 1}}
    assert container["args"][-1] != "4"
    assert "cut a GPU for every 4 of them" in file.text
    assert "mixed MIG strategy" in file.text


@pytest.mark.parametrize("export", [dstack.export, skypilot.export], ids=["dstack", "skypilot"])
def test_launchers_that_cut_no_gpus_leave_the_service_out_and_say_so(
    sample: Plan, export: Callable[[Plan], Sequence[ExportFile]]
) -> None:
    (about,) = export(sample)
    assert about.name == "README.md"
    assert "it cuts no GPU into MIG slices; the Kubernetes export asks for them" in about.text


def test_slices_are_shared_out_over_whole_nodes(sample: Plan) -> None:
    counts = [(part.from_at.hour, part.count) for part in shared_out(sample)]
    assert counts == [(0, 5), (12, 1)]
