"""What all price lists of AWS do with their rows: count those that are no offers, settle rivals.

A type comes in many more rows than one can plan with, so refused rows are counted, by place, type
and reason.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from broker.domain.offer import Offer, Rejection
from broker.domain.quantities import parse_instant
from providers.aws.wire import Problem, rejection

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Count:
    rows: int
    first: str


class Tally:
    """The rows that are no offers, by place, type and reason."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}

    def add(self, region: str, instance_type: str, sku: str, problem: Problem) -> None:
        """Count a row; of equal ones the first is told of."""
        subject = f"{region or 'no region'}/{instance_type}"
        count = self._counts.get((subject, problem.reason))
        if count is None:
            self._counts[subject, problem.reason] = _Count(1, f"{sku}: {problem.detail}")
        else:
            count.rows += 1

    def rejections(self) -> Iterator[Rejection]:
        """Make one rejection of equal rows."""
        for (subject, reason), count in self._counts.items():
            some = "1 row" if count.rows == 1 else f"{count.rows} rows, the first"
            yield rejection(subject, Problem(reason, f"{some}: {count.first}"))


def effective_at(text: str) -> datetime | Problem | None:
    """Read since when a price holds; None where the list does not say."""
    if not text:
        return None
    try:
        instant = parse_instant(text)
    except ValueError:
        instant = None
    if isinstance(instant, datetime):
        return instant
    return Problem("unreadable_date", f"effective date {text!r} is no date")


def settled(offers: Iterable[Offer]) -> Iterator[Offer | Rejection]:
    """Let one offer stand for each key: the newest price, and none where two of a day differ."""
    by_key: dict[str, list[Offer]] = defaultdict(list)
    for offer in offers:
        by_key[offer.key].append(offer)
    for key, rivals in by_key.items():
        newest = max(_since(offer) for offer in rivals)
        latest = [offer for offer in rivals if _since(offer) == newest]
        if _agree(latest):
            yield latest[0]
            reason, others = "superseded_row", len(rivals) - 1
            detail = f"{others} more beside the one in force, {latest[0].quote.amount}"
        else:
            reason, others = "conflicting_rows", len(rivals)
            detail = " and ".join(sorted({str(offer.quote.amount) for offer in latest}))
        if others:
            yield rejection(key, Problem(reason, detail))


def _since(offer: Offer) -> datetime:
    return offer.provenance.effective_at or _NEVER


def _agree(offers: Sequence[Offer]) -> bool:
    return len({(offer.usd_per_hour, offer.commitment) for offer in offers}) == 1
