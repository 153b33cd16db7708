import csv
import io
import json
from pathlib import Path

import pytest
import yaml
from command_line import Gpubroker

from broker.domain.offer import PriceKind
from broker.planning.query import Sort
from cli.offer_options import TABLE_LIMIT, Kind, SortName


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def listed(gpubroker: Gpubroker, *options: str) -> list[dict[str, str]]:
    ended = gpubroker("offers", "--recorded", "--format", "csv", *options)
    assert ended.code == 0
    return rows(ended.out)


def test_the_options_know_the_price_kinds_and_orders_of_the_domain() -> None:
    assert [kind.value for kind in Kind] == [kind.value for kind in PriceKind]
    assert list(SortName.__args__) == [sort.value for sort in Sort]


def test_recordings_are_read_without_a_catalog(gpubroker: Gpubroker, data_dir: Path) -> None:
    assert listed(gpubroker)
    assert not data_dir.exists()


def test_the_catalog_says_the_same_as_the_recordings_that_filled_it(gpubroker: Gpubroker) -> None:
    recorded = json.loads(gpubroker("offers", "--recorded", "--format", "json").out)
    gpubroker("refresh", "--recorded")
    stored = json.loads(gpubroker("offers", "--format", "json").out)
    assert stored["snapshot"] == recorded["snapshot"]
    assert [row["key"] for row in stored["offers"]] == [row["key"] for row in recorded["offers"]]
    again = gpubroker("offers", "--snapshot", stored["snapshot"], "--format", "json")
    assert json.loads(again.out) == recorded


@pytest.mark.parametrize("sort", [sort.value for sort in Sort])
@pytest.mark.parametrize("extra", [[], ["--price-kind", "reserved"], ["--quarantined"]])
def test_no_line_is_wider_than_the_terminal(
    sort: str, extra: list[str], gpubroker: Gpubroker
) -> None:
    ended = gpubroker("offers", "--recorded", "--limit", "0", "--sort", sort, *extra)
    assert max(map(len, ended.out.splitlines())) <= 80
    assert "$" in ended.out.splitlines()[0]


def test_a_table_stops_after_forty_offers_and_says_so(gpubroker: Gpubroker) -> None:
    ended = gpubroker("offers", "--recorded")
    assert len(ended.out.splitlines()) == TABLE_LIMIT + 2
    assert f"{TABLE_LIMIT} of " in ended.err
    assert "--limit 0 prints all" in ended.err


def test_the_cheapest_comes_first(gpubroker: Gpubroker) -> None:
    prices = [float(row["usd_per_gpu_hour"]) for row in listed(gpubroker)]
    assert prices == sorted(prices)
    assert len(listed(gpubroker, "--limit", "3")) == 3


def test_filters_narrow_the_list(gpubroker: Gpubroker) -> None:
    options = ("--gpu", "h100", "--price-kind", "on_demand", "--min-gpus", "8")
    found = listed(gpubroker, *options, "--max-usd-per-gpu-hour", "8.00")
    assert found
    for row in found:
        assert row["gpu"].startswith("H100-")
        assert row["price_kind"] == "on_demand"
        assert float(row["gpu_count"]) >= 8
        assert float(row["usd_per_gpu_hour"]) <= 8


def test_filters_that_may_be_given_again_widen_it(gpubroker: Gpubroker) -> None:
    found = listed(gpubroker, "--provider", "lambda", "--provider", "vast")
    assert {row["provider"] for row in found} == {"lambda", "vast"}


def test_nothing_found_is_said_on_stderr(gpubroker: Gpubroker) -> None:
    ended = gpubroker("offers", "--recorded", "--format", "json", "--region", "nowhere")
    assert ended.code == 0
    assert json.loads(ended.out)["offers"] == []
    assert "no offer matches" in ended.err


def test_yaml_says_the_same_as_json(gpubroker: Gpubroker) -> None:
    options = ("offers", "--recorded", "--limit", "5", "--format")
    as_json, as_yaml = gpubroker(*options, "json"), gpubroker(*options, "yaml")
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpu", "h1000"], "unknown GPU 'h1000'"),
        (["--provider", "lamda"], "unknown provider 'lamda'"),
        (["--snapshot", "abc"], "name different catalogs"),
        (["--as-of", "soon"], "--as-of 'soon' is no date"),
        (["--max-usd-per-gpu-hour", "cheap"], "'cheap' is no amount"),
    ],
)
def test_a_wrong_option_ends_with_2_and_is_named(
    options: list[str], message: str, gpubroker: Gpubroker
) -> None:
    ended = gpubroker("offers", "--recorded", *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
