"""A plan as dstack files; `make interop` has the real package read such files."""

from collections.abc import Mapping
from typing import Any

import yaml
from export_plans import Parts, bought, machine, plan, served, trained
from tiny_cases import service_entry

from broker.domain.offer import PriceKind
from broker.exports.dstack import export
from broker.exports.files import ExportFile

RENTED = machine("aws/p5.48xlarge/us-east-1")
RESERVED = machine("aws/p5.48xlarge/us-east-1", kind=PriceKind.RESERVED, usd="25")
SPOT = machine("nebius/gpu-l40s-a_1gpu-16vcpu-64gb/eu-north1", "L40S", 1, "1", kind=PriceKind.SPOT)


def _by_type(files: tuple[ExportFile, ...]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {"fleet": [], "service": [], "task": []}
    for file in files:
        if file.name.endswith(".dstack.yml"):
            one = yaml.safe_load(file.text)
            assert file.name == f"{one['name']}.dstack.yml"
            found[one["type"]].append(one)
    return found


def test_a_line_is_a_fleet_of_its_nodes_that_its_work_runs_on() -> None:
    parts = Parts([bought(RENTED, (0, 24, 1), (24, 48, 3))], [served(RENTED, (0, 48, 8, 4))])
    found = _by_type(export(plan([RENTED], parts)))
    (fleet,), (service,) = found["fleet"], found["service"]
    assert fleet["nodes"] == {"min": 0, "max": 3}
    assert fleet["idle_duration"] == "10m"
    assert service["fleets"] == [fleet["name"]]
    for one in (fleet, service):
        assert one["backends"] == ["aws"]
        assert one["regions"] == ["us-east-1"]
        assert one["instance_types"] == ["p5.48xlarge"]
        assert one["spot_policy"] == "on-demand"
        assert one["max_price"] == 44.0
    assert fleet["tags"]["gpubroker-line"] == service["tags"]["gpubroker-line"]


def test_replicas_smaller_than_a_node_are_blocks_of_it() -> None:
    # 2 GPUs a replica, 4 on a node; at the peak each of 5 takes 6 / 5 = 1.2 requests/s.
    serving = served(RENTED, (0, 24, 5, 6), (24, 48, 2, 1), gpus=2)
    found = _by_type(export(plan([RENTED], Parts([bought(RENTED, (0, 48, 2))], [serving]))))
    (fleet,), (service,) = found["fleet"], found["service"]
    assert fleet["blocks"] == "auto"
    assert fleet["resources"]["gpu"]["count"] == 8
    assert fleet["resources"]["disk"] == "480GB.."  # 120 for each of four
    assert service["resources"]["gpu"] == {"vendor": "nvidia", "name": "H100", "count": 2}
    assert service["replicas"] == "2..5"
    assert service["scaling"] == {"metric": "rps", "target": 1.2}
    assert "--data-parallel-size" not in service["commands"][0]


def test_where_dstack_holds_no_instances_a_replica_takes_a_node() -> None:
    pod = machine("runpod/4x NVIDIA L40S/EU-RO-1", "L40S", 4, "3", tier="secure")
    found = _by_type(
        export(plan([pod], Parts([bought(pod, (0, 48, 2))], [served(pod, (0, 48, 7, 7))])))
    )
    (fleet,), (service,) = found["fleet"], found["service"]
    assert fleet["blocks"] == 1
    assert service["replicas"] == 2
    assert "scaling" not in service
    assert service["resources"]["gpu"]["count"] == 4
    assert "--data-parallel-size 4" in service["commands"][0]


def test_a_service_ends_with_the_plan_and_is_served_under_its_model() -> None:
    parts = Parts([bought(RENTED, (0, 30, 1))], [served(RENTED, (0, 30, 1, 1))])
    (service,) = _by_type(export(plan([RENTED], parts)))["service"]
    assert service["max_duration"] == "30h"
    assert service["env"]["WINDOW_END"] == "2026-12-02T06:00:00Z"
    assert service["model"] == "meta-llama/Meta-Llama-3.1-8B"
    assert service["port"] == 8000
    assert "retry" not in service


def test_a_spot_run_is_retried_until_its_end() -> None:
    parts = Parts([bought(SPOT, (0, 12, 2))], training=[trained(SPOT, 2, (0, 12))])
    found = _by_type(export(plan([SPOT], parts)))
    (task,), (fleet,) = found["task"], found["fleet"]
    assert task["nodes"] == 2
    assert task["spot_policy"] == "spot"
    assert task["retry"] == {"on_events": ["no-capacity", "interruption"], "duration": "12h"}
    assert task["max_duration"] == "12h"
    assert task["instance_types"] == ["gpu-l40s-a 1gpu-16vcpu-64gb"]
    assert "$DSTACK_NODE_RANK" in task["commands"][1]
    assert fleet["placement"] == "cluster"


def test_a_run_in_pieces_may_be_as_long_as_the_longest() -> None:
    parts = Parts([bought(RENTED, (0, 36, 1))], training=[trained(RENTED, 1, (0, 6), (24, 36))])
    (task,) = _by_type(export(plan([RENTED], parts)))["task"]
    assert task["max_duration"] == "12h"


def test_the_fleet_of_a_gang_of_two_purchases_holds_all_of_it() -> None:
    parts = Parts(
        [bought(RESERVED, (0, 48, 3)), bought(RENTED, (0, 24, 1))],
        training=[trained(RENTED, 4, (0, 24))],
    )
    files = export(plan([RENTED, RESERVED], parts))
    (fleet,) = _by_type(files)["fleet"]
    assert fleet["nodes"]["max"] == 4
    text = next(file.text for file in files if file.name.startswith(fleet["name"]))
    assert "A gang takes 4 nodes; the rest are of other lines of the plan." in text


def test_a_committed_line_keeps_its_nodes_and_asks_for_its_reservation() -> None:
    parts = Parts([bought(RESERVED, (0, 48, 2))], [served(RESERVED, (0, 48, 16, 4))])
    files = export(plan([RESERVED], parts))
    (fleet,) = _by_type(files)["fleet"]
    assert fleet["idle_duration"] == "off"
    assert "max_price" not in fleet
    assert fleet["tags"]["gpubroker-commitment"] == "reserved-12m-partial-upfront"
    assert "reservation: ID" in files[0].text


def test_cards_of_one_name_are_told_apart_by_their_memory() -> None:
    def asked(key: str, gpu: str) -> Mapping[str, Any]:
        one = machine(key, gpu)
        parts = Parts([bought(one, (0, 48, 1))], [served(one, (0, 48, 1, 1))])
        (fleet,) = _by_type(export(plan([one], parts)))["fleet"]
        gpu_spec: Mapping[str, Any] = fleet["resources"]["gpu"]
        return gpu_spec

    assert asked("aws/p4d.24xlarge/us-east-1", "A100-40-SXM")["memory"] == "40GB"
    assert asked("aws/p4de.24xlarge/us-east-1", "A100-80-SXM")["memory"] == "80GB"


def test_names_are_short_enough_and_apart_for_two_services_of_one_line() -> None:
    names = ["a-service-with-a-very-long-name-indeed-1", "a-service-with-a-very-long-name-indeed-2"]
    parts = Parts(
        [bought(RENTED, (0, 48, 2))],
        [served(RENTED, (0, 48, 2, 1), service=name) for name in names],
        services=[service_entry(1, 2, name=name) for name in names],
    )
    services = _by_type(export(plan([RENTED], parts)))["service"]
    assert len({one["name"] for one in services}) == 2
    assert all(len(one["name"]) <= 41 for one in services)


def test_spot_of_a_cloud_without_it_is_left_out_and_said() -> None:
    pod = machine("runpod/1x NVIDIA L40S/US", "L40S", 1, kind=PriceKind.SPOT, tier="secure")
    parts = Parts([bought(pod, (0, 48, 1))], [served(pod, (0, 48, 1, 1))])
    files = export(plan([pod], parts))
    assert [file.name for file in files] == ["README.md"]
    assert "dstack does not launch spot machines of runpod" in files[0].text


def test_replicas_that_stay_up_are_not_scaled_down_before() -> None:
    serving = served(RENTED, (0, 24, 5, 6), (24, 48, 2, 1), gpus=2)
    steady = [service_entry(1, 2, min_up_time="8 h")]
    parts = Parts([bought(RENTED, (0, 48, 2))], [serving], services=steady)
    (service,) = _by_type(export(plan([RENTED], parts)))["service"]
    assert service["scaling"] == {"metric": "rps", "target": 1.2, "scale_down_delay": 28800}
