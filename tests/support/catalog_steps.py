"""What can happen to a catalog, as steps that hypothesis makes up, and how each is played."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import strategies as st
from price_lists import GATES, a_reading, an_offer
from sqlalchemy import event

from broker.catalog.exchange import read_catalog, write_catalog
from broker.catalog.gates import Reason
from broker.catalog.runs import RunOutcome
from broker.catalog.state import CatalogState
from broker.catalog.store import Catalog
from broker.domain.errors import ProviderError
from broker.domain.missing import Missing
from broker.domain.offer import Offer, PriceKind

REGIONS = {"a": "here", "b": "here", "c": "there", "d": "there", "e": "here"}
"""The machines, and where they are; `e` is spot beside `a` and may be no cheaper."""


@dataclass(frozen=True)
class Listed:
    """A provider lists machines at prices; of one region, if any, nothing could be read."""

    minutes: int
    provider: str
    prices: dict[str, Decimal]
    missing: str | None = None


@dataclass(frozen=True)
class Failed:
    """A provider does not answer."""

    minutes: int
    provider: str


@dataclass(frozen=True)
class Crashed:
    """A refresh breaks off inside its transaction, before its last statement that writes."""

    minutes: int
    provider: str
    prices: dict[str, Decimal]
    at_statement: int


@dataclass(frozen=True)
class Let:
    """A person releases what is held."""

    minutes: int


@dataclass(frozen=True)
class Imported:
    """A file comes in with what the catalog said some states ago, seen again just now or not."""

    minutes: int
    states_ago: int
    seen_now: bool


Step = Listed | Failed | Crashed | Let | Imported

_PRICES = st.dictionaries(
    st.sampled_from(sorted(REGIONS)),
    st.sampled_from([Decimal(text) for text in ("1.00", "1.20", "0.001", "3.00")]),
    min_size=2,
    max_size=5,
)


def steps(*, least_minutes: int, providers: int = 2) -> st.SearchStrategy[Step]:
    """Make up steps, each so many minutes after the last one at least; below 0 is back in time."""
    minutes = st.integers(least_minutes, 120)
    provider = st.sampled_from(["acme", "zenith"][:providers])
    listed = st.builds(
        Listed,
        minutes=minutes,
        provider=provider,
        prices=_PRICES,
        missing=st.none() | st.sampled_from(["here", "there"]),
    )
    return st.one_of(
        listed,
        listed,
        st.builds(Failed, minutes=minutes, provider=provider),
        st.builds(
            Crashed,
            minutes=minutes,
            provider=provider,
            prices=_PRICES,
            at_statement=st.integers(1, 6),
        ),
        st.builds(Let, minutes=minutes),
        st.builds(Imported, minutes=minutes, states_ago=st.integers(0, 4), seen_now=st.booleans()),
    )


def play(
    catalog: Catalog, step: Step, now: datetime, said: Sequence[CatalogState]
) -> tuple[RunOutcome, ...]:
    """Let a step happen; `said` are the catalog's states up to here, the newest last."""
    match step:
        case Listed():
            missing = (Missing(step.provider, region=step.missing),) if step.missing else ()
            reading = a_reading(*listed(step, now), provider=step.provider)
            return (catalog.replace(replace(reading, missing=missing), GATES, now=now),)
        case Failed():
            error = ProviderError("no answer", hint="try again")
            return (catalog.keep(a_reading(provider=step.provider), error, now=now),)
        case Crashed():
            reading = a_reading(*listed(step, now), provider=step.provider)
            with power_cut(catalog, step.at_statement), pytest.raises(PowerCutError):
                catalog.replace(reading, GATES, now=now)
            return ()
        case Let():
            held = {one.held.offer.key for one in catalog.held() if _can_be_released(one.held)}
            if held:
                catalog.release(sorted(held), by="ann", note="seen", now=now)
            return ()
        case Imported():
            return _import(catalog, step, now, said)


class PowerCutError(Exception):
    """The end of a process in the middle of its work."""


@contextmanager
def power_cut(catalog: Catalog, at_statement: int) -> Iterator[None]:
    """Break off at the so-manyth statement that writes, at the latest at the run's own record."""
    written = 0

    def cut(*arguments: object) -> None:
        nonlocal written
        statement = str(arguments[2])
        written += statement.startswith(("INSERT", "UPDATE"))
        if written >= at_statement or statement.startswith("INSERT INTO refresh_run"):
            raise PowerCutError

    event.listen(catalog._engine, "before_cursor_execute", cut)
    try:
        yield
    finally:
        event.remove(catalog._engine, "before_cursor_execute", cut)


def listed(step: Listed | Crashed, now: datetime) -> list[Offer]:
    """Make the offers that a provider lists in a step."""
    return [
        an_offer(
            str(usd),
            name="a" if name == "e" else name,
            provider=step.provider,
            region=REGIONS[name],
            seen_at=now,
            kind=PriceKind.SPOT if name == "e" else PriceKind.ON_DEMAND,
        )
        for name, usd in step.prices.items()
    ]


def _can_be_released(held: object) -> bool:
    return getattr(held, "reason", None) is not Reason.DUPLICATE_KEY


def _import(
    catalog: Catalog, step: Imported, now: datetime, said: Sequence[CatalogState]
) -> tuple[RunOutcome, ...]:
    if not said:
        return ()
    given = said[max(0, len(said) - 1 - step.states_ago)]
    if step.seen_now:
        given = replace(given, offers=tuple(_seen(offer, now) for offer in given.offers))
    return catalog.bring_in(read_catalog(write_catalog(given), "file"), now=now)


def _seen(offer: Offer, at: datetime) -> Offer:
    seen = offer.provenance.model_copy(update={"observed_at": at})
    return offer.model_copy(update={"provenance": seen})
