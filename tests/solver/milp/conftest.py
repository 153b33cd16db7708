from collections.abc import Iterator

import pytest
from priced_out import one_of_each_first


@pytest.fixture
def start_with_one_of_each() -> Iterator[None]:
    """Have pricing out find all but one of each."""
    with one_of_each_first():
        yield
