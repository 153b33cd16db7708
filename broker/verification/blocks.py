"""Capacity blocks: booked in a window that is sold and allowed, and used only in it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from broker.domain.offer import Payment
from broker.domain.plan import BookedBlock
from broker.domain.quantities import HOURS_PER_MONTH
from broker.verification.facts import Bought, Facts, Finding

_DAY = timedelta(days=1)


def block_window(facts: Facts) -> Iterator[Finding]:
    """Book a block from a start and for a length that its offer sells, within the policy.

    The start is the offer's; where the buyer chooses, it is whole days after the horizon's start,
    and no later than may be booked ahead of the price's date. It lies in the horizon. Nothing but
    a block has a window.
    """
    for one in facts.bought:
        window = one.purchase.block
        if not one.is_block:
            if window is not None:
                yield Finding(one.purchase.id, f"has a block window of {window.length_h} h; none")
        elif window is None or one.offer.block is None:
            yield Finding(one.purchase.id, "is a capacity block without a window; one is right")
        else:
            for problem in (*_start(facts, one, window), *_length(facts, one, window)):
                yield Finding(one.purchase.id, problem)


def block_span(facts: Facts) -> Iterator[Finding]:
    """Keep a block's nodes, one constant count, in all slots of the horizon in its window."""
    timeline = facts.timeline
    for one in facts.bought:
        window = one.purchase.block
        if not one.is_block or window is None:
            continue
        ahead = window.starts_at - timeline.start_at
        first = min(timeline.count, max(0, -(-ahead // timeline.slot)))
        ended = (block_end(window) - timeline.start_at) // timeline.slot
        after = max(0, min(timeline.count, ended))
        start_at = timeline.start_at
        right = (start_at + first * timeline.slot, start_at + after * timeline.slot)
        spans = [(step.from_at, step.to_at) for step in one.purchase.steps]
        if spans != [right]:
            found = ", ".join(_span(*span) for span in spans)
            message = f"is kept {found}; the one step {_span(*right)} is right"
            yield Finding(one.purchase.id, message)


def block_end(window: BookedBlock) -> datetime:
    """Give the end of a block; of an absurd length, the last instant that there is."""
    try:
        return window.starts_at + timedelta(hours=window.length_h)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def _start(facts: Facts, one: Bought, window: BookedBlock) -> Iterator[str]:
    block, timeline = one.offer.block, facts.timeline
    at = window.starts_at
    if not timeline.start_at <= at < timeline.end_at:
        yield f"starts at {at:%Y-%m-%d %H:%M}, which is not in the horizon"
    if block is None:
        return
    if block.starts_at is None and (at - timeline.start_at) % _DAY:
        yield f"starts at {at:%Y-%m-%d %H:%M}; whole days after the horizon's start are right"
    if block.starts_at is not None and block.starts_at != at:
        yield f"starts at {at:%Y-%m-%d %H:%M}; {block.starts_at:%Y-%m-%d %H:%M} is sold"
    if block.book_ahead_days is not None:
        last_at = one.offer.provenance.observed_at + block.book_ahead_days * _DAY
        if at > last_at:
            until = f"{last_at:%Y-%m-%d %H:%M} is the last that can be booked"
            yield f"starts at {at:%Y-%m-%d %H:%M}; {until}"


def _length(facts: Facts, one: Bought, window: BookedBlock) -> Iterator[str]:
    policy = facts.case.workloads.policy.commitments
    lengths = one.offer.block.lengths_h if one.offer.block else ()
    if window.length_h not in lengths:
        yield f"is {window.length_h} h long; {', '.join(map(str, lengths))} are sold"
    if not policy.capacity_blocks:
        yield "is a capacity block; the policy books none"
    if Payment.ALL_UPFRONT not in policy.payments:
        yield "is paid all upfront, which the policy does not accept"
    if window.length_h > policy.max_term_months * HOURS_PER_MONTH:
        yield f"is {window.length_h} h long; at most {policy.max_term_months} months are allowed"


def _span(from_at: datetime, to_at: datetime) -> str:
    return f"{from_at:%Y-%m-%d %H:%M} to {to_at:%Y-%m-%d %H:%M}"
