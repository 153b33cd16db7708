import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_line import ROOT, Gpubroker, run_apart
from tiny_files import write_sheet

from broker.catalog.listing import Name
from broker.domain.offer import Fabric, Link, PriceKind
from broker.planning.query import CONTINENTS, Compute, Sort
from cli.offer_options import (
    TABLE_LIMIT,
    ComputeName,
    FabricKind,
    Kind,
    LinkKind,
    OnePerName,
    SortName,
)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def listed(filled: Gpubroker, *options: str) -> list[dict[str, str]]:
    ended = filled("offers", "--format", "csv", *options)
    assert ended.code == 0
    return rows(ended.out)


@pytest.fixture(scope="module")
def every_row(recorded_store: Path) -> list[dict[str, str]]:
    """List all that the catalog holds, as CSV has it."""
    ended = run_apart(recorded_store, "offers", "--format", "csv")
    assert ended.code == 0
    return rows(ended.out)


def test_the_options_know_the_price_kinds_and_orders_of_the_domain() -> None:
    assert [kind.value for kind in Kind] == [kind.value for kind in PriceKind]
    assert [kind.value for kind in LinkKind] == [kind.value for kind in Link]
    assert [kind.value for kind in FabricKind] == [kind.value for kind in Fabric]
    assert list(SortName.__args__) == [sort.value for sort in Sort]
    assert list(ComputeName.__args__) == [one.value for one in Compute]
    assert {Name(one) for one in OnePerName.__args__} <= set(Name)


def test_help_lists_the_continents(gpubroker: Gpubroker) -> None:
    told = " ".join(gpubroker("offers", "--help").out.split())
    assert all(code in told for code in CONTINENTS)


def test_recordings_are_read_without_a_catalog(gpubroker: Gpubroker, data_dir: Path) -> None:
    assert rows(gpubroker("offers", "--recorded", "--format", "csv", "--limit", "9").out)
    assert not data_dir.exists()


def test_the_catalog_says_the_same_as_the_recordings_that_filled_it(filled: Gpubroker) -> None:
    recorded = json.loads(filled("offers", "--recorded", "--format", "json").out)
    stored = json.loads(filled("offers", "--format", "json").out)
    assert stored["snapshot"] == recorded["snapshot"]
    assert [row["key"] for row in stored["offers"]] == [row["key"] for row in recorded["offers"]]
    again = filled("offers", "--snapshot", stored["snapshot"], "--format", "json")
    assert json.loads(again.out) == recorded


@pytest.mark.parametrize(
    "options", [[], ["--price-kind", "reserved"], ["--quarantined"], ["--keys"], ["--gpu", "h100"]]
)
def test_no_line_is_wider_than_the_terminal_and_no_type_is_cut(
    options: list[str], filled: Gpubroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = "key" if "--keys" in options else "instance_type"
    names = {row[column] for row in listed(filled, *options)}
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        ended = filled("offers", "--limit", "0", *options)
        lines = ended.out.splitlines()
        assert all(name in ended.out for name in names)
        wide = [line for line in lines if len(line) > width and names.isdisjoint(line.split())]
        assert all(any(name in line for name in names) for line in wide)
        assert "$" in lines[0] or "held back" in lines[0]
        assert "…" not in ended.out


@pytest.mark.parametrize("sort", [sort.value for sort in Sort])
def test_every_order_has_its_figure_in_the_table(sort: str, filled: Gpubroker) -> None:
    heading = filled("offers", "--limit", "3", "--sort", sort).out.splitlines()[0]
    assert {
        "price": "$/h",
        "price-per-gpu": "$/GPU-h",
        "price-per-gb": "$/GiB-h",
        "price-per-tb-s": "$/TB/s-h",
        "price-per-pflop-s": "$/PFLOP-h bf16",
    }[sort] in heading


def test_a_table_stops_after_forty_offers_and_says_so(gpubroker: Gpubroker) -> None:
    ended = gpubroker("offers", "--recorded")
    ages = [line.split()[-1] for line in ended.out.splitlines()[2:]]
    assert sum(bool(re.fullmatch(r"\d+(h|d|mo)!?", age)) for age in ages) == TABLE_LIMIT
    assert f"{TABLE_LIMIT} of " in ended.err
    assert "--limit 0 prints all" in ended.err


def test_what_is_too_old_to_plan_with_is_told_of(gpubroker: Gpubroker) -> None:
    """A spot price of a recording older than a day, beside the newest recording."""
    ended = gpubroker("offers", "--recorded", "--price-kind", "spot", "--limit", "0")
    marked = sum(line.endswith("!") for line in ended.out.splitlines())
    assert marked
    assert f"{marked:,} of them, marked !, are too old to plan with" in ended.err


def test_one_of_each_gpu_is_its_cheapest_offer(
    filled: Gpubroker, every_row: list[dict[str, str]]
) -> None:
    best: dict[str, str] = {}
    for row in every_row:
        best.setdefault(row["gpu"], row["key"])
    assert [row["key"] for row in listed(filled, "--one-per", "gpu")] == list(best.values())


def test_a_key_that_is_printed_names_one_offer(every_row: list[dict[str, str]]) -> None:
    keys = [row["key"] for row in every_row]
    assert len(keys) == len(set(keys))


def test_filters_of_the_machine_hold_for_every_row(filled: Gpubroker) -> None:
    options = ("--form", "sxm", "--min-memory", "80", "--min-node-memory", "640")
    network = ("--link", "nvswitch", "--fabric", "infiniband", "--min-fabric", "1600")
    found = listed(filled, *options, *network, "--min-bandwidth", "3000", "--max-gpus", "8")
    assert found
    for row in found:
        assert row["gpu_form"] == "SXM"
        assert float(row["memory_gib"]) > 600
        assert (row["link"], row["fabric"]) == ("nvswitch", "infiniband")
        assert float(row["fabric_gbit_per_s"]) >= 1600
        assert float(row["gpu_memory_gb_per_s"]) >= 3000
        assert float(row["gpu_count"]) <= 8


def test_filters_of_place_and_terms_hold_for_every_row(filled: Gpubroker) -> None:
    terms = ("--price-kind", "reserved", "--term", "12", "--max-usd-per-hour", "40")
    found = listed(filled, "--continent", "us", "--country", "United States", *terms)
    assert found
    for row in found:
        assert (row["continent"], row["country"]) == ("us", "US")
        assert (row["price_kind"], row["term_months"]) == ("reserved", "12")
        assert float(row["effective_usd_per_hour"]) <= 40


def test_bare_metal_has_no_virtual_machine(filled: Gpubroker) -> None:
    assert {row["virtualization"] for row in listed(filled, "--bare-metal")} == {"bare_metal"}


def test_the_cheapest_comes_first(filled: Gpubroker, every_row: list[dict[str, str]]) -> None:
    prices = [float(row["usd_per_gpu_hour"]) for row in every_row]
    assert prices == sorted(prices)
    assert len(listed(filled, "--limit", "3")) == 3


def test_filters_narrow_the_list(filled: Gpubroker) -> None:
    options = ("--gpu", "h100", "--price-kind", "on_demand", "--min-gpus", "8")
    found = listed(filled, *options, "--max-usd-per-gpu-hour", "8.00")
    assert found
    for row in found:
        assert row["gpu"].startswith("H100-")
        assert row["price_kind"] == "on_demand"
        assert float(row["gpu_count"]) >= 8
        assert float(row["usd_per_gpu_hour"]) <= 8


def test_filters_that_may_be_given_again_widen_it(filled: Gpubroker) -> None:
    found = listed(filled, "--provider", "lambda", "--provider", "vast")
    assert {row["provider"] for row in found} == {"lambda", "vast"}


def test_nothing_found_is_said_on_stderr(filled: Gpubroker) -> None:
    ended = filled("offers", "--format", "json", "--max-usd-per-hour", "0")
    assert ended.code == 0
    assert json.loads(ended.out)["offers"] == []
    assert "no offer matches" in ended.err


def test_yaml_says_the_same_as_json(gpubroker: Gpubroker, tmp_path: Path) -> None:
    options = ("offers", "--sheet", str(write_sheet(tmp_path)), "--format")
    as_json, as_yaml = gpubroker(*options, "json"), gpubroker(*options, "yaml")
    assert len(json.loads(as_json.out)["offers"]) == 2
    assert yaml.safe_load(as_yaml.out) == json.loads(as_json.out)
    assert json.loads(as_json.out)["schema"] == "gpubroker.offers/1"


def test_a_sheet_is_listed(gpubroker: Gpubroker, tmp_path: Path) -> None:
    sheet = tmp_path / "quotes.csv"
    sheet.write_text(
        "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on\n"
        "acme,box,H100-SXM,8,here,on_demand,16.00,USD,2026-05-01\n"
    )
    options = ("--sheet", str(sheet), "--as-of", "2026-05-11", "--format", "json")
    told = json.loads(gpubroker("offers", *options).out)
    (row,) = told["offers"]
    assert (row["instance_type"], row["usd_per_gpu_hour"], row["age_h"]) == ("box", 2.0, 240.0)


def test_a_sheet_with_a_date_to_come_is_told_of(gpubroker: Gpubroker, tmp_path: Path) -> None:
    sheet = tmp_path / "quotes.csv"
    head = "provider,instance_type,gpu_name,gpu_count,region,on_demand_usd_h,observed_on\n"
    rows = "acme,box,H100-SXM,8,here,16,2026-05-01\nacme,slip,H100-SXM,8,here,16,2926-05-02\n"
    sheet.write_text(head + rows)
    assert (
        "ages count from 2926-05-02, a day to come"
        in gpubroker("offers", "--sheet", str(sheet)).err
    )
    told = gpubroker("offers", "--sheet", str(sheet), "--as-of", "2026-05-02").err
    assert "a day to come" not in told
    assert "of the sheet 1 no offer: dated later (acme: slip in here (row 3))" in told


def test_rows_of_a_sheet_that_became_no_offer_are_told(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    sheet = tmp_path / "quotes.csv"
    head = "provider,instance_type,gpu_name,gpu_count,region,on_demand_usd_h,observed_on\n"
    texts = ("box,H100-SXM,8,here,16", "box,H100-SXM,8,here,18", "free,H100-SXM,8,here,0",
             "none,H100-SXM,8,here,0", "cheap,H100-SXM,8,here,0.2")  # fmt: skip
    sheet.write_text(head + "".join(f"acme,{text},2026-05-01\n" for text in texts))
    ended = gpubroker("offers", "--sheet", str(sheet), "--format", "json")
    (row,) = json.loads(ended.out)["offers"]
    assert row["usd_per_hour"] == 18
    assert ended.err.splitlines()[-3:] == [
        "of the sheet 2 no offer: no price (such as acme: free in here (row 4))",
        "of the sheet 1 held back: price out of band (acme/cheap/here@on_demand)",
        "of the sheet 1 no offer: duplicate key (acme: acme/box/here@on_demand)",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpu", "h1000"], "unknown GPU 'h1000'"),
        (["--gpu", "xyz"], "unknown GPU 'xyz'"),
        (["--provider", "lamda"], "unknown provider 'lamda'"),
        (["--region", "us-est-1"], "unknown region 'us-est-1'"),
        (["--country", "germny"], "unknown country 'germny'"),
        (["--continent", "asia"], "unknown continent 'asia'"),
        (["--max-usd-per-hour", "nan"], "'nan' is no price"),
        (["--max-usd-per-hour", "-1"], "'-1' is no price"),
        (["--link", "wire"], "'wire' is not one of"),
        (["--recorded", "--snapshot", "abc"], "name different catalogs"),
        (["--as-of", "soon"], "--as-of 'soon' is no date"),
        (["--max-usd-per-gpu-hour", "cheap"], "'cheap' is no amount"),
    ],
)
def test_a_wrong_option_ends_with_2_and_is_named(
    options: list[str], message: str, filled: Gpubroker
) -> None:
    ended = filled("offers", *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_a_question_to_the_store_loads_nothing_that_it_can_spare(gpubroker: Gpubroker) -> None:
    """What each of these takes to load is a good part of the time that an answer may take."""
    gpubroker("refresh", "--recorded", "--provider", "lambda")
    words = ["offers", "--gpu", "h100", "--provider", "lambda", "--country", "us"]
    heavy = ["sqlalchemy", "httpx", "structlog", "rich.console", "yaml", "broker.specs.load"]
    code = f"import sys; from cli.app import run; run({words}); print(sys.modules.keys() & {heavy})"
    ended = subprocess.run(  # noqa: S603 - the words are those above
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "H100" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "set()"
