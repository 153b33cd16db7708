"""Contracts from end to end: the example of the recordings, and a sheet of one's own."""

import json
from pathlib import Path

from command_line import Gpubroker
from tiny_files import HEADER, write, write_sheet, write_workloads

from broker.domain.offer import PriceKind

EXAMPLE = "example-contract"
KEY = f"{EXAMPLE}/hgx-h100-8/example-1@contract-12m-monthly"
YEARS = "policy: {commitments: {max_term_months: 36}}\n"
ASKED = YEARS.replace("{commitments", "{providers: {allow: [example-contract]}, commitments")


def test_recordings_have_every_price_kind_that_is_sold(filled: Gpubroker) -> None:
    told = json.loads(filled("status", "--format", "json").out)
    kinds = {row["price_kind"]: row for row in told["price_kinds"]}
    assert kinds.keys() == set(PriceKind) - {PriceKind.OWNED}
    assert all(row["offers"] > 0 for row in kinds.values())
    assert {kind for kind, row in kinds.items() if row["examples"]} == {"contract"}
    called = {word for row in kinds.values() for word in row["called"]}
    assert {"interruptible", "marketplace bids", "committed use (CUD)", "monthly plans"} <= called
    table = filled("status").out.split("\n\n")[2]
    assert "all of these are examples" in " ".join(table.split())


def test_what_providers_call_a_price_kind_is_in_the_recordings(filled: Gpubroker) -> None:
    kinds = ("spot", "reserved", "capacity_block")
    options = [word for kind in kinds for word in ("--price-kind", kind)]
    told = json.loads(filled("offers", *options, "--format", "json").out)
    keys = [row["key"] for row in told["offers"]]
    for begin, end in (
        ("vast/", "@spot"),  # bids of a marketplace
        ("mithril/", "@spot"),  # an auction
        ("gcp/", ":flex_start@spot"),
        ("gcp/", "@reserved-12m-no_upfront"),  # committed use
        ("ovhcloud/", "@reserved-1m-monthly"),
        ("gcp/", "@capacity_block"),  # calendar mode of DWS
    ):
        assert any(key.startswith(begin) and key.endswith(end) for key in keys), (begin, end)


def test_the_example_is_listed_as_one_and_never_grows_old(filled: Gpubroker) -> None:
    listed = filled("offers", "--price-kind", "contract")
    assert "example" in listed.out.splitlines()[2]
    assert "no plan uses it unless policy.providers.allow names it" in listed.err
    told = json.loads(filled("offers", "--price-kind", "contract", "--format", "json").out)
    assert {row["evidence"] for row in told["offers"]} == {"example"}
    assert not any(row["stale"] for row in told["offers"])
    sold = filled("status").out.split("\n\n")[0]
    assert EXAMPLE not in sold  # it is no provider


def test_no_plan_buys_the_example_unless_it_is_asked_for_by_name(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    gpubroker("refresh", "--recorded", "--provider", EXAMPLE)
    out = tmp_path / "plan.json"
    refused = gpubroker("plan", str(write_workloads(tmp_path, more=YEARS)), "--out", str(out))
    assert refused.code == 4
    (why,) = json.loads(out.read_bytes())["rejected"]
    assert (why["reason"], why["offers"]) == ("example offer, not asked for by name", 3)

    asked = write_workloads(tmp_path, more=ASKED)
    made = gpubroker("plan", str(asked), "--out", str(out))
    (bought,) = json.loads(out.read_bytes())["purchases"]
    assert (made.code, bought["offer"].split("/")[0]) == (0, EXAMPLE)
    assert "its price is invented, nobody sells at it" in " ".join(made.out.split())
    assert gpubroker("verify", str(out), str(asked)).code == 0


def test_a_plan_says_why_the_example_is_not_in_it(gpubroker: Gpubroker, tmp_path: Path) -> None:
    gpubroker("refresh", "--recorded", "--provider", EXAMPLE, "--provider", "nebius")
    out = tmp_path / "plan.json"
    made = gpubroker("plan", str(write_workloads(tmp_path, more=YEARS)), "--out", str(out))
    assert made.code == 0
    assert {one["provider"] for one in json.loads(out.read_bytes())["offers"]} == {"nebius"}
    told = json.loads(gpubroker("explain", str(out), "--why-not", KEY, "--format", "json").out)
    assert told["why_not"]["verdict"] == "ruled out"
    assert told["why_not"]["reason"] == "example offer, not asked for by name"
    assert told["why_not"]["details"] == ["policy.providers: all are allowed"]


def test_only_recordings_have_the_example(gpubroker: Gpubroker) -> None:
    ended = gpubroker("refresh", "--provider", EXAMPLE)
    assert ended.code == 2
    assert "an example, which nobody can be asked for" in ended.err
    assert f"refresh --recorded --provider {EXAMPLE}" in ended.err


def test_a_contract_of_ones_own_sheet_is_signed(gpubroker: Gpubroker, tmp_path: Path) -> None:
    sheet = write_sheet(
        tmp_path,
        "acme,box,L40S,1,eu-1,contract,0.80,USD,2026-11-20,12,monthly,DE,50.1,8.7",
        "acme,box,L40S,1,eu-1,on_demand,2.30,USD,2026-11-20,,,DE,50.1,8.7",
        header=f"{HEADER},term_months,payment,country,latitude_deg,longitude_deg",
    )
    out, workloads = tmp_path / "plan.json", write_workloads(tmp_path, more=YEARS)
    options = ("plan", str(workloads), "--sheet", str(sheet), "--gap", "0", "--out", str(out))
    table = gpubroker(*options)
    (bought,) = json.loads(out.read_bytes())["purchases"]
    assert (bought["offer"], bought["usd"]) == ("acme/box/eu-1@contract-12m-monthly", "19.200000")
    assert table.code == 0
    assert "contract 1y monthly" in table.out
    assert "example" not in table.out
    assert gpubroker("verify", str(out), str(workloads), "--sheet", str(sheet)).code == 0


def test_the_example_is_a_sheet_to_start_from(gpubroker: Gpubroker, tmp_path: Path) -> None:
    """Who plans over a copy has named it; it is then a sheet like any other."""
    shipped = Path(__file__).parents[2] / "fixtures" / "sheet" / f"{EXAMPLE}.csv"
    mine = write(tmp_path / "mine.csv", shipped.read_text(encoding="utf-8"))
    told = json.loads(gpubroker("offers", "--sheet", str(mine), "--format", "json").out)
    assert {row["evidence"] for row in told["offers"]} == {"sheet"}
