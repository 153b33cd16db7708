"""Text that may stand in a cell of a spreadsheet."""

import re

_FORMULA = re.compile(r"(^|[;,|\t\n\"])(\s*)([=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet sees a formula, also one that splits cells at other signs than commas.

The last four are the full-width forms of the others, which some read as the same.
"""


def inert(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula.

    Names come from outside: a provider may call a machine `=HYPERLINK(...)`. A lone carriage
    return becomes a line feed, as the writer of CSV would not quote it.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _FORMULA.sub(r"\1\2'\3", lines)
