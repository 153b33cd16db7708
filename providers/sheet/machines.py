"""From what a row says of a machine to its hardware, or to why that cannot be known.

The tables decide: a known instance type gives GPU and count, and what the row says may fill gaps
but not contradict. Else the GPU's spelling, the memory of one GPU and the form in the provider's
own type name (`H100-SXM5x8`) must leave exactly one model.
"""

import re
from fractions import Fraction

from broker.domain.gpu import GpuModel
from broker.domain.offer import Fabric, Hardware, Link, Virtualization
from broker.specs.load import NodeFacts, Specs, Unresolved
from broker.specs.nodes import link_domain_gpus, link_gb_per_s
from providers.sheet.reasons import Reason, Refused
from providers.sheet.rows import StatedMachine

_FORM = re.compile(r"sxm|pcie|nvl(?!ink)", re.IGNORECASE)
_COUNT_PREFIX = re.compile(r"^\d+\s*x[\s_-]*", re.IGNORECASE)
_LINKED = (Link.NVSWITCH, Link.XGMI, Link.NVLINK_BRIDGE)
_MEMORY_SLACK = 0.12
"""Sources write GB for GiB, round, or leave out what the driver reserves."""


class Machines:
    """Finds the hardware of each machine of a sheet, each distinct machine once."""

    def __init__(self, specs: Specs) -> None:
        self._specs = specs
        self._found: dict[StatedMachine, Hardware | Refused] = {}

    def hardware(self, stated: StatedMachine) -> Hardware | Refused:
        """Describe the machine, or say why not."""
        if stated not in self._found:
            self._found[stated] = self._find(stated)
        return self._found[stated]

    def names_a_gpu(self, stated: StatedMachine) -> bool:
        """Say whether the instance type is the name of a GPU and of no type of machine."""
        if self._specs.node(stated.provider, stated.instance_type):
            return False
        bare = _COUNT_PREFIX.sub("", stated.instance_type)
        if bare.lower() == _COUNT_PREFIX.sub("", stated.gpu_name).lower():
            return True
        found = self._specs.resolve_gpu(bare, provider=stated.provider)
        return isinstance(found, str) or found.reason == Reason.AMBIGUOUS_GPU

    def _find(self, stated: StatedMachine) -> Hardware | Refused:
        facts = self._specs.node(stated.provider, stated.instance_type)
        gpu = self._gpu(stated, facts)
        if isinstance(gpu, Refused):
            return gpu
        refused = _contradicts_memory(stated, gpu, facts) or _contradicts_link(stated, gpu)
        if facts:
            refused = refused or _contradicts_facts(stated, facts)
        count = facts.gpu_count if facts else stated.gpu_count
        if count is None:
            detail = "neither the row nor a table says how many GPUs the node has"
            return refused or Refused(Reason.NO_GPU_COUNT, detail)
        return refused or self._join(stated, gpu, count)

    def _gpu(self, stated: StatedMachine, facts: NodeFacts | None) -> GpuModel | Refused:
        named = self._resolve(stated) if stated.gpu_name else None
        if facts is None:
            if named is None:
                detail = f"no GPU is named, and {stated.instance_type!r} is in no table"
                return Refused(Reason.UNKNOWN_GPU, detail)
            return self._specs.gpu(named) if isinstance(named, str) else named
        if isinstance(named, str) and named != facts.gpu:
            detail = f"the sheet says {named}, {facts.instance_type} has {facts.gpu}"
            return Refused(Reason.CONTRADICTS_KNOWN_INSTANCE, detail)
        return self._specs.gpu(facts.gpu)

    def _resolve(self, stated: StatedMachine) -> str | Refused:
        """Resolve the GPU's spelling; the form in the type's name decides between variants."""
        found = self._spelled(stated, stated.gpu_name)
        forms = {form.lower() for form in _FORM.findall(stated.instance_type)}
        if isinstance(found, str):
            return found
        if found.reason == Reason.AMBIGUOUS_GPU and len(forms) == 1:
            family = re.split(r"[\s_-]", stated.gpu_name.strip())[0]
            for name in (stated.gpu_name, family):
                formed = self._spelled(stated, f"{name} {next(iter(forms))}")
                if isinstance(formed, str):
                    return formed
        if found.reason == Reason.UNKNOWN_GPU and stated.gpu_memory_gib:
            alone = self._specs.resolve_gpu(stated.gpu_name, provider=stated.provider)
            if isinstance(alone, str) or alone.reason == Reason.AMBIGUOUS_GPU:
                return Refused(Reason.CONTRADICTS_KNOWN_MODEL, found.detail)
        return Refused(Reason(found.reason), found.detail)

    def _spelled(self, stated: StatedMachine, spelling: str) -> str | Unresolved:
        return self._specs.resolve_gpu(
            spelling, memory_gib=stated.gpu_memory_gib, provider=stated.provider
        )

    def _join(self, stated: StatedMachine, gpu: GpuModel, count: Fraction) -> Hardware:
        hardware = self._specs.hardware(
            stated.provider,
            stated.instance_type,
            gpu=gpu.name,
            gpu_count=count,
            vcpus=stated.vcpus,
            host_memory_gib=stated.memory_gib,
            local_disk_gb=stated.local_disk_gb,
            virtualization=(
                Virtualization.BARE_METAL if stated.bare_metal else Virtualization.UNKNOWN
            ),
        )
        shape = hardware.shape
        if stated.link and count > 1:
            update = {"link": stated.link, **_link_figures(gpu, stated.link, count)}
            shape = shape.model_copy(update=update)
        if stated.fabric:
            shape = shape.model_copy(update={"fabric": stated.fabric})
        if stated.fabric_gbit_per_s:
            shape = shape.model_copy(update={"fabric_gbit_per_s": stated.fabric_gbit_per_s})
        return hardware.model_copy(update={"shape": shape})


def _link_figures(gpu: GpuModel, link: Link, count: Fraction) -> dict[str, float | int | None]:
    """Give the datasheet's figures of a link that a row states for its own machine."""
    if link not in _LINKED:
        return {"link_gb_per_s": None, "link_domain_gpus": None}
    return {
        "link_gb_per_s": link_gb_per_s(gpu, link, count),
        "link_domain_gpus": link_domain_gpus(gpu, link, count),
    }


def _contradicts_memory(
    stated: StatedMachine, gpu: GpuModel, facts: NodeFacts | None
) -> Refused | None:
    memory_gib = stated.gpu_memory_gib
    if memory_gib is None:
        return None
    count = facts.gpu_count if facts else stated.gpu_count
    shares = {1.0, float(count)} if count and count < 1 else {1.0}
    for share in shares:
        low = share * gpu.memory_gib * (1 - _MEMORY_SLACK)
        if low <= memory_gib <= share * gpu.memory_gb * (1 + _MEMORY_SLACK):
            return None
    detail = f"{memory_gib:g} GiB on one GPU, a {gpu.name} has {gpu.memory_gib:g} GiB"
    return Refused(Reason.CONTRADICTS_KNOWN_MODEL, detail)


def _contradicts_link(stated: StatedMachine, gpu: GpuModel) -> Refused | None:
    if stated.link in _LINKED and gpu.link_gb_per_s == 0:
        detail = f"link {stated.link}, but a {gpu.name} has none but PCIe"
        return Refused(Reason.CONTRADICTS_KNOWN_MODEL, detail)
    return None


def _contradicts_facts(stated: StatedMachine, facts: NodeFacts) -> Refused | None:
    """Compare what the row says with what is known of its type.

    Sources count a slice of a GPU as one GPU; that is no contradiction, and the slice holds.
    """
    counts = {facts.gpu_count, Fraction(1)} if facts.gpu_count < 1 else {facts.gpu_count}
    if stated.gpu_count is not None and stated.gpu_count not in counts:
        said, known = f"{stated.gpu_count} GPUs", str(facts.gpu_count)
    elif stated.link and facts.link not in (Link.UNKNOWN, Link.SINGLE, stated.link):
        said, known = f"link {stated.link}", str(facts.link)
    elif stated.fabric and facts.fabric not in (Fabric.UNKNOWN, stated.fabric):
        said, known = f"fabric {stated.fabric}", str(facts.fabric)
    elif stated.bare_metal and facts.virtualization in (
        Virtualization.VM,
        Virtualization.CONTAINER,
    ):
        said, known = "bare metal", str(facts.virtualization)
    else:
        return None
    return Refused(
        Reason.CONTRADICTS_KNOWN_INSTANCE,
        f"the sheet says {said}, {facts.instance_type} has {known} ({facts.source})",
    )
