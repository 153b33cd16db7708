"""Whatever is wrong, a person reads one message with the place, the value and the remedy."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line import EXAMPLES, Ended, Gpubroker
from tiny_files import HEADER, RUN, write, write_sheet, write_workloads

TEAM = str(EXAMPLES / "7b-small-team.yaml")
BY_MONTH = "policy: {budgets: [{usd_per_calendar_month: 9}]}"
QUOTE = "acme,box,H100-SXM,8,here,on_demand,16.00,USD,2026-05-01"


def assert_tells(ended: Ended, told: Sequence[str], remedy: str, code: int = 2) -> None:
    """Assert that a command ended with one error that tells, and a hint that helps."""
    assert (ended.code, ended.out) == (code, "")
    lines = ended.err.splitlines()
    assert [line[:6] for line in lines if line.startswith(("error:", "hint:"))] == [
        "error:",
        "hint: ",
    ]
    assert lines[0].startswith("error: ")
    assert all(words in ended.err for words in told), ended.err
    assert remedy in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("old", "new", "told", "remedy"),
    [
        ("mistral-7b", "mistrl-7b", ["services[0].model", "'mistrl-7b'"], "mistral-7b"),
        (
            "requests_per_s",
            "request_per_s",
            ["services[0].traffic.request_per_s: there is no such key"],
            "did you mean 'requests_per_s'?",
        ),
        (
            "precisions: [bf16]",
            "precisions: [bf17]",
            ["services[0].precisions[0]", "'bf17'"],
            "input should be 'bf16', 'fp16'",
        ),
        (
            "{eu-central: 1.0}",
            "{mars: 1.0}",
            ["services[0].users", "'mars'"],
            "did you mean one of",
        ),
        (
            "{eu-central: 1.0}",
            "{eu-central: 0.6, eu-west: 0.3}",
            ["services[0].users", "add up to 0.9"],
            "must add up to 1",
        ),
        ("2026-12-01", "20261201", ["horizon.start: 20261201 is no date"], "write 2026-12-01"),
        ("2026-12-01", "9999-12-31", ["start 9999-12-31 is too late"], "write an earlier day"),
        ("peak: 2", "peak: 1e9", ["requests_per_s.peak", "'1e9'"], "less than or equal to 1000000"),
        ("share: 0.2", "share: 0.1", ["services[0]", "sizes add up to 0.9"], "must add up to 1"),
        ("share: 0.2", "share: -0.2", ["services[0].sizes[1].share", "-0.2"], "greater than"),
        ("peak: 2", "peak: 0.5", ["requests_per_s: peak 0.5 is below mean 1"], "is the highest"),
        ("Europe/Berlin", "Berlin", ["timezone", "'Berlin'"], "write one such as"),
        ("p95: 2 s", "p95: 2", ["services[0].slo.ttft.p95: 2 has no unit"], "12 min or 800 ms"),
        ("p95: 2 s", "p95: 2 sec", ["slo.ttft.p95", "'2 sec'"], "units: ms, s, min, h, d"),
        ("{p95: 2 s}", "{p97: 2 s}", ["slo.ttft.p97: there is no such key"], "did you mean 'p99'"),
        ("slot: 6h", "slot: 5h", ["horizon: slot 5:00:00 does not divide a day"], "use 1h, 2h"),
        (
            "days: 1, slot: 6h",
            "days: 300, slot: 1h",
            ["horizon: 300 days in slots of 1:00:00", "2000 slots"],
            "use a longer slot or fewer days",
        ),
        ("start: 2026-12-01", "start: 2026-13-01", ["horizon.start", "'2026-13-01'"], "write 2026"),
        ("users: {", "users: {{", ["broken YAML at line 13, column 1"], "check the indentation"),
        ("horizon:", "policy: {}\npolicy: {}\nhorizon:", ["line 3", "'policy'"], "keep one"),
        ("schema: gpubroker.workloads/1\n", "", ["schema: this key is missing"], "add it"),
        ("workloads/1", "workloads/9", ["schema", "'gpubroker.workloads/9'"], "workloads/1'"),
        (
            "horizon:",
            "policy: {min_zones: 2}\nhorizon:",
            ["policy.min_zones: a number of zones cannot"],
            "remove the key",
        ),
        (
            "services:",
            "quotas: [{provider: aws, gpu: H100-SMX, gpus: 8}]\nservices:",
            ["quotas[0].gpu", "'H100-SMX'"],
            "did you mean one of: H100-SXM",
        ),
        (
            "services:",
            "quotas: [{provider: asw, gpus: 8}]\nservices:",
            ["quotas[0].provider", "'asw'"],
            "did you mean 'aws'?",
        ),
        (
            "services:",
            "policy: {providers: {deny: [vasst]}}\nservices:",
            ["policy.providers.deny", "'vasst'"],
            "did you mean 'vast'?",
        ),
        (
            "services:",
            "policy: {regions: {deny: [Germany]}}\nservices:",
            ["policy.regions.deny", "'Germany'"],
            "write 'de'",
        ),
        (
            "services:",
            "policy: {budget_usd_per_month: 1e+400}\nservices:",
            ["policy.budget_usd_per_month: 1E+400 USD is more than can be counted"],
            "write less",
        ),
        (
            "services:",
            f"quotas: [{{provider: aws, gpus: 1{'0' * 400}}}]\nservices:",
            ["quotas[0].gpus: 1000"],
            "less than or equal to 1000000000",
        ),
        (
            "services:",
            f"inventory: [{{offer: aws/p5.48xlarge/us-east-1, nodes: 1{'0' * 400}}}]\nservices:",
            ["inventory[0].nodes: 1000"],
            "less than or equal to 1000000000",
        ),
        (
            "services:",
            "policy: {surcharges: [{rate: 0}]}\nservices:",
            ["policy.surcharges[0].rate"],
            "greater than 0",
        ),
        (
            "services:",
            "policy: {surcharges: [{rate: 0.1}], commitments: {savings_plans: true}}\nservices:",
            ["surcharges and commitments.savings_plans cannot be had together"],
            "turn savings_plans off",
        ),
        (
            "services:",
            "policy: {isolated: [chad]}\nservices:",
            ["policy.isolated[0]: there is no workload 'chad'; there are: "],
            "",
        ),
        (
            "services:",
            "inventory: [{offer: a/b/c, nodes: 1, isolated_for: chat}]\nservices:",
            ["inventory[0].isolated_for: 'chat' is not in policy.isolated, which has: none"],
            "",
        ),
        (
            "start: 2026-12-01, days: 1, slot: 6h}\n",
            f"start: 2026-11-30T20:00:00Z, days: 1, slot: 6h}}\n{BY_MONTH}\n",
            ["policy.budgets[0].usd_per_calendar_month: a slot of 6:00:00", "2026-12-01"],
            "let the horizon start at 00:00 UTC",
        ),
        (
            "services:",
            "policy: {budgets: [{usd: 9, usd_per_calendar_month: 9}]}\nservices:",
            ["policy.budgets[0]: give exactly one of usd_per_hour"],
            "",
        ),
        (
            "    users: {",
            "    min_up_time: 30 h\n    users: {",
            ["services[0].min_up_time: 1 day, 6:00:00 is more than a day"],
            "write 24 h or less",
        ),
        (
            "services:",
            "policy: {budget_usd_per_month: -5}\nservices:",
            ["policy.budget_usd_per_month", "-5"],
            "greater than or equal to 0",
        ),
        (
            "services:",
            "inventory: [{offer: aws/p4d/us-east-1, nodes: 2}]\nservices:",
            ["inventory[0].offer", "'aws/p4d/us-east-1'"],
            "provider/instance-type/region",
        ),
    ],
)
def test_a_workloads_file_with_a_mistake(
    *,
    old: str,
    new: str,
    told: list[str],
    remedy: str,
    gpubroker: Gpubroker,
    tmp_path: Path,
) -> None:
    workloads, sheet = write_workloads(tmp_path, (old, new)), write_sheet(tmp_path)
    assert_tells(gpubroker("plan", str(workloads), "--sheet", str(sheet)), told, remedy)


@pytest.mark.parametrize(
    ("old", "new", "told", "remedy"),
    [
        (
            "deadline: 2026-12-02",
            "deadline: 2026-11-30",
            ["training[0].window", "deadline 2026-11-30", "is not after earliest 2026-12-01"],
            "move one of them",
        ),
        (
            "{earliest: 2026-12-01, deadline: 2026-12-02}",
            "{earliest: 2027-01-01, deadline: 2027-01-09}",
            ["training[0].window: 2027-01-01 to 2027-01-09 lies outside the horizon"],
            "move the window or the horizon",
        ),
        (
            "tokens: 1.0e+8",
            "tokens: 1.0e+300",
            ["training[0].tokens: 1e+300"],
            "less than or equal",
        ),
        (
            "method: lora",
            "data: {at: aws/eu-central-1, size: 1e300 PB}",
            ["training[0].data.size: 1e+306"],
            "less than or equal",
        ),
        ("name: tune", "name: chat", ["the name 'chat' is used twice"], "each workload needs its"),
    ],
)
def test_a_training_run_with_a_mistake(
    *,
    old: str,
    new: str,
    told: list[str],
    remedy: str,
    gpubroker: Gpubroker,
    tmp_path: Path,
) -> None:
    workloads, sheet = write_workloads(tmp_path, (old, new), more=RUN), write_sheet(tmp_path)
    assert_tells(gpubroker("plan", str(workloads), "--sheet", str(sheet)), told, remedy)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "is empty"), ("- chat\n- search\n", "is a list"), ("chat", "is only 'chat'")],
)
def test_a_workloads_file_that_is_no_mapping(
    text: str, told: str, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    workloads = write(tmp_path / "w.yaml", text)
    ended = gpubroker("plan", str(workloads), "--recorded")
    assert_tells(ended, [str(workloads), told], "begin it with `schema: gpubroker.workloads/1`")


def test_several_mistakes_are_told_at_once(gpubroker: Gpubroker, tmp_path: Path) -> None:
    workloads = write_workloads(tmp_path, ("bf16", "bf17"), ("peak: 2", "peak: much"))
    ended = gpubroker("plan", str(workloads), "--recorded")
    assert_tells(ended, ["precisions[0]: 'bf17'", "peak: 'much'"], "gpubroker schema workloads")


def test_a_workloads_file_that_is_not_there(gpubroker: Gpubroker, tmp_path: Path) -> None:
    missing = tmp_path / "nothing.yaml"
    ended = gpubroker("plan", str(missing), "--recorded")
    assert_tells(ended, [repr(str(missing)), "No such file"], "gpubroker examples")


def test_an_empty_catalog(gpubroker: Gpubroker) -> None:
    ended = gpubroker("plan", TEAM)
    assert_tells(ended, ["the catalog is empty"], "gpubroker refresh --recorded")


def test_a_sheet_that_is_not_there(gpubroker: Gpubroker, tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing.csv")
    ended = gpubroker("plan", TEAM, "--sheet", missing)
    assert_tells(ended, [missing, "there is no such file"], "check the path")


@pytest.mark.parametrize(
    ("old", "new", "told", "remedy"),
    [
        ("16.00", "-16.00", ["row 2, column price", "'-16.00' is below zero"], "correct the price"),
        ("16.00", "cheap", ["row 2, column price", "'cheap'"], "hint: "),
        ("USD", "XYZ", ["row 2, column price", "XYZ", "no rate of 2026-05-01"], "convert it"),
        ("on_demand", "on-demnd", ["row 2, column price_kind", "'on-demnd'"], "on_demand"),
        ("H100-SXM", "H100-SMX", ["there is no offer in it", "'H100-SMX'"], "correct the rows"),
        ("2026-05-01", "2026-05-41", ["row 2, column observed_on", "'2026-05-41'"], "2026-"),
    ],
)
def test_a_sheet_with_a_mistake(
    *,
    old: str,
    new: str,
    told: list[str],
    remedy: str,
    gpubroker: Gpubroker,
    tmp_path: Path,
) -> None:
    sheet = write_sheet(tmp_path, QUOTE.replace(old, new))
    ended = gpubroker("plan", TEAM, "--sheet", str(sheet))
    assert_tells(ended, [str(sheet), *told], remedy)


def test_a_sheet_with_a_column_that_nobody_knows(gpubroker: Gpubroker, tmp_path: Path) -> None:
    sheet = write_sheet(tmp_path, f"{QUOTE},red", header=f"{HEADER},colour")
    ended = gpubroker("plan", TEAM, "--sheet", str(sheet))
    assert_tells(ended, [str(sheet), "unknown column 'colour'"], "docs/price-sheets.md")


@pytest.mark.parametrize(
    ("options", "told", "remedy"),
    [
        (["--gap", "2"], ["--gap 2"], "write 0.01 for one percent"),
        (["--gap", "nan"], ["--gap nan"], "write 0.01 for one percent"),
        (["--gap", "1%"], ["'--gap'", "'1%' is no number like 0.5"], "gpubroker plan --help"),
        (["--gap=small"], ["'--gap'", "'small' is no number"], "gpubroker plan --help"),
        (["--seed", "1.5"], ["'--seed'", "'1.5' is no whole number"], "gpubroker plan --help"),
        (["--time-limit", "0"], ["--time-limit 0"], "write 60 for a minute"),
        (["--time-limit", "inf"], ["--time-limit inf"], "write 60 for a minute"),
        (["--seed", "-1"], ["--seed -1"], "write a number such as 0"),
        (["--sheet", "prices.csv"], ["--recorded, --sheet and --snapshot"], "give one of them"),
        (["--as-of", "0001-01-01T00:00+14:00"], ["00:00+14:00' is no date"], "write it as 2026"),
        (["--as-of", "soon"], ["--as-of 'soon'"], "write it as 2026-12-01"),
        (["--format", "xml"], ["'--format'", "'xml'", "'table', 'json'"], "gpubroker plan --help"),
        (["--prise", "3"], ["--prise"], "gpubroker plan --help"),
        (["--out", TEAM], [f"--out {TEAM!r}", "overwrite an input"], "give another path"),
        (["--out", str(EXAMPLES)], [repr(str(EXAMPLES)), "is a folder"], "examples/plan.json"),
        (["--out", "/nowhere/plan.json"], ["'/nowhere/plan.json'", "No such"], "check its folder"),
    ],
)
def test_an_option_with_a_mistake(
    options: list[str], told: list[str], remedy: str, gpubroker: Gpubroker
) -> None:
    assert_tells(gpubroker("plan", TEAM, "--recorded", *options), told, remedy)


@pytest.mark.parametrize(
    ("arguments", "told", "remedy"),
    [
        (["plan"], ["Missing argument 'WORKLOADS'"], "gpubroker plan --help"),
        (["plna"], ["No such command 'plna'"], "gpubroker --help"),
        (["plan", TEAM, "--snapshot", "abc"], ["catalog never was 'abc'"], "the hash of a plan"),
        (["offers", "--recorded", "--provider", "lamda"], ["provider 'lamda'"], "lambda"),
        (["offers", "--recorded", "--gpu", "h1000"], ["unknown GPU 'h1000'"], "H100-SXM"),
        (["examples", "nothing"], ["no example 'nothing'"], "company.yaml"),
        (["schema", "offers"], ["'KIND'", "'offers'", "'workloads', 'plan'"], "schema --help"),
    ],
)
def test_a_command_with_a_mistake(
    arguments: list[str], told: list[str], remedy: str, gpubroker: Gpubroker
) -> None:
    assert_tells(gpubroker(*arguments), told, remedy)


def test_an_output_that_cannot_be_written_is_told_before_the_work(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    folder = write(tmp_path / "file", "no folder")
    ended = gpubroker("plan", str(tmp_path / "nothing.yaml"), "--out", str(folder / "plan.json"))
    assert_tells(ended, ["--out", "Not a directory"], "give another path")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I will buy eight GPUs", "Invalid JSON"),
        ("{}", "status: Field required"),
        ('{"schema": "gpubroker.plan/9"}', "schema: Input should be 'gpubroker.plan/1'"),
    ],
)
def test_a_plan_file_that_is_none(
    text: str, told: str, gpubroker: Gpubroker, tmp_path: Path
) -> None:
    plan = write(tmp_path / "plan.json", text)
    ended = gpubroker("verify", str(plan), TEAM)
    assert_tells(ended, [repr(str(plan)), "is no valid plan", told], "make it again")


def test_a_plan_file_that_is_not_there(gpubroker: Gpubroker, tmp_path: Path) -> None:
    missing = str(tmp_path / "plan.json")
    ended = gpubroker("verify", missing, TEAM)
    assert_tells(ended, [repr(missing), "No such file"], "check the path")


def test_a_plan_file_that_was_cut_short(gpubroker: Gpubroker, tmp_path: Path) -> None:
    workloads, sheet = write_workloads(tmp_path), write_sheet(tmp_path)
    plan = tmp_path / "plan.json"
    gpubroker("plan", str(workloads), "--sheet", str(sheet), "--out", str(plan))
    whole = plan.read_text(encoding="utf-8")
    write(plan, whole[: len(whole) // 2])
    ended = gpubroker("verify", str(plan), TEAM)
    assert_tells(ended, [repr(str(plan)), "Invalid JSON: EOF while"], "make it again")
