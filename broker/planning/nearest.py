"""What to say of a name that nothing answers to: the nearest ones that there are, a few of them."""

from collections.abc import Iterable
from difflib import get_close_matches

from broker.domain.errors import ConfigurationError

MOST = 8
"""Names in a hint: more are not read."""

_CUTOFF = 0.55


def unknown(
    what: str, given: str, known: Iterable[str], *, common: Iterable[str] = (), where: str = ""
) -> ConfigurationError:
    """Make the error that names what is not known and what may have been meant.

    `common` are names to tell where none is near, else the first; `where` tells how to see all.
    """
    names = {name.lower(): name for name in sorted(known)}
    word = given.strip().lower()
    close = get_close_matches(word, names, n=MOST, cutoff=_CUTOFF) if word else []
    longer = [name for name in names if word and name.startswith(word)]
    longer += [name for name in names if word and word in name]
    near = list(dict.fromkeys([*close, *longer]))[:MOST]
    if near:
        hint = f"did you mean one of: {', '.join(names[one] for one in near)}?"
    else:
        hint = _such_as([*dict.fromkeys([*common, *names.values()])], where)
    return ConfigurationError(f"unknown {what} {given!r}", hint=hint)


def _such_as(names: list[str], where: str) -> str:
    if not names:
        return "leave it out: there is none here"
    if len(names) <= MOST:
        return f"there are: {', '.join(names)}"
    return f"there are {len(names)}, such as {', '.join(names[:MOST])}" + (
        f"; all of them: {where}" if where else ""
    )
