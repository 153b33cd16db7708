import pytest

from broker.purchases.plan_book import PlanBook
from broker.store.database import open_database
from broker.store.place import Place


@pytest.fixture
def book(place: Place) -> PlanBook:
    return PlanBook(open_database(place))
