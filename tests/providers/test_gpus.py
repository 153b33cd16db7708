"""The GPU of a row: a type that is known, unless the row denies it, else what the row says."""

from fractions import Fraction

import pytest

from broker.specs.load import Specs, Unresolved, load_specs
from providers.kit.gpus import gpu_of

ONE, EIGHT = Fraction(1), Fraction(8)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def reason(found: str | Unresolved) -> str:
    assert isinstance(found, Unresolved), found
    return found.reason


def test_a_known_type_decides_what_the_name_leaves_open(specs: Specs) -> None:
    known = specs.node("lambda", "gpu_8x_a100")
    assert gpu_of(specs, ["A100"], known=known, gpu_count=EIGHT) == "A100-40-SXM"


def test_a_name_that_may_mean_it_outweighs_one_with_the_wrong_form(specs: Specs) -> None:
    known = specs.node("lambda", "gpu_8x_a100")
    names = ["A100 pcie", "A100"]
    assert gpu_of(specs, names, known=known, provider="shadeform") == "A100-40-SXM"


@pytest.mark.parametrize(
    ("names", "count", "memory_gib", "expected"),
    [
        (["A100"], ONE, None, "contradicts_known_type"),
        (["A100"], EIGHT, 80.0, "contradicts_known_type"),
        (["H100 SXM5", "H100"], EIGHT, None, "contradicts_known_type"),
        (["Z9000"], EIGHT, None, "unknown_gpu"),
        ([], EIGHT, None, "unknown_gpu"),
    ],
)
def test_a_row_that_denies_a_known_type_is_refused(
    specs: Specs, *, names: list[str], count: Fraction, memory_gib: float | None, expected: str
) -> None:
    known = specs.node("lambda", "gpu_8x_a100")
    found = gpu_of(specs, names, known=known, gpu_count=count, memory_gib=memory_gib)
    assert reason(found) == expected


def test_without_a_known_type_the_first_name_that_can_be_read_counts(specs: Specs) -> None:
    assert gpu_of(specs, ["n9-L40Sx8", "L40S", "L40"]) == "L40S"
    assert gpu_of(specs, ["A100 SXM4", "A100"], memory_gib=80) == "A100-80-SXM"


def test_without_a_name_that_can_be_read_the_last_failure_is_told(specs: Specs) -> None:
    assert reason(gpu_of(specs, ["n9-A100", "A100"], memory_gib=80)) == "ambiguous_gpu"
    assert reason(gpu_of(specs, [])) == "unknown_gpu"
