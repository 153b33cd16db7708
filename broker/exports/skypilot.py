"""A plan as SkyPilot files: a managed job for each run, a SkyServe service for each share of one.

A replica of SkyServe is a cluster, so a node that carries several replicas of the plan is one of
its replicas, with as many vLLM processes; targets and counts are scaled to nodes. SkyPilot (0.14)
takes reservations from its own configuration, not from a task, so a committed line is named by
labels, and its file says what to set.
"""

import math
from collections.abc import Mapping

from broker.domain.batch import BatchRun
from broker.domain.candidate import BatchCandidate
from broker.domain.gpu import Stack
from broker.domain.plan import Plan
from broker.domain.workload import Service, TrainingRun
from broker.exports import batch_run, training_run, vllm
from broker.exports.files import NOTHING_EXECUTED, Executed, ExportFile
from broker.exports.launch_text import (
    Written,
    ending_at,
    head,
    over,
    read_me,
    required,
    stamp,
)
from broker.exports.launches import (
    Launch,
    LeftOut,
    Share,
    copies_on_node,
    is_committed,
    launches,
    nodes_of,
    price_cap,
)
from broker.exports.lines import ServingShare, TrainingShare
from broker.exports.yaml_text import yaml_text
from broker.specs.launchers import Lack, Tool, read_launchers
from broker.specs.load import Specs, load_specs

_IDLE_MINUTES = 10
_WITH_RESERVATIONS = frozenset({"aws", "gcp"})
"""Clouds whose `specific_reservations` the configuration of SkyPilot takes."""

_LEAST_DELAY_S = 1200
"""SkyServe's own time for a replica to become ready; a shorter one would end slow downloads."""

_INTRO = """\
# SkyPilot files

Runs are managed jobs, services are SkyServe services of their own endpoint each: a router in
front of them sends requests as the plan does. Models that are gated need `--env HF_TOKEN=...`;
the script of a run is named by `--env TRAIN_SCRIPT=train.py`, that of a batch job by
`--env BATCH_SCRIPT=batch.py`; both are taken from the folder that the command is run in. A run on
spot nodes is started anew after an interruption: its script goes on from its own checkpoints, kept
outside of the machine. Past its window a replica or a job fails at once, which ends it; take
services down then with `sky serve down NAME`.
"""


def export(plan: Plan, executed: Executed = NOTHING_EXECUTED) -> tuple[ExportFile, ...]:
    """Write a task or service file for each share of work, and a README.md of them all."""
    specs, launchers = load_specs(), read_launchers(Tool.SKYPILOT)
    files: list[ExportFile] = []
    written: list[Written] = []
    left_out: list[LeftOut] = []
    for one in launches(plan, launchers, "SkyPilot", executed):
        if isinstance(one, LeftOut):
            left_out.append(one)
            continue
        file = f"{one.name}.yaml"
        command = _command(one, file)
        files.append(ExportFile(file, _text(one, plan, specs, command)))
        written.append(Written(one, file, command))
    about = read_me(plan, _INTRO, written, left_out)
    return (*files, ExportFile("README.md", about))


def _command(launch: Launch, file: str) -> str:
    if isinstance(launch.share, ServingShare):
        return f"sky serve up -n {launch.name} {file}"
    return f"sky jobs launch -n {launch.name} {file}"


def _text(launch: Launch, plan: Plan, specs: Specs, command: str) -> str:
    share = launch.share
    if isinstance(share, ServingShare):
        service = next(
            one for one in plan.workloads.services if one.name == share.assignment.service
        )
        task, notes = _service(launch, share, service, specs)
    else:
        run = next(one for one in plan.workloads.runs if one.name == share.assignment.run)
        candidate = share.assignment.candidate
        if isinstance(run, BatchRun) and isinstance(candidate, BatchCandidate):
            task, notes = _batch(launch, candidate, run, specs), ()
        elif isinstance(run, TrainingRun):
            task, notes = _run(launch, share, run, specs), ()
    return yaml_text(head(launch, command, (*notes, *_reservation(launch))), task)


def _service(
    launch: Launch, share: ServingShare, service: Service, specs: Specs
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    candidate, copies = share.assignment.candidate, copies_on_node(launch)
    model = vllm.answering(candidate, service, specs)
    recipe = vllm.recipe(candidate, service, model, copies=copies)
    target = vllm.requests_per_s_target(share, service)
    start_s = math.ceil(service.start_up.total_seconds())
    least_s = math.ceil(service.min_up_time.total_seconds())
    task = {
        "name": launch.name,
        "service": {
            "readiness_probe": {
                "path": "/health",
                "initial_delay_seconds": max(_LEAST_DELAY_S, 2 * start_s),
            },
            "replica_policy": {
                "min_replicas": math.ceil(share.least_replicas / copies),
                "max_replicas": nodes_of(launch),
                "target_qps_per_replica": float(f"{target * copies:.4g}"),
                **({"downscale_delay_seconds": least_s} if least_s else {}),
            },
        },
        "resources": _resources(launch, vllm.disk_gb(model))
        | {"ports": vllm.PORT}
        | _image(launch, vllm.ROCM_IMAGE),
        "envs": {
            "MODEL_ID": recipe.model_id,
            "HF_TOKEN": "",
            "WINDOW_END": stamp(launch.window[1]),
        },
        "setup": _setup(launch),
        "run": _vllm_script(launch, recipe),
    }
    return task, _service_notes(launch, copies, recipe)


def _service_notes(launch: Launch, copies: int, recipe: vllm.Recipe) -> tuple[str, ...]:
    notes = [*recipe.notes]
    if copies > 1:
        notes.append(f"A replica here is a node with {copies} replicas of the plan.")
    shares: tuple[Share, ...] = (*launch.line.serving, *launch.line.training)
    if len(shares) > 1:
        notes.append(
            f"The plan shares the {launch.line.most_nodes} nodes of this line among "
            f"{len(shares)} workloads; SkyPilot gives each its own nodes."
        )
    return tuple(notes)


def _run(
    launch: Launch, share: TrainingShare, run: TrainingRun, specs: Specs
) -> Mapping[str, object]:
    model = specs.llm(run.model)
    end = launch.pieces[0].to_at
    told = training_run.environment(share.assignment, run, specs)
    resources = _resources(launch, training_run.disk_gb(run, model))
    if launch.is_spot:
        resources["job_recovery"] = {"strategy": "FAILOVER"}
    return {
        "name": launch.name,
        "num_nodes": share.assignment.candidate.nodes,
        "workdir": ".",
        "resources": resources | _image(launch, training_run.ROCM_IMAGE),
        "envs": {**told, "HF_TOKEN": "", "WINDOW_END": stamp(end)},
        "setup": _TRAINING_SETUP,
        "run": required("TRAIN_SCRIPT", "name your script: --env TRAIN_SCRIPT=train.py")
        + 'head=$(echo "$SKYPILOT_NODE_IPS" | head -n1)\n'
        + ending_at(
            end,
            (
                "python3 -m torch.distributed.run",
                "--nnodes",
                '"$SKYPILOT_NUM_NODES"',
                "--nproc-per-node",
                '"$SKYPILOT_NUM_GPUS_PER_NODE"',
                "--node-rank",
                '"$SKYPILOT_NODE_RANK"',
                "--master-addr",
                '"$head"',
                "--master-port",
                f'{training_run.MASTER_PORT} "$TRAIN_SCRIPT" $TRAIN_ARGS',
            ),
        ),
    }


def _batch(
    launch: Launch, candidate: BatchCandidate, run: BatchRun, specs: Specs
) -> Mapping[str, object]:
    model = specs.llm(run.model)
    end = launch.pieces[0].to_at
    resources = _resources(launch, vllm.disk_gb(model))
    if launch.is_spot:
        resources["job_recovery"] = {"strategy": "FAILOVER"}
    told = batch_run.environment(candidate, run, model)
    is_rocm = launch.line.offer.hardware.stack is Stack.ROCM
    python = "python3" if is_rocm else "~/vllm/bin/python"
    return {
        "name": launch.name,
        "num_nodes": candidate.nodes,
        "workdir": ".",
        "resources": resources | _image(launch, vllm.ROCM_IMAGE),
        "envs": {**told, "HF_TOKEN": "", "WINDOW_END": stamp(end)},
        "setup": _setup(launch),
        "run": required("BATCH_SCRIPT", "name your script: --env BATCH_SCRIPT=batch.py")
        + 'export NODE_RANK="$SKYPILOT_NODE_RANK" NODES="$SKYPILOT_NUM_NODES"\n'
        + ending_at(end, (python, batch_run.SCRIPT)),
    }


_TRAINING_SETUP = """\
python3 -c 'import torch' 2>/dev/null || pip install torch
if [ -f requirements.txt ]; then pip install -r requirements.txt; fi
"""


def _resources(launch: Launch, disk_gb: int) -> dict[str, object]:
    target = launch.target
    place = [target.cloud.cloud, target.region, *([target.zone] if target.zone else [])]
    found: dict[str, object] = {
        "infra": "/".join(place),
        "accelerators": {target.gpu.name: target.gpu_count},
        "use_spot": launch.is_spot,
        "disk_size": disk_gb,
        "labels": launch.labels,
    }
    if target.machine:
        found["instance_type"] = target.machine
    cap = price_cap(launch.line)
    if cap is not None:
        found["max_hourly_cost"] = cap
    if Lack.AUTODOWN not in target.cloud.lacks:
        found["autostop"] = {"idle_minutes": _IDLE_MINUTES, "down": True}
    return found


def _image(launch: Launch, rocm_image: str) -> dict[str, object]:
    is_rocm = launch.line.offer.hardware.stack is Stack.ROCM
    return {"image_id": f"docker:{rocm_image}"} if is_rocm else {}


def _setup(launch: Launch) -> str:
    check = (
        f'end="$WINDOW_END"\nleft=$(( $(date -u -d "$end" +%s) - $(date -u +%s) ))\n{over("$left")}'
    )
    if launch.line.offer.hardware.stack is Stack.ROCM:
        return check
    return (
        f"{check}python3 -m venv ~/vllm\n"
        f"~/vllm/bin/pip install --upgrade pip\n"
        f"~/vllm/bin/pip install vllm=={vllm.VERSION}\n"
    )


def _vllm_script(launch: Launch, recipe: vllm.Recipe) -> str:
    is_rocm = launch.line.offer.hardware.stack is Stack.ROCM
    program = "vllm serve" if is_rocm else "~/vllm/bin/vllm serve"
    words = (
        f'{program} "$MODEL_ID"',
        "--served-model-name",
        recipe.served_name,
        *("--host", "0.0.0.0", "--port", str(vllm.PORT)),  # noqa: S104 - in a machine of its own
        *recipe.arguments,
    )
    start = required("MODEL_ID", "name the weights: --env MODEL_ID=...") if recipe.note else ""
    return start + ending_at(launch.window[1], words)


def _reservation(launch: Launch) -> tuple[str, ...]:
    if not is_committed(launch.line) or launch.target.cloud.cloud not in _WITH_RESERVATIONS:
        return ()
    key = f"{launch.target.cloud.cloud}: {{specific_reservations: [ID]}}"
    return (f"A reservation with an id is named in ~/.sky/config.yaml: {key}.",)
