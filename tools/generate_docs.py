"""Write the generated docs anew, or with --check say which are out of step.

    python tools/generate_docs.py                      # all but the output of make test
    python tools/generate_docs.py --check              # change nothing, exit with 1 on a difference
    make test 2>&1 | tee test.log                      # and then, for the README:
    python tools/generate_docs.py --test-log test.log

Whole files are docs/program.md and docs/workloads-file.md. In README.md only what stands between
`<!-- NAME: begin -->` and `<!-- NAME: end -->` is written; on the pages that show commands, what
those print. No difference is a bound, or when a run has its nodes: `docs_readme.on_any_machine`.
"""

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import docs_console
import docs_program
import docs_readme
import docs_workloads

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES: Mapping[str, Callable[[], str]] = {
    "docs/program.md": docs_program.program_page,
    "docs/workloads-file.md": docs_workloads.workloads_page,
    **{name: partial(docs_console.console_page, name) for name in docs_console.PAGES},
}
BLOCKS: Mapping[str, Callable[[], str]] = {
    "plan": docs_readme.plan_block,
    "commands": docs_readme.commands_block,
    "providers": docs_readme.providers_block,
}


def main() -> int:
    """Write or check; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="change nothing, report differences")
    parser.add_argument("--only", choices=[*PAGES, *BLOCKS], help="this page or block alone")
    parser.add_argument("--test-log", type=Path, help="what make test printed, for the README")
    options = parser.parse_args()
    wanted = _wanted(options.only, options.test_log)
    alike = docs_readme.on_any_machine if options.check else str
    different = [path for path, text in wanted.items() if alike(_read(path)) != alike(text)]
    for path in different:
        if options.check:
            print(_difference(path, wanted[path]))
        else:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    if options.check and different:
        print("the docs are out of step; write them anew with: make docs")
    return int(options.check and bool(different))


def _wanted(only: str | None, test_log: Path | None) -> dict[Path, str]:
    pages = {ROOT / name: write() for name, write in PAGES.items() if only in (None, name)}
    text = _read(README)
    for name, write in BLOCKS.items():
        if only in (None, name):
            text = _with_block(text, name, write())
    if test_log is not None:
        log = test_log.read_text(encoding="utf-8")
        text = _with_block(text, "test", docs_readme.test_block(log))
    return {**pages, README: text}


def _with_block(text: str, name: str, block: str) -> str:
    """Put a block between its marks.

    Raises:
        SystemExit: a mark is missing.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found_begin, rest = text.partition(begin)
    _, found_end, tail = rest.partition(end)
    if not (found_begin and found_end):
        raise SystemExit(f"README.md lacks {begin} or {end}")
    return f"{head}{begin}\n{block}\n{end}{tail}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _difference(path: Path, wanted: str) -> str:
    lines = difflib.unified_diff(
        _read(path).splitlines(),
        wanted.splitlines(),
        fromfile=str(path.relative_to(ROOT)),
        tofile="generated",
        lineterm="",
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
