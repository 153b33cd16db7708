import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from export_plans import Parts, bought, machine, plan, served, trained
from tiny_cases import service_entry

from broker.domain.gpu import Precision, Stack
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.exports import dstack, skypilot
from broker.exports.files import ExportFile, line_label
from broker.exports.kubernetes import RUNNING_REQUESTS, export

Files = tuple[ExportFile, ...]
FIRM = machine("aws/p5.48xlarge/us-east-1")
SPOT = machine("azure/Standard_NC40ads_H100_v5/eastus", "H100-NVL", 1, "5", kind=PriceKind.SPOT)
AMD = machine("hotaisle/8x-mi300x/us", "MI300X", 8)


@pytest.fixture(scope="module")
def sample() -> Plan:
    return plan(
        [FIRM, SPOT, AMD],
        Parts(
            purchases=[
                bought(FIRM, (0, 48, 2)),
                bought(SPOT, (0, 12, 3), (24, 48, 1)),
                bought(AMD, (0, 48, 1)),
            ],
            serving=[
                served(FIRM, (0, 24, 4, 6), (24, 48, 3, 4), gpus=4),
                served(SPOT, (0, 12, 3, 5), (24, 48, 1, 1), user_region="us-west"),
                served(AMD, (0, 48, 2, 2), gpus=2, user_region="eu-west", precision=Precision.FP8),
            ],
            training=[trained(FIRM, 1, (0, 6))],
        ),
    )


def objects(sample: Plan, region: str) -> dict[str, Any]:
    (file,) = (one for one in export(sample) if one.name.startswith(f"chat-{region}"))
    return {one["kind"]: one for one in yaml.safe_load_all(file.text)}


def pod(of: dict[str, Any]) -> Any:  # noqa: ANN401 - what YAML holds
    return of["Deployment"]["spec"]["template"]["spec"]


def test_each_share_of_a_service_has_a_deployment_a_service_and_an_autoscaler(
    sample: Plan,
) -> None:
    assert len(export(sample)) == 3
    for region in ("us-east", "us-west", "eu-west"):
        found = objects(sample, region)
        assert list(found) == ["Deployment", "Service", "HorizontalPodAutoscaler"]
        name = found["Deployment"]["metadata"]["name"]
        target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
        assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
        assert found["Service"]["spec"]["selector"].items() <= labels.items()
        assert found["Deployment"]["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_replicas_begin_as_planned_and_stay_between_the_fewest_and_the_most(sample: Plan) -> None:
    found = objects(sample, "us-east")
    assert found["Deployment"]["spec"]["replicas"] == 4
    bounds = found["HorizontalPodAutoscaler"]["spec"]
    assert (bounds["minReplicas"], bounds["maxReplicas"]) == (3, 4)


def test_a_time_without_replicas_is_told_as_an_autoscaler_keeps_one(sample: Plan) -> None:
    bounds = objects(sample, "us-west")["HorizontalPodAutoscaler"]["spec"]
    assert (bounds["minReplicas"], bounds["maxReplicas"]) == (1, 3)
    (file,) = (one for one in export(sample) if one.name.startswith("chat-us-west"))
    assert "# The plan has times without a replica" in file.text


def test_another_replica_is_due_where_each_has_the_requests_that_were_sized(sample: Plan) -> None:
    (metric,) = objects(sample, "us-east")["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == RUNNING_REQUESTS
    assert metric["pods"]["target"] == {"type": "AverageValue", "averageValue": "23"}


def test_pods_go_to_the_nodes_of_their_line_and_ask_for_the_gpus_of_a_replica(
    sample: Plan,
) -> None:
    firm = pod(objects(sample, "us-east"))
    assert firm["nodeSelector"] == {
        "gpubroker-line": line_label(FIRM.key),
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/region": "us-east-1",
    }
    (container,) = firm["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 4}}
    words = container["args"]
    assert words[words.index("--tensor-parallel-size") + 1] == "4"


def test_amd_cards_are_asked_for_by_their_own_name_and_image(sample: Plan) -> None:
    found = pod(objects(sample, "eu-west"))
    (container,) = found["containers"]
    assert container["resources"] == {"limits": {"amd.com/gpu": 2}}
    assert container["image"].startswith("rocm/vllm")
    assert found["nodeSelector"] == {"gpubroker-line": line_label(AMD.key)}


def test_pods_stand_the_mark_of_azures_spot_nodes(sample: Plan) -> None:
    keys = [one["key"] for one in pod(objects(sample, "us-west"))["tolerations"]]
    assert keys == ["nvidia.com/gpu", "kubernetes.azure.com/scalesetpriority"]


def test_a_plan_without_services_has_no_files() -> None:
    one = plan([FIRM], Parts([bought(FIRM, (0, 6, 1))], training=[trained(FIRM, 1, (0, 6))]))
    assert export(one) == ()


def test_what_is_not_here_is_said() -> None:
    trainium = machine("aws/trn1.32xlarge/us-east-1", "Trainium1", 16)
    hardware = trainium.hardware.model_copy(update={"stack": Stack.NEURON})
    trainium = trainium.model_copy(update={"hardware": hardware})
    idle = machine("lambda/gpu_8x_h100_sxm5/us-east-1")
    full = plan(
        [FIRM, SPOT, trainium, idle],
        Parts(
            [bought(one, (0, 48, 2)) for one in (FIRM, SPOT, trainium, idle)],
            [served(one, (0, 48, 1, 1)) for one in (FIRM, SPOT, trainium)],
            [trained(FIRM, 1, (0, 6))],
        ),
    )
    about = export(full, {SPOT.key: "it was executed already by Ana"})[-1]
    assert about.name == "README.md"
    assert {line for line in about.text.splitlines() if line.startswith("- ")} == {
        f"- `{FIRM.key}`, tune: a gang needs a scheduler, which SkyPilot and dstack bring.  ",
        f"- `{SPOT.key}`: it was executed already by Ana.  ",
        f"- `{trainium.key}`: there is no recipe for neuron accelerators.  ",
        f"- `{idle.key}`: nothing of the plan runs on it.  ",
    }
    whole = plan([FIRM], Parts([bought(FIRM, (0, 48, 1))], [served(FIRM, (0, 48, 1, 1))]))
    assert [file.name[-5:] for file in export(whole)] == [".yaml"]


def test_the_label_of_the_line_is_on_every_object(sample: Plan) -> None:
    for one in objects(sample, "us-east").values():
        assert one["metadata"]["labels"]["gpubroker-line"] == line_label(FIRM.key)


def test_an_autoscaler_looks_back_for_as_long_as_replicas_stay_up(sample: Plan) -> None:
    assert "behavior" not in objects(sample, "us-east")["HorizontalPodAutoscaler"]["spec"]
    for least, window_s in (("30 min", 1800), ("8 h", 3600)):
        steady = plan(
            [FIRM],
            Parts(
                purchases=[bought(FIRM, (0, 48, 2))],
                serving=[served(FIRM, (0, 24, 4, 6), (24, 48, 3, 4), gpus=4)],
                services=[service_entry(1, 2, min_up_time=least)],
            ),
        )
        bounds = objects(steady, "us-east")["HorizontalPodAutoscaler"]["spec"]
        assert bounds["behavior"] == {"scaleDown": {"stabilizationWindowSeconds": window_s}}


def test_a_node_is_known_by_its_machine_without_the_gpus_that_are_attached() -> None:
    attached = machine("gcp/n1-standard-8+nvidia-tesla-t4x1/us-central1", "T4", 1)
    parts = Parts([bought(attached, (0, 24, 1))], [served(attached, (0, 24, 1, 1.0))])
    (file,) = export(plan([attached], parts))
    selector = next(yaml.safe_load_all(file.text))["spec"]["template"]["spec"]["nodeSelector"]
    assert selector["node.kubernetes.io/instance-type"] == "n1-standard-8"


def test_times_of_as_many_replicas_are_told_as_one_whatever_they_are_sent() -> None:
    steps = (0, 12, 2, 1.0), (12, 24, 2, 2.0), (24, 36, 1, 1.0), (42, 48, 1, 1.0)
    of = plan([FIRM], Parts([bought(FIRM, (0, 48, 1))], [served(FIRM, *steps)]))
    (file,) = export(of)
    assert re.findall(r"^# 2026-12-(.+?)Z to 2026-12-(.+?)Z: (.+)$", file.text, re.MULTILINE) == [
        ("01T00:00", "02T00:00", "2"),
        ("02T00:00", "02T12:00", "1"),
        ("02T18:00", "03T00:00", "1"),
    ]


@pytest.mark.parametrize("write", [export, skypilot.export, dstack.export])
def test_a_plan_that_counts_with_another_engine_says_so(write: Callable[[Plan], Files]) -> None:
    parts = [bought(FIRM, (0, 48, 1))], [served(FIRM, (0, 48, 1, 1))]
    said = "# The plan counts with the rates of sglang: this serves with vLLM"
    for engine, is_said in (("sglang", True), ("vllm", False)):
        of = plan([FIRM], Parts(*parts, services=[service_entry(1, 1, engine=engine)]))
        assert any(said in file.text for file in write(of)) is is_said
