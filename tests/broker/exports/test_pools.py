"""Pools in what other tools take and in figures: a Deployment each, and what the lesser carries."""

from collections.abc import Callable, Sequence

import pytest
import yaml
from export_plans import Parts, bought, machine, plan, served

from broker.alerts.finders.objective import objective_at_risk
from broker.alerts.night import Night
from broker.domain.plan import Plan, ServingAssignment
from broker.domain.pool import Pool, Role
from broker.exports import dstack, kubernetes, skypilot
from broker.exports.files import ExportFile
from broker.exports.loads import service_loads
from broker.reports.plan_rows import work_rows

READS = machine("aws/p5.48xlarge/us-east-1", gpus=8, usd="50")
WRITES = machine("aws/p5en.48xlarge/us-east-1", gpus=8, usd="60")


def in_pool(of: ServingAssignment, role: Role) -> ServingAssignment:
    pool = Pool(role=role, place="aws/us-east-1", fabric="efa", stack="cuda", link_gb_per_s=32.0)
    candidate = of.candidate.model_copy(
        update={"pool": pool, "id": f"{of.candidate.id}/{role.value}"}
    )
    return of.model_copy(update={"candidate": candidate})


@pytest.fixture(scope="module")
def sample() -> Plan:
    """Have four replicas for prompts, 2 requests/s each, and one for answers, 5 requests/s."""
    return plan(
        [READS, WRITES],
        Parts(
            purchases=[bought(READS, (0, 48, 1)), bought(WRITES, (0, 48, 1))],
            serving=[
                in_pool(served(READS, (0, 48, 4, 4.0), gpus=2), Role.PREFILL),
                in_pool(served(WRITES, (0, 48, 1, 4.0), gpus=8, rate=5.0), Role.DECODE),
            ],
            training=[],
        ),
    )


def test_each_pool_is_a_deployment_with_a_connector_and_its_role(sample: Plan) -> None:
    files = kubernetes.export(sample)
    found = {}
    for file in files:
        deployment = next(iter(yaml.safe_load_all(file.text)))
        role = deployment["metadata"]["labels"]["gpubroker-role"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        found[role] = container
        assert f"These replicas only {role}: a router that is not written here" in file.text
    assert found.keys() == {"prefill", "decode"}
    for container in found.values():
        connector = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
        assert container["args"][-2:] == ["--kv-transfer-config", connector]
        names = {one["name"]: one for one in container["env"]}
        host = names["VLLM_NIXL_SIDE_CHANNEL_HOST"]["valueFrom"]
        assert host == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert [one["resources"]["limits"]["nvidia.com/gpu"] for one in found.values()] == [2, 8]


@pytest.mark.parametrize("export", [dstack.export, skypilot.export], ids=["dstack", "skypilot"])
def test_launchers_that_join_no_pools_leave_the_service_out_and_say_so(
    sample: Plan, export: Callable[[Plan], Sequence[ExportFile]]
) -> None:
    (about,) = export(sample)
    assert about.name == "README.md"
    assert "it joins no pools of prompts and answers; the Kubernetes export" in about.text


def test_what_can_be_answered_is_what_the_lesser_pool_carries(sample: Plan) -> None:
    (load,) = service_loads(sample)
    assert {slot.capacity_per_s for slot in load.slots} == {5.0}
    halved = sample.model_copy(
        update={
            "serving": tuple(
                one.model_copy(
                    update={
                        "steps": tuple(
                            step.model_copy(update={"replicas": (step.replicas + 1) // 2})
                            for step in one.steps
                        )
                    }
                )
                for one in sample.serving
            )
        }
    )
    (load,) = service_loads(halved)
    assert {slot.capacity_per_s for slot in load.slots} == {4.0}


def test_a_pool_that_is_nearly_full_puts_the_objective_at_risk(sample: Plan) -> None:
    start = sample.workloads.horizon.start
    service = sample.workloads.services[0]
    curve = service.traffic.requests_per_s.model_copy(update={"mean": 4.95, "peak": 4.95})
    traffic = service.traffic.model_copy(update={"requests_per_s": curve})
    services = (service.model_copy(update={"traffic": traffic}),)
    asked = sample.workloads.model_copy(update={"services": services})
    made = sample.model_copy(update={"workloads": asked})
    night = Night(now=start, workloads="w.yaml", in_force=sample, made=made, adopted=False)
    (alert,) = objective_at_risk(night)
    assert "5 can be answered within the objective then" in alert.facts


def test_a_row_tells_what_a_pool_does_and_the_time_that_is_its_own(sample: Plan) -> None:
    rows = [(one.layout, one.latency) for one in work_rows(sample)]
    assert rows == [("prefill tp2", "TTFT 0.5 s"), ("decode tp8", "TPOT 30 ms")]
