"""The tables of the package, read once."""

import pytest

from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="session")
def specs() -> Specs:
    return load_specs()
