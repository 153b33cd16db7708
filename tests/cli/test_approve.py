"""From a plan file to bought lines: approve, execute, plans, audit, and exports that leave out."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Gpubroker, run_apart
from tiny_files import write_sheet, write_workloads

from broker.domain.plan import Plan
from broker.exports.files import line_label

Files = tuple[Path, Path]
TWO_PERSONS = ("services:", "policy: {approvals: 2}\nservices:")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Plan a service over a sheet; two persons have to approve it."""
    folder = tmp_path_factory.mktemp("approved")
    sheet, plan = write_sheet(folder), folder / "team.json"
    workloads = write_workloads(folder, TWO_PERSONS)
    ended = run_apart(
        folder / "data", "plan", str(workloads), "--sheet", str(sheet), "--out", str(plan)
    )
    assert ended.code == 0, ended.err
    return plan, sheet


def line_of(plan: Path) -> str:
    (line,) = Plan.model_validate_json(plan.read_bytes()).purchases
    return line.id


def approved(gpubroker: Gpubroker, files: Files) -> str:
    """Let two persons approve the plan, and give its path."""
    plan, sheet = files
    for name in ("Ana", "Bo"):
        ended = gpubroker("approve", str(plan), "--by", name, "--sheet", str(sheet))
        assert ended.code == 0, ended.err
    return str(plan)


def test_a_plan_waits_for_a_second_and_different_person(gpubroker: Gpubroker, files: Files) -> None:
    plan, sheet = map(str, files)
    first = gpubroker("approve", plan, "--by", "Ana", "--sheet", sheet, "--format", "json")
    (told,) = json.loads(first.out)["plans"]
    assert (told["state"], told["approvals"], told["approvals_needed"]) == ("draft", 1, 2)
    assert "kept as a plan of 'team'" in first.err
    same = gpubroker("approve", plan, "--by", "ana", "--format", "json")  # kept: needs no catalog
    assert json.loads(same.out)["plans"][0]["state"] == "draft"
    assert "waits for another person" in same.err
    second = gpubroker("approve", told["hash"][:10], "--by", "Bo", "--note", "for Q1")
    assert "approved" in second.out
    assert "Ana, Bo" in second.out
    assert max(map(len, second.out.splitlines())) <= 80


def test_a_plan_with_another_price_than_the_catalog_is_refused_and_not_kept(
    gpubroker: Gpubroker, files: Files, tmp_path: Path
) -> None:
    plan, sheet = files
    cheaper = tmp_path / "cheaper.json"
    text = plan.read_text()
    assert '"2.300000"' in text
    cheaper.write_text(text.replace('"2.300000"', '"2.200000"'))
    ended = gpubroker("approve", str(cheaper), "--by", "Ana", "--sheet", str(sheet))
    assert ended.code == 2
    assert "the plan is refused" in ended.err
    assert "no plan is kept" in gpubroker("plans").err


def test_a_line_is_executed_once_and_left_out_of_what_launches(
    gpubroker: Gpubroker, files: Files, tmp_path: Path
) -> None:
    plan, line = approved(gpubroker, files), line_of(files[0])
    before = gpubroker("export", plan, "--to", "skypilot", "--out", str(tmp_path / "before"))
    assert "left out" not in before.err
    ended = gpubroker("execute", plan, line_label(line), "--by", "Bo", "--reference", "i-1")
    assert (ended.code, ended.err.splitlines()[-1]) == (0, "the plan is executed")
    again = gpubroker(
        "execute", plan, line, "--by", "Ana", "--reference", "i-2", "--format", "json"
    )
    assert again.code == 0
    assert json.loads(again.out)["was_noted"] is True
    assert f"nothing was changed: {line} was executed before by Bo" in again.err
    assert "the line was bought twice" in again.err
    after = gpubroker("export", plan, "--to", "skypilot", "--out", str(tmp_path / "after"))
    assert f"left out: {line}: it was executed already by Bo" in after.err
    assert len(list((tmp_path / "before").iterdir())) == 2
    assert [one.name for one in (tmp_path / "after").iterdir()] == ["README.md"]
    assert "executed already by Bo" in (tmp_path / "after" / "README.md").read_text()
    (tmp_path / "before" / "mine.yaml").write_text("schema: gpubroker.workloads/1\n")
    over = gpubroker("export", plan, "--to", "skypilot", "--out", str(tmp_path / "before"))
    (old,) = (one.name for one in (tmp_path / "before").glob("chat*.yaml"))
    assert f"left in {tmp_path / 'before'} by an earlier one: {old}\n" in over.err
    assert gpubroker("export", plan, "--to", "focus").code == 0  # tells, and launches nothing


def test_an_export_does_not_take_the_place_of_its_plan(gpubroker: Gpubroker, files: Files) -> None:
    plan, before = files[0], files[0].read_text()
    ended = gpubroker("export", str(plan), "--to", "csv", "--out", str(plan))
    assert ended.code == 2
    assert f"--out {str(plan)!r} would overwrite an input" in ended.err
    assert plan.read_text() == before


def test_nothing_is_executed_before_it_is_approved(gpubroker: Gpubroker, files: Files) -> None:
    plan, sheet = map(str, files)
    line = line_of(files[0])
    never = gpubroker("execute", plan, line, "--by", "Ana")
    assert (never.code, "is kept" in never.err) == (2, True)
    gpubroker("approve", plan, "--by", "Ana", "--sheet", sheet)
    half = gpubroker("execute", plan, line, "--by", "Ana")
    assert (half.code, "1 of 2 persons" in half.err) == (2, True)


def test_the_audit_log_tells_all_and_shows_who_changes_it(
    gpubroker: Gpubroker, files: Files, data_dir: Path
) -> None:
    approved(gpubroker, files)
    ended = gpubroker("audit", "--format", "json")
    told = json.loads(ended.out)
    actions = [(one["actor"], one["action"]) for one in told["entries"]]
    assert actions == [
        ("Ana", "kept"),
        ("Ana", "confirmed"),
        ("Bo", "confirmed"),
        ("Bo", "approved"),
    ]
    assert (told["holds"], ended.code) == (True, 0)
    assert "4 entries, and each one holds" in gpubroker("audit").err
    with closing(sqlite3.connect(data_dir / "catalog.sqlite3")) as connection:
        connection.execute("UPDATE audit_entry SET actor = 'Eve' WHERE number = 3")
        connection.commit()
    changed = gpubroker("audit", "--format", "json")
    assert changed.code == 2
    assert "entry 3 was changed after it was written" in changed.err
    assert json.loads(changed.out)["holds"] is False


def test_an_approval_needs_a_name_and_a_plan(gpubroker: Gpubroker, tmp_path: Path) -> None:
    nobody = gpubroker("approve", str(tmp_path / "none.json"), "--by", "Ana")
    assert (nobody.code, "neither a plan file nor the hash" in nobody.err) == (2, True)
    unknown = gpubroker("approve", "0123456789ab", "--by", "Ana")
    assert (unknown.code, "no kept plans begin with" in unknown.err) == (2, True)
