from pathlib import Path

import pytest
from sheets import Sheets

from broker.specs.load import Specs, load_specs


@pytest.fixture(scope="session")
def specs() -> Specs:
    return load_specs()


@pytest.fixture
def sheets(tmp_path: Path, specs: Specs) -> Sheets:
    return Sheets(tmp_path, specs)
