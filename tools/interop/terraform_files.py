"""Parse exported Terraform files; run in an environment that has python-hcl2.

    python terraform_files.py FOLDER TABLE

Each resource type and attribute that the parser finds must be a row of the table of documented
ones. Whether a provider takes the values is for `terraform validate`, which downloads providers.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2

_MARK = "__is_block__"


def main(folder: Path, table: Path) -> int:
    """Check all files, then broken ones; the last line says what was found."""
    with table.open(encoding="utf-8", newline="") as text:
        known = {(row["resource"], row["attribute"]) for row in csv.DictReader(text)}
    files = sorted(folder.glob("*/*.tf"))
    found = Counter(
        one for file in files for one in _attributes(hcl2.loads(file.read_text("utf-8")))
    )
    problems = [
        f"{kind} has {name}, which is not documented" for kind, name in found.keys() - known
    ]
    good = next(file for file in files if file.name != "main.tf").read_text("utf-8")
    problems += [
        f"a file with {name} was parsed" for name, text in _breaks(good).items() if _parses(text)
    ]
    if problems or not found:
        print("\n".join(problems) or f"there is no resource in {folder}")
        return 1
    kinds = {kind for kind, _ in found}
    print(
        f"python-hcl2 parses {len(files)} files; {len(kinds)} resource types with {len(found)} "
        f"attributes are documented, and {len(_breaks(good))} broken files are refused"
    )
    return 0


def _attributes(file: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for resource in file.get("resource", []):
        for kind, named in resource.items():
            for body in named.values():
                yield from ((kind.strip('"'), name) for name in _names(body, ""))


def _names(body: dict[str, Any], path: str) -> Iterator[str]:
    for name, value in body.items():
        if name == _MARK:
            continue
        yield f"{path}{name}"
        blocks = value if isinstance(value, list) else []
        for one in blocks:
            if isinstance(one, dict) and _MARK in one:
                yield from _names(one, f"{path}{name}.")


def _parses(text: str) -> bool:
    try:
        hcl2.loads(text)
    except Exception:  # noqa: BLE001 - a parser of many errors; any of them is a refusal
        return False
    return True


def _breaks(good: str) -> dict[str, str]:
    return {
        "a brace too few": good.rstrip().removesuffix("}"),
        "an attribute without a value": good + "\nx =\n",
        "a quote that does not end": good + '\nx = "open\n',
    }


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2])))
