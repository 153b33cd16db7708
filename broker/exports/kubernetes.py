"""A plan's services as Kubernetes objects: a Deployment, its Service and its autoscaler each.

One file for each share of a service on a line. Replicas are those that the plan begins with, the
autoscaler's bounds the fewest and the most that it has there. Pods go to the nodes that carry the
line's label (the node pools of the Terraform export do), and ask for the GPUs of one replica, or
for the MIG slice that it has alone. Nodes of an isolated workload are tainted there; its pods alone
stand that. Pools that only prefill or only decode are a Deployment each,
with vLLM's own connector between them; the router in front of them is the user's to bring.

Assumed: the device plugin of the GPU's vendor runs in the cluster, and a metrics adapter serves
vLLM's own gauge of running requests to the autoscaler, under the name that vLLM gives it.
Runs are not here: their gangs need a scheduler for them, which the other launchers bring. What is
not here is named in a README.md, which `kubectl apply -f FOLDER` passes over.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from broker.domain.gpu import Stack
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.domain.workload import Service
from broker.exports import vllm
from broker.exports.files import NOTHING_EXECUTED, Executed, ExportFile
from broker.exports.gcp_machines import machine_type
from broker.exports.launch_text import not_launched
from broker.exports.launches import (
    ISOLATED_TAINT,
    LINE_LABEL,
    WORKLOAD_LABEL,
    LeftOut,
    isolated_for,
    labels_of,
    promises,
    short_name,
)
from broker.exports.lines import Line, ServingShare, lines
from broker.exports.yaml_text import yaml_text
from broker.specs.load import Specs, load_specs

RUNNING_REQUESTS = "vllm:num_requests_running"
"""The gauge that the autoscaler follows."""
_FARTHEST_BACK_S = 3600
"""The longest stabilization window that the interface of autoscalers takes."""

ROLE_LABEL = "gpubroker-role"
"""What replicas of a pool do: by it a router finds those that prefill, and those that decode."""

_NAME = "app.kubernetes.io/name"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"
_REGION = "topology.kubernetes.io/region"
_GPUS = {Stack.CUDA: "nvidia.com/gpu", Stack.ROCM: "amd.com/gpu"}
_SLICES = "nvidia.com/mig-"
"""What NVIDIA's device plugin calls a slice, with the profile, under its mixed strategy."""
_IMAGES = {Stack.CUDA: vllm.CUDA_IMAGE, Stack.ROCM: vllm.ROCM_IMAGE}
_WELL_KNOWN = frozenset({"aws", "azure", "gcp"})
"""Clouds that set the well-known labels of a node to their own names of machine and region."""

_PROBE_S = 10
_LEAST_START_S = 1200
"""A download of the weights may take longer than a start from a full cache."""


def export(plan: Plan, executed: Executed = NOTHING_EXECUTED) -> tuple[ExportFile, ...]:
    """Write the objects of each share of a service; a plan without one has none.

    Lines that were executed already are left out.
    """
    specs = load_specs()
    services = {one.name: one for one in plan.workloads.services}
    files = tuple(
        _file(line, share, services[share.assignment.service], specs)
        for line in lines(plan)
        if line.offer.hardware.stack in _GPUS and line.id not in executed
        for share in line.serving
    )
    left_out = (*_left_out(plan, executed), *promises(plan, executed))
    if not files or not left_out:
        return files
    return (
        *files,
        ExportFile("README.md", "\n".join(["# Kubernetes files\n", *not_launched(left_out)])),
    )


def _left_out(plan: Plan, executed: Executed) -> Iterator[LeftOut]:
    for line in lines(plan):
        stack = line.offer.hardware.stack
        if line.id in executed:
            yield LeftOut(line.id, "", executed[line.id])
        elif not line.serving and not line.training:
            yield LeftOut(line.id, "", "nothing of the plan runs on it")
        elif stack not in _GPUS:
            yield LeftOut(line.id, "", f"there is no recipe for {stack.value} accelerators")
        else:
            for name in dict.fromkeys(share.assignment.workload for share in line.training):
                yield LeftOut(
                    line.id, name, "a gang needs a scheduler, which SkyPilot and dstack bring"
                )


def _file(line: Line, share: ServingShare, service: Service, specs: Specs) -> ExportFile:
    subject = f"{service.name}-{share.assignment.user_region}"
    name = short_name(subject, of=f"{line.id} {share.assignment.candidate.id}")
    candidate = share.assignment.candidate
    model = vllm.answering(candidate, service, specs)
    recipe = vllm.recipe(candidate, service, model, copies=1)
    labels = {_NAME: name, WORKLOAD_LABEL: short_name(service.name), **labels_of(line)}
    if candidate.pool is not None:
        labels[ROLE_LABEL] = candidate.pool.role.value
    container = _container(line, share, service, recipe)
    objects = (
        _deployment(name, labels, line, share, container=container),
        _service(name, labels),
        _autoscaler(name, labels, share, service),
    )
    return ExportFile(f"{name}.yaml", yaml_text(_comments(line, share, recipe), *objects))


def _comments(line: Line, share: ServingShare, recipe: vllm.Recipe) -> Iterator[str]:
    offer = line.offer
    yield f"gpubroker plan line {line.id}"
    yield (
        f"{share.assignment.service} for {share.assignment.user_region}: "
        f"{share.least_replicas} to {share.most_replicas} replicas, nodes of "
        f"{offer.hardware.shape.gpu_count} {offer.hardware.shape.gpu}, {line.most_nodes} at most, "
        f"{offer.effective_usd_per_hour:f} USD an hour and node"
    )
    for from_at, to_at, replicas in _spans(share):
        yield f"{from_at:%Y-%m-%dT%H:%MZ} to {to_at:%Y-%m-%dT%H:%MZ}: {replicas}"
    yield from recipe.notes
    one = share.assignment.candidate.gpu_slice
    if one is not None:
        yield (
            f"A replica has a {one.profile} slice: cut a GPU for every {1 / one.gpu_share} of them "
            "and let the device plugin use its mixed MIG strategy."
        )
    pool = share.assignment.candidate.pool
    if pool is not None:
        yield (
            f"These replicas only {pool.role}: a router that is not written here sends each prompt "
            "to a prefill replica first, and then with what that says of its cache to a decode "
            f"replica, both in {pool.place}, with {pool.fabric} between their pods."
        )
    if share.least_replicas == 0:
        yield "The plan has times without a replica: an autoscaler of one metric keeps one then."


def _spans(share: ServingShare) -> Sequence[tuple[datetime, datetime, int]]:
    """Join steps that follow each other with as many replicas, whatever is sent to them."""
    found: list[tuple[datetime, datetime, int]] = []
    for step in share.steps:
        from_at = step.from_at
        if found and found[-1][1:] == (from_at, step.replicas):
            from_at = found.pop()[0]
        found.append((from_at, step.to_at, step.replicas))
    return found


def _deployment(
    name: str,
    labels: Mapping[str, str],
    line: Line,
    share: ServingShare,
    *,
    container: dict[str, object],
) -> dict[str, object]:
    pod = {
        "nodeSelector": _selector(line),
        "tolerations": _tolerations(line),
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "replicas": share.steps[0].replicas,
            "selector": {"matchLabels": {_NAME: name}},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }


def _container(
    line: Line, share: ServingShare, service: Service, recipe: vllm.Recipe
) -> dict[str, object]:
    stack = line.offer.hardware.stack
    start_s = max(_LEAST_START_S, 2 * math.ceil(service.start_up.total_seconds()))
    health = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": _PROBE_S}
    token = {"secretKeyRef": {"name": "hf-token", "key": "token", "optional": True}}
    return {
        "name": "vllm",
        "image": _IMAGES[stack],
        "command": ["vllm", "serve", "$(MODEL_ID)"],
        "args": [
            *("--served-model-name", recipe.served_name),
            *("--host", "0.0.0.0", "--port", str(vllm.PORT)),  # noqa: S104 - in a pod of its own
            *recipe.arguments,
        ],
        "env": [
            {"name": "MODEL_ID", "value": recipe.model_id},
            {"name": "HF_TOKEN", "valueFrom": token},
            *(_cache_door() if share.assignment.candidate.pool else ()),
        ],
        "ports": [{"name": "http", "containerPort": vllm.PORT}],
        "resources": {"limits": _limits(line, share)},
        "startupProbe": health | {"failureThreshold": math.ceil(start_s / _PROBE_S)},
        "readinessProbe": health,
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - shared memory
    }


def _cache_door() -> Iterator[dict[str, object]]:
    """Say where the other pool's replicas reach this one to send or fetch a cache."""
    own_address = {"fieldRef": {"fieldPath": "status.podIP"}}
    yield {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": own_address}
    yield {"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": str(vllm.CACHE_PORT)}


def _limits(line: Line, share: ServingShare) -> dict[str, int]:
    """Ask for the GPUs of a replica, or for the slice of one."""
    candidate = share.assignment.candidate
    if candidate.gpu_slice is not None:
        return {f"{_SLICES}{candidate.gpu_slice.profile}": 1}
    return {_GPUS[line.offer.hardware.stack]: candidate.layout.gpus}


def _selector(line: Line) -> dict[str, str]:
    """Name the line's nodes, and their machine and place where the cloud labels nodes so."""
    offer = line.offer
    found = {LINE_LABEL: line.label}
    if offer.provider in _WELL_KNOWN:
        found |= {_INSTANCE_TYPE: machine_type(offer.instance_type), _REGION: offer.place.region}
    return found


def _tolerations(line: Line) -> list[dict[str, str]]:
    """Stand the marks that keep other pods off nodes with GPUs, Azure's spot nodes, and its own."""
    gpu = _GPUS[line.offer.hardware.stack]
    found = [{"key": gpu, "operator": "Exists", "effect": "NoSchedule"}]
    if line.offer.provider == "azure" and line.purchase.price_kind is PriceKind.SPOT:
        spot = {"key": "kubernetes.azure.com/scalesetpriority", "operator": "Equal"}
        found.append(spot | {"value": "spot", "effect": "NoSchedule"})
    if alone := isolated_for(line):
        own = {"key": ISOLATED_TAINT, "operator": "Equal", "value": alone}
        found.append(own | {"effect": "NoSchedule"})
    return found


def _service(name: str, labels: Mapping[str, str]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "selector": {_NAME: name},
            "ports": [{"name": "http", "port": vllm.PORT, "targetPort": "http"}],
        },
    }


def _autoscaler(
    name: str, labels: Mapping[str, str], share: ServingShare, service: Service
) -> dict[str, object]:
    """Bound the replicas by the plan; another is due where each has as many requests as planned.

    Where replicas stay up for a least time, fewer are taken that long after more were asked for, as
    far as an autoscaler looks back.
    """
    rates = [one for one in share.assignment.candidate.rates if one.requests_per_s > 0]
    busy = max(1, math.floor(min((one.concurrency for one in rates), default=1.0)))
    metric = {
        "metric": {"name": RUNNING_REQUESTS},
        "target": {"type": "AverageValue", "averageValue": str(busy)},
    }
    least_s = min(math.ceil(service.min_up_time.total_seconds()), _FARTHEST_BACK_S)
    down = {"scaleDown": {"stabilizationWindowSeconds": least_s}}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": max(1, share.least_replicas),
            "maxReplicas": share.most_replicas,
            "metrics": [{"type": "Pods", "pods": metric}],
            **({"behavior": down} if least_s else {}),
        },
    }
