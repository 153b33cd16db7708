"""Instance types: what the tables know of them, held against what AWS says.

The price file names no GPU model, and its GPU memory is of one GPU for some types and of all for
others; so both come from the tables, and the file's figures only confirm or contradict them.
"""

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from broker.domain.gpu import Stack
from broker.domain.offer import Hardware, Virtualization
from broker.specs.load import NodeFacts, Specs
from providers.aws.wire import PROVIDER, Problem, Product

_BARE_METAL = re.compile(r"\.metal\b")
_AMOUNT = re.compile(r"([\d.,]+)\s*(MiB|GiB|GB|TB|TiB)\b")
_GIGA = {"MiB": 1 / 1024, "GiB": 1.0, "GB": 1.0, "TiB": 1024.0, "TB": 1000.0}
_DISKS = re.compile(r"(?:(\d+)\s*x\s*)?([\d.,]+)\s*(GB|TB)?", re.IGNORECASE)
_MEMORY_TOLERANCE = 0.12
"""GB against GiB (7 %), and fitted against usable memory of HBM parts (7 %)."""


def hardware_of_type(specs: Specs, instance_type: str) -> Hardware | Problem:
    """Describe a type by the tables alone."""
    node = specs.node(PROVIDER, instance_type)
    if node is None:
        return _unknown(instance_type)
    return _hardware(specs, node, instance_type)


def hardware_of(specs: Specs, product: Product) -> Hardware | Problem:
    """Describe a product's type; the tables win, the file fills in what they leave open."""
    node = specs.node(PROVIDER, product.instance_type)
    if node is None:
        return _unknown(product.instance_type)
    contradiction = _contradiction(specs, node, product)
    if contradiction is not None:
        return contradiction
    return _hardware(specs, node, product.instance_type, product)


def _unknown(instance_type: str) -> Problem:
    detail = f"{instance_type!r} is in no table: its GPU model is not known"
    return Problem("unknown_instance_type", detail)


def _hardware(
    specs: Specs, node: NodeFacts, instance_type: str, product: Product | None = None
) -> Hardware:
    virtualization = node.virtualization
    if virtualization is Virtualization.UNKNOWN:
        bare = _BARE_METAL.search(instance_type) is not None
        virtualization = Virtualization.BARE_METAL if bare else Virtualization.VM
    return specs.hardware(
        PROVIDER,
        instance_type,
        gpu=node.gpu,
        gpu_count=node.gpu_count,
        vcpus=node.vcpus or (_number(product.vcpus) if product else None),
        host_memory_gib=node.host_memory_gib or (_gib(product.memory) if product else None),
        local_disk_gb=node.local_disk_gb or (_disk_gb(product.storage) if product else None),
        virtualization=virtualization,
    )


def _contradiction(specs: Specs, node: NodeFacts, product: Product) -> Problem | None:
    gpu = specs.gpu(node.gpu)
    if gpu.stack is Stack.NEURON:
        return None  # the attributes count GPUs; what they say of other accelerators varies
    count = _count(product.gpus)
    if count is not None and count not in _acceptable_counts(node.gpu_count):
        detail = f"the file says {product.gpus!r} GPUs, the type has {node.gpu_count}"
        return Problem("contradicts_known_instance", detail)
    stated = _gib(product.gpu_memory)
    if stated is None:
        return None
    each = (gpu.memory_gb, gpu.memory_gib)
    expected = [one * factor for one in each for factor in (1.0, float(node.gpu_count))]
    if any(abs(stated / one - 1) <= _MEMORY_TOLERANCE for one in expected):
        return None
    detail = f"the file says {product.gpu_memory!r}, the type has {node.gpu_count} × {gpu.name}"
    return Problem("contradicts_known_instance", detail)


def _acceptable_counts(known: Fraction) -> tuple[Fraction, ...]:
    """A slice of a GPU is listed as its fraction, as no GPU, or as one logical GPU."""
    return (known,) if known >= 1 else (known, Fraction(0), Fraction(1))


def _count(text: str) -> Fraction | None:
    try:
        return Fraction(text.strip()) if text.strip() else None
    except (ValueError, ZeroDivisionError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(Decimal(text.replace(",", "").strip()))
    except InvalidOperation:
        return None
    return value if 0 < value < math.inf else None


def _gib(text: str) -> float | None:
    """Read "2,048 GiB"; AWS writes GB for the GiB of a GPU, so both count alike."""
    found = _AMOUNT.match(text.strip())
    amount = _number(found[1]) if found else None
    return amount * _GIGA[found[2]] if found and amount else None


def _disk_gb(text: str) -> float | None:
    """Read "8 x 3.8 TB NVMe SSD" or "1 x 125 NVMe SSD" as GB; "EBS only" is none at all."""
    if text.strip().lower() == "ebs only":
        return 0.0
    found = _DISKS.match(text.strip())
    each = _number(found[2]) if found else None
    if found is None or each is None:
        return None
    unit = 1000.0 if (found[3] or "").upper() == "TB" else 1.0
    return int(found[1] or 1) * each * unit
