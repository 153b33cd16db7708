"""What to tell a person when a database fails: what happened, and what to do about it."""

from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.store.place import Place, shown, without_secrets

_FOLDER = (
    "check the folder and its free space, wait for a refresh that runs, "
    "or set GPUBROKER_DATA_DIR to another folder"
)
_SERVER = (
    "check that the server runs and lets this user in, and that GPUBROKER_DATABASE names it; "
    "without that variable a file in GPUBROKER_DATA_DIR is used"
)
_HINTS = (
    (
        ("database is locked", "lock timeout"),
        "another gpubroker has been writing for 20 seconds; let it end, then run this again",
    ),
    (
        ("disk is full", "No space left", "could not extend"),
        "free some space, then run this again: what was there before is whole",
    ),
    (
        ("password authentication failed", "no password supplied"),
        "correct user and password in GPUBROKER_DATABASE (in a URL, @ is %40 and / is %2F)",
    ),
    (
        ("permission denied for schema",),
        "let the user make tables: GRANT CREATE, USAGE ON SCHEMA public TO user",
    ),
    (
        ("does not exist",),
        "make it first (CREATE DATABASE name OWNER user), or correct GPUBROKER_DATABASE",
    ),
    (
        ("terminating connection", "closed the connection", "connection is lost", "starting up"),
        "nothing of this step was written; run it again when the server is back",
    ),
)
"""What to do, by words that a driver says."""


def unusable(place: Place, cause: BaseException | None) -> ConfigurationError:
    """Say that a database cannot be used, in the driver's words but for its passwords."""
    said = without_secrets(" ".join(str(cause).split()), place)
    fitting = (hint for words, hint in _HINTS if any(one in said for one in words))
    otherwise = _FOLDER if isinstance(place, Path) else _SERVER
    return ConfigurationError(
        f"the catalog {shown(place)!r} cannot be used: {said}", hint=next(fitting, otherwise)
    )
