import csv
import io
import json

import pytest
from command_line import Gpubroker


@pytest.fixture
def held(gpubroker: Gpubroker) -> list[str]:
    """Fill the catalog, and name what is held back of it."""
    assert gpubroker("refresh", "--recorded", "--provider", "vast").code == 0
    ended = gpubroker("quarantine", "list", "--format", "csv")
    return [row["key"] for row in csv.DictReader(io.StringIO(ended.out))]


def test_the_list_tells_what_is_held_why_and_since_when(
    gpubroker: Gpubroker, held: list[str]
) -> None:
    ended = gpubroker("quarantine", "list", "--format", "json")
    told = json.loads(ended.out)
    assert told["schema"] == "gpubroker.quarantine/1"
    assert [row["key"] for row in told["quarantined"]] == held
    for row in told["quarantined"]:
        assert row["reason"] in ("price_out_of_band", "spot_not_below_on_demand")
        assert "$/" in row["detail"]
        assert row["held_since"].endswith("Z")
    assert f"{len(held)} held back" in ended.err


def test_the_table_has_every_key_in_full(gpubroker: Gpubroker, held: list[str]) -> None:
    table = gpubroker("quarantine", "list").out
    assert held
    assert all(key in table for key in held)


def test_the_list_can_be_narrowed(gpubroker: Gpubroker, held: list[str]) -> None:
    assert len(held) > 1
    ended = gpubroker("quarantine", "list", "--provider", "aws")
    assert (ended.code, ended.err) == (0, "nothing is held back\n")
    narrowed = gpubroker("quarantine", "list", "--reason", "price out of band", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(narrowed.out)))
    assert {row["reason"] for row in rows} == {"price_out_of_band"}
    assert {row["key"] for row in rows} <= set(held)
    none = gpubroker("quarantine", "list", "--reason", "price_jumped", "--format", "csv")
    assert len(none.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [("--provider", "vats", "vast"), ("--reason", "price_jump", "price_jumped")],
)
def test_a_name_that_is_not_known_is_answered_with_the_nearest(
    option: str, value: str, hint: str, *, gpubroker: Gpubroker
) -> None:
    ended = gpubroker("quarantine", "list", option, value)
    assert ended.code == 2
    assert hint in ended.err


def test_a_released_offer_is_planned_with_and_its_release_is_kept(
    gpubroker: Gpubroker, held: list[str]
) -> None:
    before = json.loads(gpubroker("offers", "--limit", "0", "--format", "json").out)
    ended = gpubroker(
        "quarantine", "release", held[0], "--by", "ann", "--note", "it is real", "--format", "json"
    )
    assert ended.code == 0
    (released,) = json.loads(ended.out)["releases"]
    assert (released["key"], released["released_by"], released["note"]) == (
        held[0],
        "ann",
        "it is real",
    )
    after = json.loads(gpubroker("offers", "--limit", "0", "--format", "json").out)
    assert after["matching"] == before["matching"] + 1
    assert held[0] in {row["key"] for row in after["offers"]}
    assert gpubroker("refresh", "--recorded", "--provider", "vast").code == 0
    again = gpubroker("quarantine", "list", "--format", "csv").out
    assert held[0] not in again
    assert "it holds" in gpubroker("quarantine", "releases").out


def test_a_release_needs_somebody_who_answers_for_it(gpubroker: Gpubroker, held: list[str]) -> None:
    ended = gpubroker("quarantine", "release", held[0])
    assert ended.code == 2
    assert "--by" in ended.err
    assert gpubroker("quarantine", "release", held[0], "--by", " ").code == 2
    assert "nothing was released yet" in gpubroker("quarantine", "releases").err


def test_what_is_not_held_cannot_be_released(gpubroker: Gpubroker, held: list[str]) -> None:
    ended = gpubroker("quarantine", "release", held[0][:-1], "--by", "ann")
    assert ended.code == 2
    assert held[0] in ended.err
