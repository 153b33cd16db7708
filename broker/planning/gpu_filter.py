"""What a person calls a GPU: every model that the words fit, never a guess."""

import re
from difflib import get_close_matches

from broker.domain.errors import ConfigurationError
from broker.specs.load import Specs

_NEAREST = 3


def matching_gpus(wanted: str, specs: Specs) -> frozenset[str]:
    """Find the models whose name starts with the words: "h100", "A100 80GB", "rtx 4090".

    A word counts in whole, so that "H20" is no H200.

    Raises:
        ConfigurationError: no model is called so; the hint has the nearest names.
    """
    key = "".join(_words(wanted))
    found = {name for name in specs.gpus if key and key in _openings(name)}
    resolved = specs.resolve_gpu(wanted)
    if not found and isinstance(resolved, str):
        found = {resolved}
    if found:
        return frozenset(found)
    names = {name.lower(): name for name in specs.gpus}
    near = get_close_matches(wanted.lower(), names, n=_NEAREST, cutoff=0.4)
    raise ConfigurationError(
        f"unknown GPU {wanted!r}",
        hint=f"did you mean one of: {', '.join(names[one] for one in near or sorted(names))}?",
    )


def _openings(name: str) -> frozenset[str]:
    words = _words(name)
    return frozenset("".join(words[:count]) for count in range(1, len(words) + 1))


def _words(name: str) -> list[str]:
    """Split a name; 80GB and 80 are one word, as are SXM and SXM5."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return [re.sub(r"^(\d+)g(?:i?b)?$", r"\1", re.sub(r"^sxm\d$", "sxm", word)) for word in words]
