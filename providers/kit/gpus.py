"""The GPU of a row that names it in several ways, none of them always right."""

from collections.abc import Iterable
from fractions import Fraction

from broker.specs.load import NodeFacts, Specs, Unresolved


def gpu_of(
    specs: Specs,
    spellings: Iterable[str],
    *,
    known: NodeFacts | None = None,
    gpu_count: Fraction | None = None,
    memory_gib: float | None = None,
    provider: str = "",
) -> str | Unresolved:
    """Give the GPU of a known type that the row does not deny, else of the first readable spelling.

    A row denies a known type by another count, by a memory that its GPU has not, and by names of
    which none can mean its GPU. `memory_gib` is of one GPU, as the row states it.
    """
    failure = Unresolved("unknown_gpu", "no GPU is named")
    if known is not None and gpu_count is not None and known.gpu_count != gpu_count:
        detail = f"{gpu_count} GPUs stated, the type is known to have {known.gpu_count}"
        return Unresolved("contradicts_known_type", detail)
    for spelling in spellings:
        found = specs.resolve_gpu(spelling, memory_gib=memory_gib, provider=provider)
        if known is None and not isinstance(found, Unresolved):
            return found
        if known is not None and _may_mean(found, known.gpu):
            return known.gpu
        failure = _denial(found, spelling, known)
    return failure


def _may_mean(found: str | Unresolved, gpu: str) -> bool:
    return gpu in found.may_be if isinstance(found, Unresolved) else found == gpu


def _denial(found: str | Unresolved, spelling: str, known: NodeFacts | None) -> Unresolved:
    if isinstance(found, Unresolved) and not (known and found.may_be):
        return found
    detail = f"{spelling!r} stated, the type is known to have {known.gpu if known else found}"
    return Unresolved("contradicts_known_type", detail)
