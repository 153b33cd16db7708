"""Print the part of requirements.lock that runs the product: pins and hashes, no tools of ours.

    python3 tools/runtime_requirements.py > runtime.txt
    python3 -m pip install --require-hashes -r runtime.txt

The lock notes below each pin what asked for it; this follows those notes from the project down.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"
_PROJECT = "gpubroker (pyproject.toml)"
_PIN = re.compile(r"^(?P<name>[a-z0-9._-]+)==")
_ASKED_BY = re.compile(r"^ +#( via)? +(?P<who>(?!via$)\S.*)$")


def runtime_pins(lock: str) -> list[str]:
    """Keep the pins that the project asks for, and all that those ask for, in their order.

    A package may stand there twice, for two versions of Python; both stay.
    """
    blocks = list(_blocks(lock))
    asked_by: dict[str, set[str]] = {}
    for block in blocks:
        asked_by.setdefault(_name(block), set()).update(_askers(block))
    return [block for block in blocks if _is_needed(_name(block), asked_by, frozenset())]


def _blocks(lock: str) -> Iterator[str]:
    """Part the lock into pins, each with the hashes and notes below it."""
    lines: list[str] = []
    for line in lock.splitlines():
        if _PIN.match(line) and lines:
            yield "\n".join(lines)
            lines = []
        lines.append(line)
    yield "\n".join(lines)


def _name(block: str) -> str:
    found = _PIN.match(block)
    if found is None:
        raise SystemExit(f"no pin: {block.splitlines()[0]!r}")
    return found["name"]


def _askers(block: str) -> set[str]:
    matches = (_ASKED_BY.match(line) for line in block.splitlines())
    return {match["who"] for match in matches if match}


def _is_needed(name: str, asked_by: Mapping[str, set[str]], seen: frozenset[str]) -> bool:
    askers = asked_by.get(name, set())
    return _PROJECT in askers or any(
        _is_needed(who, asked_by, seen | {name}) for who in askers if who not in seen
    )


if __name__ == "__main__":
    print("\n".join(runtime_pins(LOCK.read_text(encoding="utf-8"))))
