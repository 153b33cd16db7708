"""Stores of tests: a schema each in PostgreSQL, by the URL; and how a process is told one."""

import os
from pathlib import Path

from pydantic import SecretStr

from broker.store.place import Place

_ROOT = Path(__file__).parents[2]
_FILE = "TEST_STORE_FILE"
_URL = "TEST_STORE_URL"


def of_schema(url: str, schema: str) -> str:
    """Write a URL whose connections see one schema alone."""
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{schema}"


def environment_of(place: Place) -> dict[str, str]:
    """Write the environment of a process that runs our code and tests' over a place."""
    told = {_FILE: str(place)} if isinstance(place, Path) else {_URL: place.get_secret_value()}
    folders = (_ROOT, _ROOT / "tests" / "support", _ROOT / "tools")
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))} | told


def told_place() -> Place:
    """Read the place that this process was told."""
    if _URL in os.environ:  # noqa: TID251 - no setting of ours
        return SecretStr(os.environ[_URL])  # noqa: TID251 - the same
    return Path(os.environ[_FILE])  # noqa: TID251 - the same
