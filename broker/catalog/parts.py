"""The parts that a run could not read, as the text of one column."""

import json
from collections import defaultdict
from collections.abc import Iterable

from pydantic import TypeAdapter

from broker.domain.missing import Missing
from broker.domain.offer import PriceKind

_PARTS = TypeAdapter(tuple[tuple[str | None, tuple[PriceKind, ...]], ...])


def parts_text(missing: Iterable[Missing]) -> str:
    """Write parts in one way, so that equal parts are equal texts; empty where none is missing.

    Why they are missing is not in it: it stands in the error of the run.
    """
    parts = {(one.region, tuple(sorted(one.price_kinds))) for one in missing}
    ordered = sorted(parts, key=lambda part: (part[0] or "", part[1]))
    return json.dumps(ordered, separators=(",", ":")) if ordered else ""


def parts_from(provider: str, text: str) -> tuple[Missing, ...]:
    """Read what `parts_text` wrote."""
    if not text:
        return ()
    return tuple(Missing(provider, *part) for part in _PARTS.validate_json(text))


def told_missing(missing: Iterable[Missing]) -> str:
    """Say for a person which parts could not be read, and why; parts of one cause together."""
    by_cause: defaultdict[str, list[str]] = defaultdict(list)
    for one in missing:
        by_cause[one.why].append(one.part)
    return "; ".join(
        f"{', '.join(parts)} could not be read{f': {why}' if why else ''}"
        for why, parts in by_cause.items()
    )
