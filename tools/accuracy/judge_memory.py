"""The door of `validate_sizing.py memory`."""

from pathlib import Path

from judging import Verdict
from memory_judge import verdict
from memory_rows import read_memory_rows

from broker.specs.load import Specs


def judge(path: Path, specs: Specs) -> list[Verdict]:
    """Judge every row of a file of peak training memory."""
    return [verdict(row) for row in read_memory_rows(path, specs)]
