import pytest

from broker.catalog.store import Catalog, open_catalog
from broker.store.place import Place


@pytest.fixture
def catalog(place: Place) -> Catalog:
    return open_catalog(place)
