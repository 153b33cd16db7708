"""The door of `validate_sizing.py training`."""

from pathlib import Path

from judging import Verdict
from training_judge import verdicts
from training_rows import read_rows

from broker.specs.load import Specs


def judge(path: Path, specs: Specs) -> list[Verdict]:
    """Judge every row of a file of training speeds."""
    return verdicts(list(read_rows(path, specs)))
