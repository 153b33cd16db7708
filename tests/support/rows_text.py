"""The rows of a family as text that a person can read."""

import re
from textwrap import TextWrapper

from solver.milp.dump import lines
from solver.milp.program import Program

_FOLD = TextWrapper(width=92, subsequent_indent="    ", break_long_words=False)


def rows_text(program: Program, family: str) -> str:
    """Write the rows; fold long ones, and keep each coefficient with its column."""
    tied = [re.sub(r"([+-][0-9.]+) ", "\\1\u00a0", row) for row in lines(program, family)]
    return "\n".join(_FOLD.fill(row) for row in tied).replace("\u00a0", " ") + "\n"
