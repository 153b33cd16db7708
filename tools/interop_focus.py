"""The public FOCUS validator reads every file: see tools/interop/focus_files.py.

Release 1.0.0 has the rules of version 1.0 and runs on Python 3.11; later ones have those of 1.2 and
need Python 3.12. Each is looked for beside ours; a version whose Python is missing is said to be
unchecked, but for 1.0, which must be. Pins are in `tools/interop/focus/VERSION.txt`, resolved from
VERSION.in for the Python of the version.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from interop import Kit, RefusedError

_FOLDER = Path(__file__).parent / "interop"
_ENVIRONMENTS = Path(__file__).parents[1] / ".venv" / "interop"
_PYTHONS = {"1.0": (3, 11), "1.2": (3, 12)}
_FORMS = {"1.0": "focus", "1.2": "focus-1.2"}


def check(kit: Kit) -> str:
    """Validate every file of each version, and see broken files refused."""
    told = []
    for version, wanted in _PYTHONS.items():
        base = _interpreter(wanted)
        if base is not None:
            told.append(_validated(_environment(version, base), version, kit))
        elif version == "1.0":
            raise RefusedError("there is no Python 3.11, which focus-validator 1.0.0 needs")
        else:
            told.append(f"{version} not checked: there is no Python {wanted[0]}.{wanted[1]}")
    return "; ".join(told)


def _validated(python: Path, version: str, kit: Kit) -> str:
    script = str(_FOLDER / "focus_files.py")
    with TemporaryDirectory() as home:
        done = subprocess.run(  # noqa: S603 - our own script
            [str(python), script, version, str(kit.exported(_FORMS[version]))],
            env={"HOME": home, "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RefusedError(f"{done.stdout}{done.stderr}".strip())
    return done.stdout.strip().splitlines()[-1]


def _interpreter(wanted: tuple[int, int]) -> str | None:
    """Find a Python of a version that runs: ours, one on the path, one of pyenv."""
    return next((one for one in _candidates(wanted) if _is_of(one, wanted)), None)


def _candidates(wanted: tuple[int, int]) -> Iterator[str]:
    name = f"{wanted[0]}.{wanted[1]}"
    yield sys.executable
    found = shutil.which(f"python{name}")
    if found:
        yield found
    yield from map(str, (Path.home() / ".pyenv" / "versions").glob(f"{name}.*/bin/python3"))


def _is_of(python: str, wanted: tuple[int, int]) -> bool:
    command = [python, "-c", "import sys; print(tuple(sys.version_info[:2]))"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - an interpreter
    return done.stdout.strip() == str(wanted)


def _environment(version: str, base: str) -> Path:
    """Make an environment of the pins where there is none of the same; give its interpreter."""
    pins, folder = _FOLDER / "focus" / f"{version}.txt", _ENVIRONMENTS / f"focus-{version}"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()
    mark, python = folder / ".pins", folder / "bin" / "python"
    if mark.exists() and mark.read_text(encoding="utf-8") == digest:
        return python
    print(f"making an environment for focus {version} ...", file=sys.stderr, flush=True)
    _quietly(base, "-m", "venv", "--clear", str(folder))
    options = ("-qq", "--disable-pip-version-check", "--require-hashes")
    _quietly(str(python), "-m", "pip", "install", *options, "-r", str(pins))
    mark.write_text(digest, encoding="utf-8")
    return python


def _quietly(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise RefusedError(f"{' '.join(command)}: {done.stderr.strip()}")
