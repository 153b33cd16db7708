"""Bars of a chart in a terminal: whole and partial blocks."""

from decimal import Decimal

_EIGHTHS = " ▏▎▍▌▋▊▉"
_SOLID, _LIGHT = "█", "░"


def bar(part: Decimal, whole: Decimal, most: Decimal, width: int) -> str:
    """Draw a bar for `whole`, solid up to `part`; `most` would take `width` characters.

    The solid end is drawn to an eighth of a character, the light one to a whole one.
    """
    if most <= 0:
        return ""
    eighths = int(min(part, whole) / most * width * 8 + Decimal("0.5"))
    full, rest = divmod(eighths, 8)
    solid = _SOLID * full + (_EIGHTHS[rest] if rest else "")
    length = int(whole / most * width + Decimal("0.5"))
    return solid + _LIGHT * max(0, length - len(solid))
