import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from command_line import EXAMPLES, Ended, Gpubroker, Solve, Solved, run_apart
from explained_files import COMMITTED, HEADER, RENTED, service_file, sheet_file
from tiny_files import write, write_sheet, write_workloads


@pytest.fixture
def solved(solve: Solve) -> Solved:
    return solve("13b-smallest-card")


@pytest.fixture(scope="module")
def reserving(tmp_path_factory: pytest.TempPathFactory) -> Solved:
    """Plan a service over the sheet beside it: it reserves, with an upfront part, and rents."""
    folder = tmp_path_factory.mktemp("reserving")
    rows = (f"{RENTED},", f"{COMMITTED.replace('no_upfront', 'partial_upfront')},200")
    workloads = service_file(folder, "policy: {price_trend_per_year: -0.25}")
    sheet, out = sheet_file(folder, *rows, header=f"{HEADER},upfront"), folder / "plan.json"
    arguments = ("plan", str(workloads), "--sheet", str(sheet), "--gap", "0", "--out", str(out))
    return Solved(workloads, out, run_apart(folder / "data", *arguments))


@pytest.fixture
def verify_changed(reserving: Solved, gpubroker: Gpubroker, tmp_path: Path) -> Gpubroker:
    """Verify a plan that reserves and rents, with one number of it changed.

    The path is keys and positions; RESERVED is the position of the first reservation.
    """
    solved = reserving

    def verify(path: str, new: Callable[[str], object], *options: str) -> Ended:
        plan = json.loads(solved.plan.read_bytes())
        kinds = [one["price_kind"] for one in plan["purchases"]]
        assert set(kinds) == {"reserved", "on_demand"}
        path = path.replace("RESERVED", str(kinds.index("reserved")))
        *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        at = plan
        for key in way:
            at = at[key]
        old, at[last] = at[last], new(str(at[last]))
        assert at[last] != old
        file = write(tmp_path / "changed.json", json.dumps(plan))
        sheet = str(solved.workloads.with_name("sheet.csv"))
        source = () if path == "catalog.snapshot" else ("--sheet", sheet)
        return gpubroker("verify", str(file), str(solved.workloads), *source, *options)

    return verify


def test_a_plan_is_accepted_with_its_total(solved: Solved, gpubroker: Gpubroker) -> None:
    ended = gpubroker("verify", str(solved.plan), str(solved.workloads))
    total = json.loads(solved.plan.read_bytes())["total_usd"]
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"accepted: {float(total):,.2f} USD in total, gap ")
    assert ended.out.endswith(" rules checked\n")


def test_the_verdict_is_told_as_data(reserving: Solved, gpubroker: Gpubroker) -> None:
    options = ("--sheet", str(reserving.workloads.with_name("sheet.csv")), "--format", "json")
    ended = gpubroker("verify", str(reserving.plan), str(reserving.workloads), *options)
    told = json.loads(ended.out)
    assert ended.code == 0
    assert (told["schema"], told["verdict"]) == ("gpubroker.verification/1", "accepted")
    assert (told["status"], told["violations"]) == ("optimal", [])
    assert told["rules"] >= 40


@pytest.mark.parametrize(
    ("path", "new", "told"),
    [
        ("offers.0.usd_per_hour", lambda old: f"{float(old) / 2:.6f}", "the offer differs"),
        ("purchases.0.usd", lambda old: f"{float(old) - 1:.6f}", "purchase_cost of"),
        ("purchases.RESERVED.upfront_usd", lambda _: "0", "upfront_usd is 0.000000; by its offer"),
        ("purchases.0.steps.0.nodes", lambda old: int(old) + 1, "node_hours of"),
        ("purchases.0.steps.0.from_at", lambda _: "2026-11-30T22:00:00Z", "not inside the hor"),
        ("purchases.RESERVED.steps.0.to_at", lambda _: "2026-12-01T18:00:00Z", "node_hours of"),
        (
            "serving.0.candidate.rates.0.requests_per_s",
            lambda old: float(old) * 1.0001,
            "serving_options of",
        ),
        ("serving.0.steps.0.requests_per_s.0", lambda old: float(old) / 2, "serve_load of"),
        ("bound_usd", lambda old: f"{float(old) + 1:.6f}", "proof of plan"),
        ("cost_lines.0.usd", lambda _: "1", "the cost lines add up to"),
        ("catalog.snapshot", lambda old: old[:-1] + "x", "the catalog never was"),
    ],
)
def test_a_plan_with_one_number_changed_is_refused_with_the_reason(
    path: str, new: Callable[[str], object], told: str, verify_changed: Gpubroker
) -> None:
    ended = verify_changed(path, new)
    assert ended.code == 2
    assert told in ended.err
    error, hint = ended.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")


def test_the_violations_are_told_as_data(verify_changed: Gpubroker) -> None:
    told = yaml.safe_load(verify_changed("purchases.0.usd", lambda _: "1", "--format", "yaml").out)
    assert told["verdict"] == "refused"
    assert set(told["violations"][0]) == {"rule", "subject", "message"}
    assert told["violations"][0]["rule"] == "purchase_cost"


def test_the_violations_are_a_table_of_80_columns(verify_changed: Gpubroker) -> None:
    table = verify_changed("purchases.0.usd", lambda _: "1").out.splitlines()
    assert table[0].split()[0] == "rule"
    assert any(line.startswith("purchase_cost") for line in table)
    assert max(map(len, table)) <= 80


def test_a_plan_for_other_workloads_is_refused(
    reserving: Solved, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    text = reserving.workloads.read_text().replace("peak: 11", "peak: 12")
    other, sheet = write(tmp_path / "w.yaml", text), reserving.workloads.with_name("sheet.csv")
    ended = gpubroker("verify", str(reserving.plan), str(other), "--sheet", str(sheet))
    assert ended.code == 2
    assert "the plan is for other workloads" in ended.err
    assert "peak: 11.0 is not 12.0" in ended.err


def test_many_violations_are_cut_in_a_table(
    solved: Solved, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    team, sheet = EXAMPLES / "7b-small-team.yaml", write_sheet(tmp_path)
    later = ("--sheet", str(sheet), "--as-of", "2026-11-20")  # the plan's prices are older
    ended = gpubroker("verify", str(solved.plan), str(team), *later)
    cut, error, _ = ended.err.splitlines()
    assert cut.endswith(" more; --format json has all")
    assert error.endswith(f" (and {int(cut.split()[0]) + 19} more)")


def test_a_sheet_whose_rows_are_all_of_a_later_day_is_not_that_of_a_plan(
    solved: Solved, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    sheet = str(write_sheet(tmp_path))
    ended = gpubroker("verify", str(solved.plan), str(solved.workloads), "--sheet", sheet)
    assert (ended.code, ended.out) == (2, "")
    assert "dated later (of 2026-11-20, the sheet is read as of" in ended.err


def test_quotes_that_came_after_a_plan_do_not_refuse_it(
    reserving: Solved, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    text = reserving.workloads.with_name("sheet.csv").read_text()
    rows = text.splitlines()
    cells = rows[1].split(",")
    newer = [cell.replace("2026-", "2027-") if cell.startswith("2026-") else cell for cell in cells]
    assert newer != cells
    sheet = write(tmp_path / "sheet.csv", "\n".join([*rows, ",".join(newer)]) + "\n")
    options = ("verify", str(reserving.plan), str(reserving.workloads), "--sheet", str(sheet))
    ended = gpubroker(*options)
    assert (ended.code, ended.err) == (0, "")


def test_a_plan_is_refused_over_another_catalog(
    reserving: Solved, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    sheet = str(write_sheet(tmp_path))
    ended = gpubroker("verify", str(reserving.plan), str(reserving.workloads), "--sheet", sheet)
    assert ended.code == 2
    assert "the plan is refused: inputs of catalog: the catalog snapshot is" in ended.err


def test_a_plan_from_the_store_is_checked_against_the_store(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    policy = "policy: {allow_stale: true, providers: {allow: [runpod]}}"
    workloads = write_workloads(tmp_path, ("services:", f"{policy}\nservices:"))
    out = tmp_path / "plan.json"
    assert gpubroker("refresh", "--recorded", "--provider", "runpod").code == 0
    assert gpubroker("plan", str(workloads), "--out", str(out)).code == 0
    assert gpubroker("verify", str(out), str(workloads)).out.startswith("accepted: ")
    wrong = gpubroker("verify", str(out), str(workloads), "--recorded")
    assert "the plan is refused: inputs of catalog: the catalog snapshot is" in wrong.err
