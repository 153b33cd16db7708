"""The slices that GPUs are cut into: a quarter and a half of each model that supports it."""

from fractions import Fraction

import pytest

from broker.specs.load import Specs, load_specs

_QUARTER, _HALF = Fraction(1, 4), Fraction(1, 2)


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def test_each_model_that_can_be_cut_has_a_quarter_and_a_half(specs: Specs) -> None:
    assert specs.slices.keys() <= specs.gpus.keys()
    for own in specs.slices.values():
        assert [one.gpu_slice.gpu_share for one in own] == [_QUARTER, _HALF]


@pytest.mark.parametrize(
    ("gpu", "profiles"),
    [
        ("A30", ["1g.6gb", "2g.12gb"]),
        ("A100-40-SXM", ["1g.10gb", "3g.20gb"]),
        ("A100-80-PCIe", ["1g.20gb", "3g.40gb"]),
        ("H100-SXM", ["1g.20gb", "3g.40gb"]),
        ("H100-NVL", ["1g.24gb", "3g.47gb"]),
        ("H200-SXM", ["1g.35gb", "3g.71gb"]),
        ("B200", ["1g.45gb", "3g.90gb"]),
        ("RTXPRO6000", ["1g.24gb", "2g.48gb"]),
    ],
)
def test_profiles_are_those_of_the_vendor(specs: Specs, gpu: str, profiles: list[str]) -> None:
    assert [one.gpu_slice.profile for one in specs.slices[gpu]] == profiles


@pytest.mark.parametrize("gpu", ["L40S", "L4", "A10G", "RTX4090", "RTX5090", "RTXA6000", "MI300X"])
def test_gpus_without_mig_have_no_slices(specs: Specs, gpu: str) -> None:
    assert gpu in specs.gpus
    assert gpu not in specs.slices


def test_a_slice_has_no_more_than_its_part(specs: Specs) -> None:
    """Memory less what the partition takes; compute in sevenths, of which three are a half."""
    for name, own in specs.slices.items():
        whole = specs.gpus[name]
        for one in own:
            part, cut = float(one.gpu_slice.gpu_share), one.gpu
            assert cut.form == "MIG"
            assert cut.memory_gib == pytest.approx(part * whole.memory_gib * 0.98, abs=0.01)
            assert cut.memory_gb_per_s == pytest.approx(part * whole.memory_gb_per_s, rel=1e-3)
            assert whole.bf16_tflops is not None
            assert cut.bf16_tflops is not None
            assert 0.1 * whole.bf16_tflops < cut.bf16_tflops <= 0.5 * whole.bf16_tflops
