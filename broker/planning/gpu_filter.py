"""What a person calls a GPU: every model that the words fit, never a guess."""

import re
from collections.abc import Iterable

from broker.planning.known import Known
from broker.planning.nearest import unknown

_SLICE = re.compile(r"-\d+g\.\d+gb$")
"""How the name of a MIG slice ends."""


def matching_gpus(wanted: str, known: Known, *, common: Iterable[str] = ()) -> frozenset[str]:
    """Find the models whose name starts with the words: "h100", "A100 80GB", "rtx 4090".

    A word counts in whole, so that "H20" is no H200; slices of a GPU are meant only where the words
    name one. `common` are models to tell of where the words
    are near none.

    Raises:
        ConfigurationError: no model is called so; the hint has the nearest names.
    """
    key = "".join(_words(wanted))
    found = {name for name in known.gpus if key and key in _openings(name)}
    if found:
        return frozenset(name for name in found if not _SLICE.search(name)) or frozenset(found)
    resolved = known.resolve_gpu(wanted)
    if isinstance(resolved, str):
        return frozenset({resolved})
    raise unknown("GPU", wanted, known.gpus, common=common, where="gpubroker status")


def _openings(name: str) -> frozenset[str]:
    words = _words(name)
    return frozenset("".join(words[:count]) for count in range(1, len(words) + 1))


def _words(name: str) -> list[str]:
    """Split a name; 80GB and 80 are one word, as are SXM and SXM5."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return [re.sub(r"^(\d+)g(?:i?b)?$", r"\1", re.sub(r"^sxm\d$", "sxm", word)) for word in words]
