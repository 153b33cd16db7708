"""The pages hang together: links lead somewhere, files exist, records are whole."""

import re
from decimal import Decimal
from pathlib import Path

from broker.examples.catalog import examples
from broker.planning.service import open_service
from broker.planning.workloads_file import parse_workloads
from broker.settings import Settings

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_PATH = re.compile(r"`((?:broker|providers|solver|cli|fixtures|tests|tools|docs)/[\w./-]+)`")


def test_every_link_leads_to_a_file(pages: dict[str, str]) -> None:
    links = [(page, link) for page, text in pages.items() for link in _LINK.findall(text)]
    inside = [(page, link) for page, link in links if "://" not in link]
    assert len(inside) > 10
    for page, link in inside:
        assert ((ROOT / page).parent / link).exists(), f"{page}: {link}"


def test_every_file_that_is_named_exists(pages: dict[str, str]) -> None:
    named = [(page, path) for page, text in pages.items() for path in _PATH.findall(text)]
    assert len(named) > 50
    for page, path in named:
        assert (ROOT / path).exists(), f"{page}: {path}"


def test_every_page_is_reached_from_the_readme(pages: dict[str, str]) -> None:
    reached = {"README.md", "CHANGELOG.md"}
    waiting = ["README.md"]
    while waiting:
        page = waiting.pop()
        for link in _LINK.findall(pages[page]):
            target = (ROOT / page).parent / link
            found = [target] if target.suffix == ".md" else sorted(target.glob("*.md"))
            names = {str(one.resolve().relative_to(ROOT)) for one in found if one.exists()}
            waiting += names - reached
            reached |= names
    assert set(pages) <= reached


def test_decisions_are_numbered_without_a_gap_and_whole(pages: dict[str, str]) -> None:
    records = {page: text for page, text in pages.items() if page.startswith("docs/decisions/")}
    for number, (page, text) in enumerate(sorted(records.items()), start=1):
        assert Path(page).name.startswith(f"{number:04}-"), page
        assert text.startswith(f"# {number}. "), page
        parts = re.findall(r"^\*\*(\w+)\.\*\* ", text, flags=re.MULTILINE)
        assert parts == ["Context", "Choice", "Consequence"], page
        assert len(text.splitlines()) <= 40, f"{page} is longer than half a page"


def test_the_price_that_the_architecture_follows_is_in_the_recordings(
    pages: dict[str, str], tmp_path: Path
) -> None:
    text = pages["docs/architecture.md"]
    key = "aws/p5.48xlarge/us-east-1@on_demand"
    assert key in text
    service = open_service(Settings(data_dir=tmp_path))
    offer = next(one for one in service.offers_from_recordings().offers if one.key == key)
    assert offer.usd_per_hour == Decimal("55.04")
    assert offer.usd_per_hour / 8 == Decimal("6.88")
    assert "55.0400000000" in text
    row = (ROOT / "fixtures/aws/prices-us-east-1.json").read_text(encoding="utf-8")
    assert r"\"Hrs\",\"55.0400000000\",\"USD\"" in row
    assert {"55.04", "6.88", "55,040,000"} <= set(re.findall(r"\d[\d,.]*\d", text))


def test_the_layers_in_the_docs_are_those_that_are_checked(pages: dict[str, str]) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^layers = \[(.+?)^\]", project, flags=re.MULTILINE | re.DOTALL)
    assert block is not None
    layers = [one for one in re.findall(r'"(.+)"', block[1]) if not one.startswith("(")]
    assert "".join(f"    {one}\n" for one in layers) in pages["docs/architecture.md"]


def test_a_duration_and_a_size_are_written_as_the_page_of_keys_says(pages: dict[str, str]) -> None:
    page = pages["docs/workloads-file.md"]
    written = re.findall(r"`([\d.]+ ?(?:ms|min|h|TB))`", page.partition("\n## ")[0])
    assert {"12 min", "800 ms", "1h", "2 TB"} == set(written)
    text = next(one.text for one in examples() if one.name == "70b-two-continents.yaml")
    for unit in written:
        key = "size: 2 TB" if unit.endswith("TB") else "max_network_rtt: 60 ms"
        assert key in text
        parse_workloads(text.replace(key, f"{key.partition(':')[0]}: {unit}"), unit)


def test_the_changelog_has_the_version_of_the_project(pages: dict[str, str]) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"$', project, flags=re.MULTILINE)
    assert version is not None
    assert f"\n## [{version[1]}]" in pages["CHANGELOG.md"]
    assert "\n## [Unreleased]\n" in pages["CHANGELOG.md"]
