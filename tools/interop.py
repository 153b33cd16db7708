"""The interop check: the packages that our exports are for read them, and refuse broken ones.

    make interop                                  # every check
    make interop CHECKS="skypilot dstack"         # some of them

A check is a module `tools/interop_NAME.py` with a function `check(kit) -> str`: it does its work
through the kit, raises RefusedError where something does not fit, and says in a line what it found.
The packages stay out of our own environment: each has one in `.venv/interop/NAME`, made from the
pins in `tools/interop/NAME.txt`, which `make lock` resolves from `NAME.in`.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from interop_plans import sample_plans

from broker.domain.plan import Plan
from broker.exports.forms import export

_ROOT = Path(__file__).parents[1]
_PINS = Path(__file__).parent / "interop"
_ENVIRONMENTS = _ROOT / ".venv" / "interop"
_NOT_CHECKS = frozenset({"plans"})


class RefusedError(Exception):
    """A package and an export do not fit; the message says where."""


class Kit:
    """What a check works with: environments, exported files, and programs run in both."""

    def __init__(self, folder: Path, beside: ThreadPoolExecutor) -> None:
        """Keep files in a folder; make environments beside what else is done."""
        self._folder = folder
        self._beside = beside
        self._pythons: dict[str, Future[Path]] = {}
        self.plans: Mapping[str, Plan] = sample_plans()

    def prepare(self, names: Sequence[str]) -> None:
        """Begin to make the environments that have pins, beside each other."""
        for name in names:
            if _pins(name).exists():
                self._pythons[name] = self._beside.submit(_made, name)

    def python(self, name: str) -> Path:
        """Give the interpreter of an environment, once it is made."""
        if name not in self._pythons:
            self.prepare([name])
        return self._pythons[name].result()

    def exported(self, form: str) -> Path:
        """Export every sample plan; give the folder with a folder for each plan."""
        folder = self._folder / form
        for name, plan in self.plans.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for file in export(plan, form):
                (folder / name / file.name).write_text(file.text, encoding="utf-8")
        return folder

    def run(self, name: str, *arguments: str) -> str:
        """Run a script of `tools/interop` in an environment, with a home of its own.

        Raises:
            RefusedError: it says that something does not fit.
        """
        home = self._folder / f"home-{name}"
        home.mkdir(exist_ok=True)
        script, *rest = arguments
        command = [str(self.python(name)), str(_PINS / script), *rest]
        own = {"HOME": str(home), "PATH": os.defpath}
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)  # noqa: S603 - our own script
        if done.returncode:
            raise RefusedError(f"{done.stdout}{done.stderr}".strip())
        return done.stdout.strip().splitlines()[-1]


def main(asked: Sequence[str]) -> int:
    """Run the checks that are asked for, or all; the exit code says whether all passed."""
    known = sorted(path.stem.removeprefix("interop_") for path in _PINS.parent.glob("interop_*.py"))
    names = list(asked) or [name for name in known if name not in _NOT_CHECKS]
    failed = 0
    with TemporaryDirectory() as folder, ThreadPoolExecutor() as beside:
        kit = Kit(Path(folder), beside)
        kit.prepare(names)
        results = [(name, beside.submit(_passed, name, kit)) for name in names]
        for name, result in results:
            try:
                print(f"{name}: {result.result()}", flush=True)
            except RefusedError as problem:
                failed += 1
                print(f"{name} failed: {problem}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def _passed(name: str, kit: Kit) -> str:
    check: Callable[[Kit], str] = import_module(f"interop_{name}").check
    start = time.perf_counter()
    return f"{check(kit)} ({time.perf_counter() - start:.0f} s)"


def _pins(name: str) -> Path:
    return _PINS / f"{name}.txt"


def _made(name: str) -> Path:
    """Make an environment where there is none of the same pins; give its interpreter."""
    folder = _ENVIRONMENTS / name
    digest = hashlib.sha256(_pins(name).read_bytes()).hexdigest()
    mark, python = folder / ".pins", folder / "bin" / "python"
    if mark.exists() and mark.read_text(encoding="utf-8") == digest:
        return python
    print(f"making an environment for {name} ...", file=sys.stderr, flush=True)
    _quietly(sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder))
    pip = (sys.executable, "-m", "pip", "--python", str(python))
    options = ("-qq", "--disable-pip-version-check", "--no-compile", "--require-hashes")
    _quietly(*pip, "install", *options, "-r", str(_pins(name)))
    mark.write_text(digest, encoding="utf-8")
    return python


def _quietly(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        raise RefusedError(f"{' '.join(command)}: {done.stderr.strip()}")


if __name__ == "__main__":
    # By its name, so that a check that imports the kit has this module and not a second one.
    raise SystemExit(import_module("interop").main(sys.argv[1:]))
