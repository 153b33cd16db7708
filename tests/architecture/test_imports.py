import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

IMPORT_ALL = """
import importlib, os, pkgutil, sys

root = os.getcwd() + os.sep
code = (".py", ".pyc", ".so", ".pyd")

def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"an import uses a socket: {event} {arguments}")
    if event in ("subprocess.Popen", "os.system", "sqlite3.connect", "os.mkdir", "os.remove"):
        raise RuntimeError(f"an import does {event} {arguments}")
    if event == "open":
        path, mode, _ = arguments
        if isinstance(mode, str) and set(mode) & set("wax+"):
            raise RuntimeError(f"an import writes {path!r}")
        inside = isinstance(path, str) and os.path.abspath(path).startswith(root)
        if inside and ".venv" not in path and not path.endswith(code):
            raise RuntimeError(f"an import reads {path!r}")

sys.path.insert(0, root)
sys.addaudithook(refuse)
for package in ("broker", "providers", "solver", "cli"):
    found = importlib.import_module(package)
    for module in pkgutil.walk_packages(found.__path__, package + "."):
        importlib.import_module(module.name)
        print(module.name)
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - the code is that of this file
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )


def test_imports_keep_every_contract() -> None:
    code = "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())"
    ended = python("-c", code, "--no-cache", "--no-logo")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Contracts: 5 kept, 0 broken." in ended.stdout


def test_every_module_is_importable_without_touching_the_world() -> None:
    ended = python("-W", "error", "-c", IMPORT_ALL)
    assert ended.returncode == 0, ended.stderr
    assert {"cli.app", "broker.planning.service", "solver.milp.optimize"} <= set(
        ended.stdout.split()
    )


def test_the_guard_of_the_imports_notices_what_it_looks_for() -> None:
    for act in ("open('README.md')", "open('new.txt', 'w')", "import socket; socket.socket()"):
        ended = python("-c", IMPORT_ALL.partition("for package")[0] + act)
        assert "an import" in ended.stderr, act
        assert ended.returncode == 1, act
