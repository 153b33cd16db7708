import json
from pathlib import Path

import pytest
from command_line import EXAMPLES, Gpubroker

NAMES = [
    "13b-smallest-card.yaml",
    "70b-two-continents.yaml",
    "7b-small-team.yaml",
    "company.yaml",
    "growing-app.yaml",
    "long-prompts.yaml",
    "regulated-hospital.yaml",
    "research-group.yaml",
    "small-models.yaml",
    "weekend-shop.yaml",
]


def test_the_list_has_each_example_with_what_it_shows(gpubroker: Gpubroker) -> None:
    told = json.loads(gpubroker("examples", "--format", "json").out)
    assert told["schema"] == "gpubroker.examples/1"
    assert [one["name"] for one in told["examples"]] == NAMES
    for one in told["examples"]:
        assert len(one["summary"]) > 60
        assert one["text"] == (EXAMPLES / one["name"]).read_text(encoding="utf-8")


def test_the_table_names_each_example_at_80_columns(gpubroker: Gpubroker) -> None:
    lines = gpubroker("examples").out.splitlines()
    assert [line.split()[0] for line in lines if ".yaml" in line] == NAMES
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", ["company", "company.yaml"])
def test_an_example_is_printed_as_it_is(name: str, gpubroker: Gpubroker) -> None:
    ended = gpubroker("examples", name)
    assert ended.code == 0
    assert ended.out == (EXAMPLES / "company.yaml").read_text(encoding="utf-8")


def test_an_example_is_copied_to_a_folder_and_says_how_to_go_on(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    ended = gpubroker("examples", "--copy", "company", "--to", str(tmp_path))
    copy = tmp_path / "company.yaml"
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"written to {copy}; plan it: gpubroker plan {copy} --recorded\n"
    assert copy.read_bytes() == (EXAMPLES / "company.yaml").read_bytes()


def test_an_example_is_copied_to_the_current_folder_where_none_is_named(
    gpubroker: Gpubroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert gpubroker("examples", "--copy", "7b-small-team").code == 0
    assert (tmp_path / "7b-small-team.yaml").is_file()


def test_a_copy_never_overwrites_a_file(gpubroker: Gpubroker, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("my work")
    ended = gpubroker("examples", "--copy", "company", "--to", str(mine))
    assert ended.code == 2
    assert ended.err.splitlines() == [
        f"error: {str(mine)!r} exists and is not overwritten",
        "hint: give another path",
    ]
    assert mine.read_text() == "my work"


@pytest.mark.parametrize("arguments", [["nothing"], ["--copy", "nothing"]])
def test_an_unknown_example_is_an_error_that_names_those_there_are(
    arguments: list[str], gpubroker: Gpubroker
) -> None:
    ended = gpubroker("examples", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "error: there is no example 'nothing'",
        f"hint: the examples are {', '.join(NAMES)}",
    ]


def test_printing_and_copying_at_once_is_an_error(gpubroker: Gpubroker) -> None:
    ended = gpubroker("examples", "company", "--copy", "7b-small-team")
    assert ended.code == 2
    assert "'company' is to be printed and '7b-small-team' to be copied" in ended.err
