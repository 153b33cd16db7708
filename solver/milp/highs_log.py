"""What HiGHS says while it searches: its table of bounds, and the file of its better solutions."""

import re
from pathlib import Path

import numpy as np

from solver.milp.sets import Floats

_BOUNDS = re.compile(r"^ ?\w?\s+\d+\s+\d+\s+\d+\s+[\d.]+%\s+(\S+)\s+(\S+)\s")
_HEAD = "Objective "
_COUNT = "# Columns -"


def bounds_of(line: str) -> tuple[float, float] | None:
    """Read the best bound and the best solution off a row of its table; None for other lines."""
    found = _BOUNDS.match(line)
    if found is None:
        return None
    try:
        bound_usd, best_usd = (float(one) for one in found.groups())
    except ValueError:
        return None
    return max(bound_usd, 0.0), best_usd


def last_solution(path: Path, columns: int) -> Floats | None:
    """Read the last whole solution of the file that it writes while it searches; None for none."""
    if not path.is_file():
        return None
    texts = path.read_text(encoding="ascii").split(_HEAD)[1:]
    for text in reversed(texts):
        _, _, body = text.partition(_COUNT)
        count, *entries = body.split("\n")
        pairs = [one.split() for one in entries if one.strip()]
        if count.strip().isdigit() and len(pairs) == int(count) and text.endswith("\n"):
            values = np.zeros(columns)
            for value, column in pairs:
                values[int(column)] = float(value)
            return values
    return None
