from pathlib import Path

import pytest

from broker.catalog.store import Catalog, open_catalog


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return open_catalog(tmp_path / "data" / "catalog.sqlite3")
