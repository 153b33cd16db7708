from collections.abc import Callable

import pytest

from broker.store.place import Place


@pytest.fixture
def place(new_bare_place: Callable[[], Place]) -> Place:
    """Name a place without tables: here it is tested that they are made."""
    return new_bare_place()
