"""Which columns of a log are which: by the names that servers and traces give them."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from broker.domain.errors import ConfigurationError

_TIMES = (
    "timestamp",
    "time",
    "ts",
    "datetime",
    "date",
    "arrivedat",
    "arrivaltime",
    "arrivaltimestamp",
    "arrival",
    "receivedat",
    "requesttime",
    "requesttimestamp",
    "starttime",
    "startedat",
    "createdat",
    "timestampms",
    "starttimestamp",
)
_INPUTS = (
    "contexttokens",
    "inputtokens",
    "prompttokens",
    "requesttokens",
    "numinputtokens",
    "numprompttokens",
    "numprefilltokens",
    "tokensin",
    "tokensprompt",
    "inputlength",
    "promptlength",
    "inputlen",
    "promptlen",
    "prefilltokens",
    "input",
    "prompt",
)
_OUTPUTS = (
    "generatedtokens",
    "outputtokens",
    "completiontokens",
    "responsetokens",
    "numoutputtokens",
    "numcompletiontokens",
    "numdecodetokens",
    "numgeneratedtokens",
    "tokensout",
    "tokenscompletion",
    "outputlength",
    "completionlength",
    "outputlen",
    "completionlen",
    "decodetokens",
    "generationtokens",
    "output",
    "completion",
)
_DELIMITERS = ",;\t|"
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """What a person says of a log's columns; what is None is found by its name."""

    time: str | None = None
    input: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Positions of the columns of a log, and what separates them."""

    time: int
    input: int
    output: int
    delimiter: str

    @property
    def count(self) -> int:
        """Count the cells that a row must have at least."""
        return max(self.time, self.input, self.output) + 1


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of column: the option that names it, what it holds, and what it is often called."""

    option: str
    what: str
    names: Sequence[str]


def find_columns(header: str, wanted: ColumnNames, source: str) -> Columns:
    """Find the columns in the first line of a log.

    Raises:
        ConfigurationError: one of them is not there.
    """
    delimiter = max(_DELIMITERS, key=header.count)
    names = [name.strip() for name in _cells(header, delimiter, source)]
    return Columns(
        time=_position(names, wanted.time, _Kind("--time", "the instant", _TIMES), source),
        input=_position(names, wanted.input, _Kind("--input", "prompt tokens", _INPUTS), source),
        output=_position(
            names, wanted.output, _Kind("--output", "output tokens", _OUTPUTS), source
        ),
        delimiter=delimiter,
    )


def _cells(header: str, delimiter: str, source: str) -> Sequence[str]:
    try:
        return next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error as cause:
        raise ConfigurationError(
            f"{source}: its first line names no columns ({cause})",
            hint="give a CSV file with a row a request, or what Prometheus answered as JSON",
        ) from cause


def _position(names: Sequence[str], wanted: str | None, kind: _Kind, source: str) -> int:
    shown, option = ", ".join(names[:_SHOWN]) or "none", kind.option
    if wanted is not None:
        found = [at for at, name in enumerate(names) if name.lower() == wanted.strip().lower()]
        if not found:
            raise ConfigurationError(
                f"{source}: {option} {wanted!r} is no column", hint=f"its columns are: {shown}"
            )
        return found[0]
    simple = [re.sub(r"[^a-z]", "", name.lower()) for name in names]
    best = next((name for name in kind.names if name in simple), None)
    if best is None:
        raise ConfigurationError(
            f"{source}: no column is known to hold {kind.what}",
            hint=f"name it with {option} COLUMN; its first line says: {shown}",
        )
    return simple.index(best)
