"""Which format a file of measurements has, and what it says."""

import csv
import json
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.planning.measured.bench_json import is_bench, objects, read_bench
from broker.planning.measured.guidellm import is_guidellm, read_guidellm
from broker.planning.measured.perf_csv import is_perf, read_perf
from broker.planning.measured.plain import is_plain, read_plain
from broker.planning.measured.raw import RawFile, unreadable


def read_file(path: Path) -> RawFile:
    """Read a file of measurements in any of the formats that are known.

    Raises:
        ConfigurationError: it cannot be read, or has none of them; the message names the line or
            the field.
    """
    return read_text(text_of(path), str(path))


def text_of(path: Path) -> str:
    """Read the text of a file.

    Raises:
        ConfigurationError: it cannot be read, or is no text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as cause:
        raise ConfigurationError(
            f"cannot read {str(path)!r}: {cause.strerror}", hint="check the path"
        ) from cause
    except UnicodeDecodeError as cause:
        raise ConfigurationError(f"{str(path)!r} is not UTF-8 text", hint="save it so") from cause


def read_text(text: str, name: str) -> RawFile:
    """Read the text of a file; `name` stands in the messages.

    Raises:
        ConfigurationError: it has no format that is known.
    """
    try:
        if is_perf(text):
            return read_perf(text, name)
        if is_plain(text):
            return read_plain(text, name)
    except csv.Error as cause:
        raise unreadable(name, f"this is no CSV ({cause})") from cause
    if not text.lstrip().startswith(("{", "[")):
        raise unreadable(name, "neither JSON nor a CSV of measurements")
    first = next(objects(text, name), None)
    if is_guidellm(first):
        return read_guidellm(first, name)
    if is_bench(first):
        return read_bench(text, name)
    keys = sorted(first)[:5] if isinstance(first, dict) else []
    raise unreadable(name, f"JSON of an unknown kind, with the keys {json.dumps(keys)}")
