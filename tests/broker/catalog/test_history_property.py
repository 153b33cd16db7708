from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from price_lists import GATES, NOON, a_reading, an_offer

from broker.catalog.store import Catalog, CatalogState, open_catalog
from broker.domain.errors import ProviderError
from broker.domain.offer import PriceKind


@dataclass(frozen=True)
class Step:
    """One refresh: so many minutes after the last one (the clock may go back), what was listed."""

    minutes: int
    provider: str
    listed: dict[str, Decimal] | None
    """Prices by machine; None is a failure."""


_PRICES = st.sampled_from([Decimal(text) for text in ("0.001", "1.00", "1.20", "3.00", "3.10")])
_STEPS = st.builds(
    Step,
    minutes=st.integers(-30, 120),
    provider=st.sampled_from(["acme", "zenith"]),
    listed=st.none() | st.dictionaries(st.sampled_from("abcde"), _PRICES, max_size=5),
)


def play(catalog: Catalog, step: Step, now: datetime) -> None:
    if step.listed is None:
        error = ProviderError("no answer", hint="try again")
        catalog.keep(a_reading(provider=step.provider), error, now=now)
        return
    offers = [
        an_offer(
            str(usd),
            name=name,
            provider=step.provider,
            seen_at=now,
            kind=PriceKind.SPOT if name == "e" else PriceKind.ON_DEMAND,
        )
        for name, usd in step.listed.items()
    ]
    catalog.replace(a_reading(*offers, provider=step.provider), GATES, now=now)


@settings(max_examples=15, deadline=None)
@given(steps=st.lists(_STEPS, min_size=2, max_size=8))
def test_what_the_catalog_said_at_a_past_instant_never_changes(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        catalog = open_catalog(Path(folder) / "catalog.sqlite3")
        now = NOON
        said: list[CatalogState] = []
        for step in steps:
            now += timedelta(minutes=step.minutes)
            play(catalog, step, now)
            state = catalog.state()
            assert state is not None
            said.append(state)
            for past in said:
                assert catalog.state(past.at) == past
        instants = [state.at for state in said]
        assert instants == sorted(set(instants))


@settings(max_examples=15, deadline=None)
@given(steps=st.lists(_STEPS, min_size=1, max_size=6))
def test_no_offer_stands_that_is_held_and_none_stands_twice(steps: list[Step]) -> None:
    with TemporaryDirectory() as folder:
        catalog = open_catalog(Path(folder) / "catalog.sqlite3")
        now = NOON
        for step in steps:
            now += timedelta(minutes=step.minutes)
            play(catalog, step, now)
        state = catalog.state()
        assert state is not None
        keys = [offer.key for offer in state.offers]
        assert keys == sorted(set(keys))
        assert not {one.offer.key for one in state.quarantined} & set(keys)
