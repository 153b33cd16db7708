"""Texts without what would steer the terminal: names come from outside. It needs no library."""


def printable(text: str) -> str:
    """Replace what would steer the terminal, line breaks too."""
    return "".join(
        one if one.isprintable() else " " if one.isspace() else "\N{REPLACEMENT CHARACTER}"
        for one in text
    )


def printable_lines(text: str) -> str:
    """Replace what would steer the terminal, but keep the lines."""
    return "\n".join(map(printable, text.split("\n")))
