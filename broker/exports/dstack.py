"""A plan as dstack files: a fleet for each line, tasks and services that run on it.

A fleet holds the nodes that the line has, split into blocks where replicas are smaller than a
node, so that a replica of the service is a replica of the plan. Where dstack (0.22) holds no
instances (RunPod, Vast.ai, Lium) a replica takes a whole node, with as many vLLM processes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from broker.domain.batch import BatchRun
from broker.domain.candidate import BatchCandidate
from broker.domain.gpu import Stack
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.domain.workload import Run, Service, TrainingRun
from broker.exports import batch_run, training_run, vllm
from broker.exports.files import NOTHING_EXECUTED, Executed, ExportFile
from broker.exports.launch_text import Written, ending_at, head, read_me, required, stamp
from broker.exports.launches import (
    Launch,
    LeftOut,
    copies_on_node,
    is_committed,
    labels_of,
    launches,
    nodes_of,
    price_cap,
    short_name,
)
from broker.exports.lines import ServingShare, TrainingShare
from broker.exports.yaml_text import yaml_text
from broker.specs.launchers import Lack, Tool, read_launchers
from broker.specs.load import Specs, load_specs

_IDLE = "10m"
_SHARED_MEMORY = "16GB"
"""For processes of one node to talk through; images give 64 MB otherwise."""

_INTRO = """\
# dstack files

Apply the fleet of a line first, then what runs on it. A service has an endpoint of its own: a
router in front of them sends requests as the plan does. Models that are gated need
`-e HF_TOKEN=...`; the script of a run is named by `-e TRAIN_SCRIPT=train.py`, that of a batch job
by `-e BATCH_SCRIPT=batch.py`; both are taken from the git repository that the command is run in.
A run on spot nodes is started anew after an
interruption: its script goes on from its own checkpoints, kept outside of the machine. Delete the
fleets when the window is over.
"""


def export(plan: Plan, executed: Executed = NOTHING_EXECUTED) -> tuple[ExportFile, ...]:
    """Write a fleet for each line, a task or service for each share of work, and a README.md."""
    specs, launchers = load_specs(), read_launchers(Tool.DSTACK)
    found = launches(plan, launchers, "dstack", executed)
    files: list[ExportFile] = []
    written: list[Written] = []
    on_lines = [one for one in found if isinstance(one, Launch)]
    for _, group in groupby(on_lines, key=lambda one: one.line.id):
        together = tuple(group)
        fleet = _Fleet(short_name(together[0].line.id), together)
        files.append(ExportFile(f"{fleet.name}.dstack.yml", _fleet_text(fleet, plan, specs)))
        for one in together:
            file = f"{one.name}.dstack.yml"
            command = f"dstack apply -f {fleet.name}.dstack.yml && dstack apply -f {file}"
            files.append(ExportFile(file, _text(one, fleet, plan, specs)))
            written.append(Written(one, file, command))
    left_out = [one for one in found if isinstance(one, LeftOut)]
    return (*files, ExportFile("README.md", read_me(plan, _INTRO, written, left_out)))


@dataclass(frozen=True, slots=True)
class _Fleet:
    """The nodes of a line, and what is launched on them."""

    name: str
    launches: tuple[Launch, ...]

    @property
    def nodes(self) -> int:
        """Count the nodes of the line, or of a gang that has some of another line too."""
        gangs = [nodes_of(one) for one in self.launches if isinstance(one.share, TrainingShare)]
        return max(self.launches[0].line.most_nodes, *gangs, 1)

    @property
    def has_gang(self) -> bool:
        """Say whether several nodes work together."""
        return any(
            isinstance(one.share, TrainingShare) and nodes_of(one) > 1 for one in self.launches
        )


def _service_of(share: ServingShare, plan: Plan) -> Service:
    return next(one for one in plan.workloads.services if one.name == share.assignment.service)


def _run_of(share: TrainingShare, plan: Plan) -> Run:
    return next(one for one in plan.workloads.runs if one.name == share.assignment.run)


def _disk_gb(launch: Launch, plan: Plan, specs: Specs) -> int:
    share = launch.share
    if isinstance(share, ServingShare):
        service = _service_of(share, plan)
        return vllm.disk_gb(vllm.answering(share.assignment.candidate, service, specs))
    run = _run_of(share, plan)
    model = specs.llm(run.model)
    return training_run.disk_gb(run, model) if isinstance(run, TrainingRun) else vllm.disk_gb(model)


def _is_in_blocks(launch: Launch) -> bool:
    """Say whether a replica is a part of a node that dstack splits."""
    return (
        isinstance(launch.share, ServingShare)
        and Lack.INSTANCES not in launch.target.cloud.lacks
        and launch.share.assignment.candidate.layout.gpus < launch.target.gpu_count
    )


def _fleet_text(fleet: _Fleet, plan: Plan, specs: Specs) -> str:
    first = fleet.launches[0]
    target, line = first.target, first.line
    disk_gb = sum(
        _disk_gb(one, plan, specs) * (copies_on_node(one) if _is_in_blocks(one) else 1)
        for one in fleet.launches
    )
    data: dict[str, object] = {
        "type": "fleet",
        "name": fleet.name,
        "nodes": {"min": 0, "max": fleet.nodes},
        "placement": "cluster" if fleet.has_gang else "any",
        "blocks": "auto" if any(_is_in_blocks(one) for one in fleet.launches) else 1,
        **_place(first),
        "resources": {"gpu": _gpu(first, target.gpu_count), "disk": f"{disk_gb}GB.."},
        "idle_duration": "off" if is_committed(line) else _IDLE,
        "tags": labels_of(line),
    }
    return yaml_text(_fleet_head(fleet), data)


def _fleet_head(fleet: _Fleet) -> Sequence[str]:
    line, target = fleet.launches[0].line, fleet.launches[0].target
    count = f"{line.most_nodes} node{'s' * (line.most_nodes > 1)} at most"
    notes = [f"gpubroker plan line {line.id}: {count}."]
    if fleet.nodes > line.most_nodes:
        notes.append(f"A gang takes {fleet.nodes} nodes; the rest are of other lines of the plan.")
    if is_committed(line):
        notes.append("The nodes are committed: they are paid for whether they run or not.")
    if is_committed(line) and Lack.RESERVATION not in target.cloud.lacks:
        notes.append("Name a capacity reservation or block by its id: reservation: ID")
    if target.to_do:
        notes.append(target.to_do)
    return notes


def _place(launch: Launch) -> dict[str, object]:
    """Say where and at what price; the same for a fleet and for what runs on it."""
    target = launch.target
    found: dict[str, object] = {"backends": [target.cloud.cloud], "regions": [target.region]}
    if target.machine:
        found["instance_types"] = [target.machine]
    found["spot_policy"] = "spot" if launch.is_spot else "on-demand"
    cap = price_cap(launch.line)
    if cap is not None:
        found["max_price"] = cap
    return found


def _gpu(launch: Launch, count: int) -> Mapping[str, object]:
    gpu = launch.target.gpu
    found: dict[str, object] = {"vendor": gpu.vendor, "name": gpu.name, "count": count}
    if gpu.memory_gib is not None:
        found["memory"] = f"{gpu.memory_gib}GB"
    return found


def _text(launch: Launch, fleet: _Fleet, plan: Plan, specs: Specs) -> str:
    share = launch.share
    note: tuple[str, ...] = ()
    if isinstance(share, ServingShare):
        own, note = _service(launch, share, _service_of(share, plan), specs)
        count = (
            share.assignment.candidate.layout.gpus
            if _is_in_blocks(launch)
            else launch.target.gpu_count
        )
        kind = "service"
    else:
        own = _gang(launch, share, _run_of(share, plan), specs)
        count, kind = launch.target.gpu_count, "task"
    data = {
        "type": kind,
        "name": launch.name,
        **own,
        "fleets": [fleet.name],
        **_place(launch),
        "resources": {
            "gpu": _gpu(launch, count),
            "disk": f"{_disk_gb(launch, plan, specs)}GB..",
            "shm_size": _SHARED_MEMORY,
        },
        **_ends(launch),
        "tags": launch.labels,
    }
    command = f"dstack apply -f {launch.name}.dstack.yml"
    return yaml_text(head(launch, command, note), data)


def _ends(launch: Launch) -> dict[str, object]:
    """End at the window's end, and start over after an interruption until then."""
    hours = max(
        math.ceil((piece.to_at - piece.from_at).total_seconds() / 3600) for piece in launch.pieces
    )
    ends: dict[str, object] = {"max_duration": f"{hours}h"}
    if launch.line.purchase.price_kind is PriceKind.SPOT:
        ends["retry"] = {"on_events": ["no-capacity", "interruption"], "duration": f"{hours}h"}
    return ends


def _service(
    launch: Launch, share: ServingShare, service: Service, specs: Specs
) -> tuple[dict[str, object], tuple[str, ...]]:
    copies = 1 if _is_in_blocks(launch) else copies_on_node(launch)
    candidate = share.assignment.candidate
    model = vllm.answering(candidate, service, specs)
    recipe = vllm.recipe(candidate, service, model, copies=copies)
    least = math.ceil(share.least_replicas / copies)
    most = math.ceil(share.most_replicas / copies)
    target = vllm.requests_per_s_target(share, service) * copies
    words = (
        'vllm serve "$MODEL_ID"',
        *("--served-model-name", recipe.served_name),
        *("--host", "0.0.0.0", "--port", str(vllm.PORT)),  # noqa: S104 - in a container of its own
        *recipe.arguments,
    )
    check = required("MODEL_ID", "name the weights: -e MODEL_ID=...") if recipe.note else ""
    end = launch.window[1]
    is_rocm = launch.line.offer.hardware.stack is Stack.ROCM
    own: dict[str, object] = {
        "image": vllm.ROCM_IMAGE if is_rocm else vllm.CUDA_IMAGE,
        "env": {"MODEL_ID": recipe.model_id, "HF_TOKEN": "", "WINDOW_END": stamp(end)},
        "commands": [check + ending_at(end, words)],
        "port": vllm.PORT,
        "model": recipe.served_name,
        "probes": [{"type": "http", "url": "/health"}],
        "replicas": f"{least}..{most}" if least < most else most,
    }
    if least < most:
        least_s = math.ceil(service.min_up_time.total_seconds())
        delay = {"scale_down_delay": least_s} if least_s else {}
        own["scaling"] = {"metric": "rps", "target": float(f"{target:.4g}"), **delay}
    notes = [*recipe.notes]
    if copies > 1:
        notes.append(f"A replica here is a node with {copies} replicas of the plan.")
    return own, tuple(notes)


def _gang(launch: Launch, share: TrainingShare, run: Run, specs: Specs) -> dict[str, object]:
    candidate = share.assignment.candidate
    if isinstance(run, BatchRun) and isinstance(candidate, BatchCandidate):
        return _batch(launch, candidate, run, specs)
    return _run(launch, share, run, specs) if isinstance(run, TrainingRun) else {}


def _batch(
    launch: Launch, candidate: BatchCandidate, run: BatchRun, specs: Specs
) -> dict[str, object]:
    end = launch.pieces[0].to_at
    is_rocm = launch.line.offer.hardware.stack is Stack.ROCM
    told = batch_run.environment(candidate, run, specs.llm(run.model))
    check = required("BATCH_SCRIPT", "name your script: -e BATCH_SCRIPT=batch.py")
    ranks = 'export NODE_RANK="$DSTACK_NODE_RANK" NODES="$DSTACK_NODES_NUM"\n'
    return {
        "nodes": candidate.nodes,
        "image": vllm.ROCM_IMAGE if is_rocm else vllm.CUDA_IMAGE,
        "repos": ["."],
        "env": {**told, "HF_TOKEN": "", "WINDOW_END": stamp(end)},
        "commands": [check + ranks + ending_at(end, ("python3", batch_run.SCRIPT))],
    }


def _run(launch: Launch, share: TrainingShare, run: TrainingRun, specs: Specs) -> dict[str, object]:
    end = launch.pieces[0].to_at
    told = training_run.environment(share.assignment, run, specs)
    is_rocm = launch.line.offer.hardware.stack is Stack.ROCM
    words = (
        "python3 -m torch.distributed.run",
        *("--nnodes", '"$DSTACK_NODES_NUM"'),
        *("--nproc-per-node", '"$DSTACK_GPUS_PER_NODE"'),
        *("--node-rank", '"$DSTACK_NODE_RANK"'),
        *("--master-addr", '"$DSTACK_MASTER_NODE_IP"'),
        *("--master-port", f'{training_run.MASTER_PORT} "$TRAIN_SCRIPT" $TRAIN_ARGS'),
    )
    return {
        "nodes": share.assignment.candidate.nodes,
        "image": training_run.ROCM_IMAGE if is_rocm else training_run.CUDA_IMAGE,
        "repos": ["."],
        "env": {**told, "HF_TOKEN": "", "WINDOW_END": stamp(end)},
        "commands": [
            "if [ -f requirements.txt ]; then pip install -r requirements.txt; fi",
            required("TRAIN_SCRIPT", "name your script: -e TRAIN_SCRIPT=train.py")
            + ending_at(end, words),
        ],
    }
