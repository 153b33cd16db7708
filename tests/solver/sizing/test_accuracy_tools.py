"""The tools that judge estimates: recipes of sources, both kinds of memory."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from broker.domain.workload import Method
from broker.specs.load import Specs

ROOT = Path(__file__).parents[3]
TOOLS = ROOT / "tools" / "accuracy"
SPECS = ROOT / "broker" / "specs"

Cells = dict[str, str]


@pytest.fixture(scope="module")
def tools() -> Iterator[Mapping[str, ModuleType]]:
    """Load the tools by name."""
    before = list(sys.path)
    sys.path[:0] = [str(TOOLS), str(TOOLS.parent)]
    try:
        import judge_memory  # noqa: PLC0415 - a tool, no package
        import memory_recipes  # noqa: PLC0415 - a tool, no package
        import validate_sizing  # noqa: PLC0415 - a tool, no package

        yield {"judge": judge_memory, "recipes": memory_recipes, "validate": validate_sizing}
    finally:
        sys.path[:] = before


def cells_of(**told: str) -> Cells:
    usual = {"source": "", "method": "LoRA", "model": "Llama 2", "gpus": "1", "optimizer": "AdamW"}
    return {**usual, "unit": "GB", "sharding": "none", **told}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        # 32 layers of 4 × 8192 on attention and 3 × 15104 on the MLP, times the rank
        ("github.com/QwenLM/Qwen README.md", 64 * 32 * (32_768 + 45_312)),
        ("MLPerf Training v5.0", 16 * 32 * 32_768),
        ("github.com/Lightning-AI/litgpt tutorials", 8 * 32 * 32_768),
        ("github.com/pytorch/torchtune README.md", 8 * 32 * (32_768 + 45_312)),
        ("a page that tells nothing", None),
    ],
)
def test_adapters_have_the_rank_of_their_recipe(
    tools: Mapping[str, ModuleType], specs: Specs, *, source: str, told: float | None
) -> None:
    found = tools["recipes"].adapters_by_recipe(
        specs.llm("llama-2-7b"), Method.LORA, cells_of(source=source)
    )
    assert found == told


def test_litgpt_keeps_the_head_of_a_tied_network_apart(
    tools: Mapping[str, ModuleType], specs: Specs
) -> None:
    tied, untied = specs.llm("gemma-2-9b"), specs.llm("llama-2-7b")
    apart = tools["recipes"].sized_by_recipe(tied, "github.com/Lightning-AI/litgpt")
    assert apart.params_b == pytest.approx(tied.params_b + tied.vocab * tied.hidden / 1e9)
    assert tools["recipes"].sized_by_recipe(tied, "torchtune") == tied
    assert tools["recipes"].sized_by_recipe(untied, "github.com/Lightning-AI/litgpt") == untied


def test_what_nvidia_smi_shows_has_the_context_of_the_driver(
    tools: Mapping[str, ModuleType],
) -> None:
    context = tools["recipes"].context_bytes
    assert context(cells_of(unit="GB (nvidia-smi style)")) == 1113 * 2**20
    assert context(cells_of()) == 0


def test_start_logs_are_told_from_peaks_by_their_columns(
    tools: Mapping[str, ModuleType], specs: Specs, tmp_path: Path
) -> None:
    found = tools["judge"].judge(SPECS / "measurements_memory_serving.csv", specs)
    weights = [one for one in found if one.metric == "weights_gib"]
    assert all(one.error < 0.02 for one in weights)
    assert len(weights) > 5
    rows = (SPECS / "measurements_memory_serving.csv").read_text(encoding="utf-8").splitlines()
    unknown = tmp_path / "logs.csv"
    unknown.write_text("\n".join([rows[0], rows[1].replace("H100-SXM", "H999")]), encoding="utf-8")
    assert [one.reason for one in tools["judge"].judge(unknown, specs)] == ["gpu_or_model_unknown"]


def test_a_file_of_another_kind_is_said_to_be_one(
    tools: Mapping[str, ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = tmp_path / "prices.csv"
    other.write_text("id,price\n1,2\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["validate_sizing.py", "training", str(other)])
    assert tools["validate"].main() == 2
    assert "prices.csv has no column 'gpu'" in capsys.readouterr().err
