"""Keys of offers as people write them: whole, or a machine without its price kind, or misspelt."""

from collections.abc import Collection
from difflib import get_close_matches

from broker.domain.errors import ConfigurationError

_NEAREST = 3
_CUTOFF = 0.5


def find_key(given: str, known: Collection[str], *, what: str = "offer") -> str:
    """Find the key that is meant: the same in any case, or the only one of a machine.

    `what` says of which sort the known keys are.

    Raises:
        ConfigurationError: there is none, with the nearest ones, or there are several.
    """
    if given in known:
        return given
    wanted = given.strip().lower()
    same = [key for key in known if key.lower() == wanted]
    of_machine = sorted(key for key in known if key.lower().startswith(f"{wanted}@"))
    if len(same or of_machine) == 1:
        return (same or of_machine)[0]
    if of_machine:
        raise ConfigurationError(
            f"{given!r} is sold in {len(of_machine)} ways", hint=f"name one: {_some(of_machine)}"
        )
    nearest = _nearest(wanted, known)
    raise ConfigurationError(
        f"unknown {what} {given!r}",
        hint=f"did you mean one of: {_some(nearest)}?"
        if nearest
        else "a key is PROVIDER/TYPE/REGION@KIND, as gpubroker offers --format json shows it",
    )


def _nearest(wanted: str, known: Collection[str]) -> list[str]:
    """List the keys that hold the text, then those most like it, of its provider if it has any."""
    lowered = {key.lower(): key for key in sorted(known)}
    provider = f"{wanted.partition('/')[0]}/"
    among = [key for key in lowered if key.startswith(provider)] or list(lowered)
    holding = [key for key in among if wanted and wanted in key]
    close = get_close_matches(wanted, among, _NEAREST, _CUTOFF)
    return [lowered[key] for key in dict.fromkeys((*holding[:_NEAREST], *close))][:_NEAREST]


def _some(keys: Collection[str]) -> str:
    shown = list(keys)[:_NEAREST]
    more = len(keys) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
