"""Pages that show commands with their real output: every console block is run anew.

In a block fenced as `console`, a line that starts with `$ ` is a command; what follows it, up to
the next one, is what it prints on stdout. The commands of a page run one after the other in one
empty folder, with a catalog of their own, at 80 columns, and must end as they did: with 0, or with
the code that a line `[exit code N]` tells.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("docs/acting-on-a-plan.md",)
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_ENDED = re.compile(r"^\[exit code (\d+)\]$", re.MULTILINE)


def console_page(name: str) -> str:
    """Run the commands of a page, and give the page with what they print."""
    text = (ROOT / name).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        return _BLOCK.sub(lambda found: _block(found.group(1), Path(folder)), text)


def _block(text: str, folder: Path) -> str:
    shown = "\n".join(_told(command, before, folder) for command, before in _commands(text))
    return f"```console\n{shown}\n```"


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Split a block into its commands, each with what stood below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        while command.endswith("\\"):
            more, _, printed = printed.partition("\n")
            command = f"{command}\n{more}"
        yield command, printed


def _told(command: str, before: str, folder: Path) -> str:
    expected = _ENDED.search(before)
    ended = subprocess.run(  # noqa: S603 - commands of our own pages
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
            "HOME": str(folder),
            "GPUBROKER_DATA_DIR": str(folder / "catalog"),
            "COLUMNS": "80",
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
        },
        check=False,
    )
    if ended.returncode != int(expected.group(1) if expected else 0):
        raise SystemExit(f"$ {command}\nended with {ended.returncode}:\n{ended.stderr}")
    lines = [f"$ {command}", *(line.rstrip() for line in ended.stdout.splitlines())]
    if ended.returncode:
        lines += [*(line.rstrip() for line in ended.stderr.splitlines() if line.strip())]
        lines.append(f"[exit code {ended.returncode}]")
    return "\n".join(lines)
