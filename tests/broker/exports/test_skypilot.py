"""A plan as SkyPilot files; `make interop` has the real package read such files."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import yaml
from export_plans import Parts, bought, machine, plan, served, trained
from tiny_cases import run_entry, service_entry

from broker.domain.candidate import MemoryUse
from broker.domain.gpu import Precision
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Purchase
from broker.exports.files import ExportFile
from broker.exports.skypilot import export
from solver.sizing.serving_constants import CHUNK_TOKENS

RENTED = machine("aws/p5.48xlarge/us-east-1")
RESERVED = machine("aws/p5.48xlarge/us-east-1", kind=PriceKind.RESERVED, usd="25")
SPOT = machine("aws/g6e.xlarge/us-west-2", "L40S", 1, "1.234", kind=PriceKind.SPOT)


def _tasks(files: tuple[ExportFile, ...]) -> list[Mapping[str, Any]]:
    return [yaml.safe_load(file.text) for file in files if file.name.endswith(".yaml")]


def _only(files: tuple[ExportFile, ...]) -> Mapping[str, Any]:
    (task,) = _tasks(files)
    return task


def _read_me(files: tuple[ExportFile, ...]) -> str:
    return next(file.text for file in files if file.name == "README.md")


def _words(script: str) -> list[str]:
    return script.replace("\\\n", " ").split()


def test_a_service_asks_for_the_machine_that_was_priced() -> None:
    task = _only(
        export(plan([RENTED], Parts([bought(RENTED, (0, 48, 1))], [served(RENTED, (0, 48, 8, 4))])))
    )
    resources = task["resources"]
    assert resources["infra"] == "aws/us-east-1"
    assert resources["accelerators"] == {"H100": 8}
    assert resources["instance_type"] == "p5.48xlarge"
    assert resources["use_spot"] is False
    assert resources["max_hourly_cost"] == 44.0  # 40 and a tenth
    assert resources["autostop"] == {"idle_minutes": 10, "down": True}
    assert resources["ports"] == 8000


def test_replicas_smaller_than_a_node_are_counted_and_scaled_by_nodes() -> None:
    # 4 GPUs a replica: 2 on a node. 5 replicas are 3 nodes, 2 are 1; each replica takes
    # 6 / 5 = 1.2 requests/s at the peak, below the 2 that it sustains; a node takes 2.4.
    serving = served(RENTED, (0, 24, 5, 6), (24, 48, 2, 1), gpus=4)
    task = _only(export(plan([RENTED], Parts([bought(RENTED, (0, 48, 3))], [serving]))))
    assert task["service"]["replica_policy"] == {
        "min_replicas": 1,
        "max_replicas": 3,
        "target_qps_per_replica": 2.4,
    }
    words = _words(task["run"])
    assert words[words.index("--tensor-parallel-size") + 1] == "4"
    assert words[words.index("--data-parallel-size") + 1] == "2"


def test_replicas_of_a_sparse_model_beside_each_other_are_told_to_be_joined() -> None:
    def notes(model: str, gpus: int) -> str:
        parts = Parts(
            [bought(RENTED, (0, 48, 1))],
            [served(RENTED, (0, 48, 8 // gpus, 1), gpus=gpus)],
            services=[service_entry(1, 2, model=model)],
        )
        return export(plan([RENTED], parts))[0].text

    said = "joins the experts of the 4 replicas"
    assert said in " ".join(notes("mixtral-8x7b", 2).replace("#", "").split())
    assert "joins the experts" not in notes("mixtral-8x7b", 8)
    assert "joins the experts" not in notes("llama-3.1-8b", 2)


def test_the_target_is_never_above_what_a_replica_sustains() -> None:
    serving = served(RENTED, (0, 48, 1, 7), gpus=8, rate=2.0)
    task = _only(export(plan([RENTED], Parts([bought(RENTED, (0, 48, 1))], [serving]))))
    assert task["service"]["replica_policy"]["target_qps_per_replica"] == 2.0


def test_the_engine_is_told_what_sizing_counted_with() -> None:
    service = service_entry(1, 2, sizes=[{"input_tokens": 3000, "output_tokens": 100}])
    serving = served(RENTED, (0, 48, 1, 1), gpus=8, precision=Precision.FP8)
    parts = Parts([bought(RENTED, (0, 48, 1))], [serving], services=[service])
    task = _only(export(plan([RENTED], parts)))
    words = _words(task["run"])
    told = {word: words[number + 1] for number, word in enumerate(words) if word.startswith("--")}
    assert told["--quantization"] == "fp8"
    assert told["--max-model-len"] == "4096"  # 3,100 tokens, up to a whole 1,024
    assert told["--max-num-seqs"] == "24"  # 23.4 in flight
    assert told["--gpu-memory-utilization"] == "0.92"
    assert told["--max-num-batched-tokens"] == str(CHUNK_TOKENS)  # by default 2048 on smaller GPUs
    assert "--data-parallel-size" not in told
    assert task["envs"]["MODEL_ID"] == "meta-llama/Meta-Llama-3.1-8B"
    assert task["resources"]["disk_size"] == 120  # 100 GB, and 1.2 times 16 GB of weights


def test_weights_in_another_format_are_for_the_user_to_name() -> None:
    serving = served(RENTED, (0, 48, 1, 1), precision=Precision.INT4)
    files = export(plan([RENTED], Parts([bought(RENTED, (0, 48, 1))], [serving])))
    task = _only(files)
    assert task["envs"]["MODEL_ID"] == ""
    assert '[ -z "$MODEL_ID" ]' in task["run"]
    assert "--quantization" not in task["run"]
    assert "weights in int4" in files[0].text


def test_a_replica_that_is_tight_may_use_the_memory_that_it_needs_to_start() -> None:
    serving = served(RENTED, (0, 48, 1, 1), gpus=8)
    tight = MemoryUse(weights_gib=73, kv_cache_gib=0.5, activations_gib=1.9, available_gib=80)
    candidate = serving.candidate.model_copy(update={"memory": tight})
    serving = serving.model_copy(update={"candidate": candidate})
    parts = Parts([bought(RENTED, (0, 48, 1))], [serving])
    assert "--gpu-memory-utilization 0.97" in _only(export(plan([RENTED], parts)))["run"]


def test_a_variant_of_a_model_is_never_served_by_the_weights_of_its_base() -> None:
    def model_id(model: str) -> str:
        parts = Parts(
            [bought(RENTED, (0, 48, 1))],
            [served(RENTED, (0, 48, 1, 1))],
            services=[service_entry(1, 2, model=model)],
        )
        return str(_only(export(plan([RENTED], parts)))["envs"]["MODEL_ID"])

    assert model_id("llama-3.1-8b-instruct") == ""
    assert model_id("meta-llama/Llama-3.1-8B-Instruct") == "meta-llama/Llama-3.1-8B-Instruct"


def test_a_run_is_a_job_of_its_gang_that_ends_with_its_window() -> None:
    parts = Parts([bought(RENTED, (6, 18, 4))], training=[trained(RENTED, 4, (6, 18))])
    task = _only(export(plan([RENTED], parts)))
    assert task["num_nodes"] == 4
    assert task["envs"]["WINDOW_END"] == "2026-12-01T18:00:00Z"
    assert "timeout" in task["run"]
    assert "$SKYPILOT_NODE_RANK" in task["run"]
    assert task["envs"]["TRAIN_SCRIPT"] == ""
    assert '[ -z "$TRAIN_SCRIPT" ]' in task["run"]
    assert task["envs"]["DATA_PARALLEL"] == "16"
    sizes = ("CONTEXT_PARALLEL", "EXPERT_PARALLEL", "VIRTUAL_STAGES", "SELECTIVE_RECOMPUTATION")
    assert [task["envs"][name] for name in sizes] == ["1", "1", "1", "0"]
    assert "job_recovery" not in task["resources"]
    # 100 GB, 16 GB of weights, and two checkpoints of 14 bytes a parameter of 8.03 billion
    assert task["resources"]["disk_size"] == 350


def test_a_run_is_told_the_format_that_its_gpus_compute_in() -> None:
    def told(gpu: str, run: dict[str, object]) -> str:
        of = machine("aws/node/us-east-1", gpu)
        parts = Parts([bought(of, (6, 18, 1))], training=[trained(of, 1, (6, 18))], runs=[run])
        return str(_only(export(plan([of], parts)))["envs"]["PRECISION"])

    plain = run_entry(1e6)
    assert told("H100-SXM", plain) == "bf16"
    assert told("V100-SXM-32", plain) == "fp16"  # has no BF16 units
    assert told("H100-SXM", plain | {"precision": "fp8"}) == "fp8"
    assert told("H100-SXM", plain | {"precision": "fp8", "method": "qlora"}) == "bf16"


def test_a_run_in_pieces_names_the_end_of_each() -> None:
    parts = Parts([bought(RENTED, (0, 36, 1))], training=[trained(RENTED, 1, (0, 6), (24, 36))])
    files = export(plan([RENTED], parts))
    assert "From 2026-12-01 00:00 UTC to 2026-12-01 06:00 UTC." in files[0].text
    assert "From 2026-12-02 00:00 UTC to 2026-12-02 12:00 UTC." in files[0].text
    assert "its end in WINDOW_END" in files[0].text
    assert _only(files)["envs"]["WINDOW_END"] == "2026-12-01T06:00:00Z"


def test_a_spot_run_recovers_in_its_region_at_no_more_than_its_price() -> None:
    parts = Parts([bought(SPOT, (0, 24, 2))], training=[trained(SPOT, 2, (0, 24))])
    resources = _only(export(plan([SPOT], parts)))["resources"]
    assert resources["use_spot"] is True
    assert resources["job_recovery"] == {"strategy": "FAILOVER"}
    assert resources["max_hourly_cost"] == 1.36  # 1.234 and a tenth is 1.3574


def test_each_file_carries_the_label_of_its_line() -> None:
    drawn = plan(
        [RENTED, RESERVED],
        Parts(
            [bought(RESERVED, (0, 48, 1)), bought(RENTED, (0, 48, 1))],
            [served(RENTED, (0, 48, 16, 8))],
        ),
    )
    labels = [task["resources"]["labels"] for task in _tasks(export(drawn))]
    assert len({one["gpubroker-line"] for one in labels}) == 2
    assert {one["gpubroker-workload"] for one in labels} == {"chat"}
    assert [one.get("gpubroker-commitment") for one in labels] == [
        None,
        "reserved-12m-partial-upfront",
    ]
    assert labels == [task["resources"]["labels"] for task in _tasks(export(drawn))]


def test_a_committed_line_has_no_cap_and_says_how_to_name_its_reservation() -> None:
    parts = Parts([bought(RESERVED, (0, 48, 1))], [served(RESERVED, (0, 48, 1, 1))])
    files = export(plan([RESERVED], parts))
    assert "max_hourly_cost" not in _only(files)["resources"]
    assert "aws: {specific_reservations: [ID]}" in files[0].text


def test_a_price_has_its_share_of_the_upfront_and_what_is_owned_has_none() -> None:
    terms = RESERVED.commitment
    assert terms is not None
    whole = terms.model_copy(update={"upfront_usd": Decimal(8760)})
    prepaid = RESERVED.model_copy(update={"commitment": whole, "usd_per_hour": Decimal(0)})
    own = bought(RENTED, (0, 48, 1)).model_copy(update={"price_kind": PriceKind.OWNED})
    text = _read_me(export(plan([prepaid], _on(prepaid, bought(prepaid, (0, 48, 1))))))
    assert "reserved: 1.00 USD an hour and node, committed; 48 node-hours" in text
    text = _read_me(export(plan([RENTED], _on(RENTED, own))))
    assert "Nodes of 8 H100-SXM, owned; 48 node-hours." in text


def _on(of: Offer, purchase: Purchase) -> Parts:
    return Parts([purchase], [served(of, (0, 48, 1, 1))])


def test_clouds_without_reservations_are_not_told_to_name_one() -> None:
    name = "runpod/8x NVIDIA H100 80GB HBM3/US"
    of = machine(name, tier="secure", kind=PriceKind.RESERVED)
    (file, _) = export(plan([of], _on(of, bought(of, (0, 48, 1)))))
    assert "are committed: they are paid for" in file.text
    assert "reservation" not in file.text


def test_what_is_left_out_is_said_and_not_faked() -> None:
    away = machine("coreweave/gd-8xh100ib-i128/RNO2A")
    idle = machine("lambda/gpu_8x_h100_sxm5/us-east-1")
    gang = machine("runpod/8x NVIDIA H100 80GB HBM3/US", tier="secure")
    files = export(
        plan(
            [away, idle, gang],
            Parts(
                [bought(one, (0, 48, 2)) for one in (away, idle, gang)],
                [served(away, (0, 48, 1, 1))],
                [trained(gang, 2, (0, 48))],
            ),
        )
    )
    assert [file.name for file in files] == ["README.md"]
    text = _read_me(files)
    assert "has no machines of coreweave that we can name" in text
    assert "nothing of the plan runs on it" in text
    assert "launches no gang of nodes on runpod" in text


def test_a_gang_of_two_purchases_is_launched_once() -> None:
    parts = Parts(
        [bought(RESERVED, (0, 48, 3)), bought(RENTED, (0, 24, 1))],
        training=[trained(RENTED, 4, (0, 24))],
        runs=[run_entry(1e6)],
    )
    files = export(plan([RENTED, RESERVED], parts))
    task = _only(files)
    assert task["num_nodes"] == 4
    home = task["resources"]["labels"]["gpubroker-line"]
    assert f"part of the gang that is launched under {home}" in _read_me(files)


def test_amd_machines_start_from_an_image_and_others_install_the_engine() -> None:
    amd = machine("runpod/1x AMD Instinct MI300X OAM/EU-RO-1", "MI300X", 1, tier="secure")
    parts = Parts([bought(amd, (0, 48, 1))], [served(amd, (0, 48, 1, 1))])
    task = _only(export(plan([amd], parts)))
    assert task["resources"]["image_id"].startswith("docker:rocm/vllm")
    assert "pip install" not in task["setup"]


def test_replicas_that_stay_up_are_not_scaled_down_before() -> None:
    serving = served(RENTED, (0, 24, 5, 6), (24, 48, 2, 1), gpus=4)
    steady = [service_entry(1, 2, min_up_time="8 h")]
    parts = Parts([bought(RENTED, (0, 48, 3))], [serving], services=steady)
    policy = _only(export(plan([RENTED], parts)))["service"]["replica_policy"]
    assert policy["downscale_delay_seconds"] == 28800
