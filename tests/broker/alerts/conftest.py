from collections.abc import Callable

import pytest
from alert_receivers import NIGHT
from sqlalchemy import Engine

from broker.clock import Clock
from broker.store.database import open_database
from broker.store.place import Place


@pytest.fixture
def engine(place: Place) -> Engine:
    return open_database(place)


@pytest.fixture
def clock() -> Clock:
    return lambda: NIGHT


@pytest.fixture
def pauses() -> list[float]:
    """Collect how long a sink would have waited between its attempts, in seconds."""
    return []


@pytest.fixture
def sleep(pauses: list[float]) -> Callable[[float], None]:
    return pauses.append
