"""What every table of the package keeps to."""

import csv
from importlib.resources import files
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.specs.tables import read_table

TABLES = sorted(
    entry.name for entry in files("broker.specs").iterdir() if entry.name.endswith(".csv")
)
KEYS = {
    "certifications.csv": ("provider", "region", "certification"),
    "countries.csv": ("country",),
    "egress.csv": ("provider", "region", "to", "kind", "up_to_gb"),
    "gpu_aliases.csv": ("spelling", "provider"),
    "gpus.csv": ("name",),
    "llms.csv": ("name",),
    "market_prices.csv": ("gpu",),
    "mig_profiles.csv": ("gpu", "part"),
    "nodes.csv": ("provider", "instance_type"),
    "parallel_storage.csv": ("provider", "region", "class"),
    "provider_aliases.csv": ("alias",),
    "regions.csv": ("provider", "region"),
    "sold_in.csv": ("provider", "type_prefix"),
    "storage.csv": ("provider", "region", "kind", "class"),
    "subdivisions.csv": ("country", "code"),
    "user_regions.csv": ("name",),
}


def test_each_table_is_checked_here() -> None:
    assert KEYS.keys() <= set(TABLES)


@pytest.mark.parametrize("name", KEYS)
def test_every_row_names_its_source(name: str) -> None:
    rows = read_table(name)
    assert rows
    assert all(row["source"] for row in rows)


@pytest.mark.parametrize(("name", "key"), KEYS.items())
def test_no_two_rows_have_one_key(name: str, key: tuple[str, ...]) -> None:
    keys = [tuple((row[column] or "").lower() for column in key) for row in read_table(name)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", KEYS)
def test_cells_have_no_stray_blanks(name: str) -> None:
    text = files("broker.specs").joinpath(name).read_text(encoding="utf-8")
    for row in csv.reader(text.splitlines()):
        assert all(cell == cell.strip() for cell in row), row


def test_a_damaged_table_is_an_error_that_tells_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gpus.csv").write_text("name,source\nH100,datasheet\nA100\n", encoding="utf-8")
    monkeypatch.setattr("broker.specs.tables.files", lambda package: tmp_path)
    with pytest.raises(ConfigurationError, match="line 3 has 1 cells, the header has 2"):
        read_table("gpus.csv")
