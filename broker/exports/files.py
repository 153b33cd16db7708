"""What an export is: named texts, made from a plan alone."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_LONGEST_WORDS = 46
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file of an export; `name` is relative, without folders above it."""

    name: str
    text: str


Executed = Mapping[str, str]
"""Lines of a plan that were executed already, by id, and what is known of it: by whom, when."""

NOTHING_EXECUTED: Executed = MappingProxyType({})


def line_label(line_id: str) -> str:
    """Name a plan's line where only letters, digits and dashes may stand, 55 at most.

    The same line has the same label in every plan and export: words to read, and the start of a
    hash that keeps two lines apart.
    """
    words = _NOT_A_WORD.sub("-", line_id.lower()).strip("-")[:_LONGEST_WORDS].strip("-")
    digits = hashlib.sha256(line_id.encode()).hexdigest()[:_DIGITS]
    return f"{words or 'line'}-{digits}"
