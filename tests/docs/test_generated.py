import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Solve
from docs_readme import EXAMPLE, shown_plan

ROOT = Path(__file__).parents[2]


def generate_docs(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own tool
        [sys.executable, "tools/generate_docs.py", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={"PATH": os.defpath, "HOME": "/nowhere", "PYTHONUTF8": "1"},
        check=False,
    )


@pytest.mark.parametrize(
    "part", ["docs/program.md", "docs/workloads-file.md", "commands", "providers"]
)
def test_what_is_generated_is_in_step(part: str) -> None:
    ended = generate_docs("--check", "--only", part)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.long
@pytest.mark.parametrize("page", ["docs/acting-on-a-plan.md"])
def test_the_commands_of_a_page_end_as_it_says(page: str) -> None:
    """What they print of a search that the clock ended differs between machines."""
    code = f"import docs_console; docs_console.console_page({page!r})"
    ended = subprocess.run(  # noqa: S603 - our own tool
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={"PATH": os.defpath, "HOME": "/nowhere", "PYTHONPATH": "tools", "PYTHONUTF8": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.long
def test_the_readme_shows_what_make_plan_prints(readme: str, solve: Solve) -> None:
    ended = solve(Path(EXAMPLE).stem).ended
    assert ended.code == 0, ended.err
    block = readme.partition("<!-- plan: begin -->")[2].partition("<!-- plan: end -->")[0]
    assert block.strip() == shown_plan(ended.out)


def test_a_difference_is_told_and_ends_with_1(tmp_path: Path) -> None:
    log = tmp_path / "test.log"
    told = "1 file already formatted\nAll checks passed!\nSuccess: no issues\n1 kept, 0 broken\n"
    log.write_text(f"{told}..... [100%]\n5 passed in 0.01s\n", encoding="utf-8")
    ended = generate_docs("--check", "--only", "commands", "--test-log", str(log))
    assert ended.returncode == 1
    assert "+5 passed in 0.01s" in ended.stdout
    assert "[100%]" not in ended.stdout
    assert "make docs" in ended.stdout


def test_the_output_of_a_failed_test_run_is_not_taken(tmp_path: Path) -> None:
    log = tmp_path / "test.log"
    log.write_text("340 files already formatted\nAll checks passed!\n", encoding="utf-8")
    ended = generate_docs("--check", "--only", "commands", "--test-log", str(log))
    assert ended.returncode == 1
    assert "no output of a make test that passed" in ended.stderr


def test_the_readme_shows_that_every_check_passed(readme: str) -> None:
    block = readme.partition("<!-- test: begin -->")[2].partition("<!-- test: end -->")[0]
    for told in ("$ make test", "already formatted", "All checks passed!", "no issues found"):
        assert told in block
    assert "5 kept, 0 broken" in block
    assert " passed" in block
    assert "failed" not in block


def test_another_price_or_window_of_a_service_is_a_difference(readme: str) -> None:
    code = "import sys, docs_readme; print(docs_readme.on_any_machine(sys.stdin.read()), end='')"

    def alike(text: str) -> str:
        return subprocess.run(  # noqa: S603 - our own tool
            [sys.executable, "-c", code],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={"PATH": os.defpath, "PYTHONPATH": f"{ROOT}:{ROOT / 'tools'}", "PYTHONUTF8": "1"},
            check=True,
        ).stdout

    shown = alike(readme)
    assert alike(re.sub(r"(?m)^(Bound +)\d+", r"\g<1>9", readme)) == shown
    assert alike(re.sub(r"(?m)^(Total +)\d+", r"\g<1>9", readme)) != shown
    assert alike(readme.replace("12-01 → 12-29 ", "12-01 → 12-28 ", 1)) != shown
