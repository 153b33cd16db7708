"""`gpubroker size` and `gpubroker measurements`, over a small price sheet."""

import json
from pathlib import Path

import pytest
from command_line import Gpubroker

from broker.domain.gpu import Precision
from broker.domain.parts import MOST
from cli import size_options
from cli.size_options import NumberFormat

COLUMNS = (
    "provider,instance_type,gpu_name,gpu_count,region,price,currency,price_kind,price_basis,"
    "observed_on"
)
SHEET = f"""{COLUMNS}
aws,p5.48xlarge,H100-SXM,8,us-east-1,55.04,USD,on_demand,instance,2026-11-20
aws,p5.48xlarge,H100-SXM,8,us-east-1,20.00,USD,spot,instance,2026-11-20
aws,g6.xlarge,L4,1,us-east-1,0.80,USD,on_demand,instance,2026-11-20
"""
SERVE = ("--serve", "--input", "2000", "--output", "300")
LIMITS = ("--ttft-p95", "800ms", "--tpot-p95", "40ms")
POINT = {
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.1-70B-Instruct",
    "max_concurrency": 8,
    "num_prompts": 100,
    "completed": 100,
    "total_input_tokens": 200_000,
    "total_output_tokens": 30_000,
    "mean_tpot_ms": 24.0,
    "mean_ttft_ms": 400.0,
    "output_throughput": 130.0,
}


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    path = tmp_path / "prices.csv"
    path.write_text(SHEET, encoding="utf-8")
    return str(path)


def test_number_formats_are_those_of_the_domain() -> None:
    assert [one.value for one in NumberFormat] == [one.value for one in Precision]


def test_the_largest_number_is_that_of_the_domain() -> None:
    assert size_options.MOST == MOST


@pytest.mark.parametrize(
    ("asked", "option"),
    [
        (("--serve", *LIMITS), "--input"),
        (("--serve", *LIMITS), "--output"),
        (("--train", "--tokens", "1B"), "--gpus"),
        (("--train", "--tokens", "1B"), "--batch-tokens"),
        (("--train", "--tokens", "1B", "--batch-tokens", str(MOST)), "--sequence-length"),
        (("--train",), "--tokens"),
    ],
)
def test_more_than_can_be_counted_is_refused(
    asked: tuple[str, ...], option: str, gpubroker: Gpubroker, sheet: str
) -> None:
    much = f"{MOST + 1}" if option != "--tokens" else "1e22"
    ended = gpubroker("size", "llama-3.1-8b", *asked, option, much, "--sheet", sheet)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: Invalid value for '{option}': ")


def test_what_serves_is_listed_by_price_and_what_does_not_with_why(
    gpubroker: Gpubroker, sheet: str
) -> None:
    ended = gpubroker(
        "size", "llama-3.1-70b", *SERVE, *LIMITS, "--sheet", sheet, "--format", "json"
    )
    assert ended.code == 0
    told = json.loads(ended.out)
    prices = [row["usd_per_million_output_tokens"] for row in told["replicas"]]
    assert prices == sorted(prices)
    best = told["replicas"][0]
    assert best["gpu"] == "H100-SXM"
    assert best["offer"] == "aws/p5.48xlarge/us-east-1@on_demand"
    by_hand = 55.04 / 8 * best["gpus"] / (best["tokens_per_s"] * 3600) * 1e6
    assert best["usd_per_million_output_tokens"] == pytest.approx(by_hand, rel=1e-4)
    assert best["ttft_s"] <= 0.8
    assert best["tpot_s"] <= 0.04
    (misfit,) = [row for row in told["unfit"] if row["precision"].startswith("fp8")]
    assert misfit["shape"] == "1×L4"
    assert "does not fit by" in misfit["detail"]


def test_the_table_keeps_to_eighty_characters_but_for_offers(
    gpubroker: Gpubroker, sheet: str
) -> None:
    ended = gpubroker("size", "llama-3.1-8b", *SERVE, *LIMITS, "--sheet", sheet)
    assert ended.code == 0
    assert all(len(line) <= 80 for line in ended.out.splitlines() if "@" not in line)
    assert "90 % band of the rate" in ended.err


def test_a_run_has_days_and_cost_on_demand_and_on_spot(gpubroker: Gpubroker, sheet: str) -> None:
    ended = gpubroker(
        "size", "llama-3.1-8b", "--train", "--tokens", "10B", "--deadline", "30d",
        "--sheet", sheet, "--format", "json",
    )  # fmt: skip
    assert ended.code == 0
    row = json.loads(ended.out)["clusters"][0]
    assert (row["gpu"], row["gpus"] % 8) == ("H100-SXM", 0)
    assert row["usd_total"] == pytest.approx(55.04 * row["nodes"] * 24 * row["days"], rel=1e-3)
    assert row["spot_usd_total"] < row["usd_total"]
    assert row["spot_days"] > row["days"]


def test_what_is_too_slow_for_the_deadline_says_its_days(gpubroker: Gpubroker, sheet: str) -> None:
    ended = gpubroker(
        "size", "llama-3.1-8b", "--train", "--tokens", "10B", "--deadline", "1h", "--sheet", sheet
    )
    assert ended.code == 0
    assert "> 0.0416667 d" in ended.out
    assert "no shape trains it in time" in ended.err


def test_a_configuration_file_is_a_model(gpubroker: Gpubroker, sheet: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, '
        '"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, '
        '"vocab_size": 128256}',
        encoding="utf-8",
    )
    ended = gpubroker("size", str(config), *SERVE, *LIMITS, "--sheet", sheet, "--format", "json")
    assert ended.code == 0
    assert json.loads(ended.out)["params_b"] == pytest.approx(8.03, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("llama-3.1-80b", *SERVE, *LIMITS), "llama-3.1-70b"),
        (("llama-3.1-8b", *LIMITS), "give one of --serve and --train"),
        (("llama-3.1-8b", *SERVE, "--ttft-p95", "800ms"), "give one limit of the TPOT"),
        (("llama-3.1-8b", *SERVE, "--ttft-p95", "800", "--tpot-p95", "40ms"), "no duration"),
        (("llama-3.1-8b", "--train"), "--train needs --tokens"),
        (("llama-3.1-8b", "--train", "--tokens", "many"), "no number of tokens"),
        (("llama-3.1-8b", *SERVE, *LIMITS, "--gpu", "h1000"), "H100"),
        (("llama-3.1-8b", *SERVE, *LIMITS, "--provider", "gcp"), "no offer is left"),
        (("nowhere.json", *SERVE, *LIMITS), "nowhere.json"),
    ],
)
def test_a_wrong_question_says_what_is_wrong(
    arguments: tuple[str, ...], said: str, gpubroker: Gpubroker, sheet: str
) -> None:
    ended = gpubroker("size", *arguments, "--sheet", sheet)
    assert ended.code == 2
    assert said in ended.err


def test_three_imported_points_slow_their_deployment_and_no_other(
    gpubroker: Gpubroker, sheet: str, tmp_path: Path
) -> None:
    def rate(model: str) -> float:
        ended = gpubroker(
            "size", model, *SERVE, *LIMITS, "--precision", "fp8", "--gpu", "h100",
            "--layouts", "--sheet", sheet, "--format", "json",
        )  # fmt: skip
        rows = json.loads(ended.out)["replicas"]
        found = next(row["requests_per_s"] for row in rows if row["layout"] == "tp4")
        assert isinstance(found, float)
        return found

    before = {one: rate(one) for one in ("llama-3.1-70b", "qwen2.5-72b")}
    file = tmp_path / "bench.json"
    measured = {8: 22.0, 16: 26.0, 32: 34.0}
    runs = [POINT | {"max_concurrency": one, "mean_tpot_ms": ms} for one, ms in measured.items()]
    file.write_text("\n".join(json.dumps(one) for one in runs), encoding="utf-8")
    options = ("--gpu", "H100-SXM", "--gpus", "4", "--precision", "fp8")
    done = gpubroker("measurements", "import", str(file), *options, "--format", "json")
    assert done.code == 0
    assert "vLLM bench serve: 3 points taken, 3 kept" in done.err
    (kept,) = json.loads(done.out)["deployments"]
    assert (kept["model"], kept["points"], kept["used"]) == ("llama-3.1-70b", 3, "yes")
    again = gpubroker("measurements", "import", str(file), *options)
    assert "3 points taken, 3 kept" in again.err  # the same places
    assert rate("llama-3.1-70b") < 0.9 * before["llama-3.1-70b"]
    assert rate("qwen2.5-72b") == before["qwen2.5-72b"]
    assert "llama-3.1-70b" in gpubroker("measurements", "list").out


def test_an_import_says_what_is_missing(gpubroker: Gpubroker, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    file.write_text(json.dumps(POINT), encoding="utf-8")
    ended = gpubroker("measurements", "import", str(file))
    assert ended.code == 2
    assert "the file does not say the gpu" in ended.err
    assert not (tmp_path / "data" / "measurements.csv").exists()


def test_slices_are_listed_where_they_are_asked_for_at_offers_that_can_be_cut(
    gpubroker: Gpubroker, tmp_path: Path
) -> None:
    rows = (
        "runpod,box,H100-SXM,1,US-TX-3,1.00,USD,on_demand,instance,2026-11-20",
        "aws,p5.4xlarge,H100-SXM,1,us-east-1,4.00,USD,on_demand,instance,2026-11-20",
    )
    path = tmp_path / "cut.csv"
    path.write_text("\n".join((COLUMNS, *rows, "")), encoding="utf-8")
    asked = ("size", "qwen3-1.7b", *SERVE, *LIMITS, "--sheet", str(path), "--format", "json")
    whole = json.loads(gpubroker(*asked).out)["replicas"]
    assert {row["gpu"] for row in whole} == {"H100-SXM"}
    both = json.loads(gpubroker(*asked, "--mig").out)["replicas"]
    assert {row["offer"] for row in both if row["gpu"] == "H100-SXM"} == {
        "runpod/box/US-TX-3@on_demand"
    }
    cut = [row for row in both if row["gpu"] != "H100-SXM"]
    assert {row["gpu"] for row in cut} == {"H100-SXM-1g.20gb", "H100-SXM-3g.40gb"}
    assert {row["offer"] for row in cut} == {"aws/p5.4xlarge/us-east-1@on_demand"}
    for row in cut:
        part = 4 if "1g" in row["gpu"] else 2
        usd = 4.0 / part / (row["tokens_per_s"] * 3600) * 1e6
        assert row["usd_per_million_output_tokens"] == pytest.approx(usd, rel=1e-3)
