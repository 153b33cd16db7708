"""A second opinion: the search over requests in flight, and NVIDIA's package as an estimator."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.gpu import Precision
from broker.domain.latency import LatencyObjective, Percentile
from broker.planning.sizing import aiconfigurator
from broker.planning.sizing.aiconfigurator import AiConfigurator, open_estimator
from broker.planning.sizing.asked import Among, ServeAsked
from broker.planning.sizing.opinion import Estimate, NoEstimate, Replica, best_of
from broker.specs.load import load_specs

ASKED = ServeAsked(
    model="llama-3.1-70b",
    input_tokens=2000,
    output_tokens=300,
    slo=LatencyObjective(
        ttft=Percentile(p95=timedelta(milliseconds=800)),
        tpot=Percentile(p95=timedelta(milliseconds=40)),
    ),
    precisions=(Precision.FP8,),
    among=Among(),
)
REPLICA = Replica(load_specs().llm("llama-3.1-70b"), "H100-SXM", "fp8", 2, 2000, 300)


class Linear:
    """Takes 10 ms a token, and half a ms for each request in flight."""

    name = "linear"

    def estimate(self, replica: Replica, in_flight: int) -> Estimate | NoEstimate:
        tpot_s = 0.01 + 0.0005 * in_flight
        return Estimate(0.1, tpot_s, in_flight / (replica.output_tokens * tpot_s))


def test_the_most_requests_within_the_limits_are_found() -> None:
    """10 ms + 0.5 ms × 60 = 40 ms; the search ends within an eighth of it."""
    found = best_of(Linear(), REPLICA, ASKED)
    assert not isinstance(found, NoEstimate)
    in_flight, estimate = found
    assert 60 * 7 / 8 <= in_flight <= 60
    assert estimate.tpot_s <= 0.04


def test_who_misses_a_limit_alone_says_by_how_much() -> None:
    strict = ASKED.slo.model_copy(update={"tpot": Percentile(p95=timedelta(milliseconds=5))})
    found = best_of(
        Linear(), REPLICA, ServeAsked("m", 2000, 300, strict, (Precision.FP8,), Among())
    )
    assert isinstance(found, NoEstimate)
    assert "TPOT 10 ms" in found.detail or "TPOT 11 ms" in found.detail


def test_the_package_is_asked_in_its_own_words() -> None:
    asked: dict[str, object] = {}

    def ask(**arguments: object) -> SimpleNamespace:
        asked.update(arguments)
        return SimpleNamespace(ttft=382.2, tpot=37.5, seq_per_second=2.76)

    found = AiConfigurator(ask, "0.12.0").estimate(REPLICA, 32)
    assert found == Estimate(ttft_s=0.3822, tpot_s=0.0375, requests_per_s=2.76)
    assert asked == {
        "model_path": "meta-llama/Meta-Llama-3.1-70B",
        "system_name": "h100_sxm",
        "backend_name": "vllm",
        "isl": 2000,
        "osl": 300,
        "batch_size": 32,
        "tp_size": 2,
        "gemm_quant_mode": "fp8",
        "moe_tp_size": None,
        "moe_ep_size": None,
        "moe_quant_mode": None,
    }


def test_what_the_package_refuses_is_no_estimate() -> None:
    def ask(**_: object) -> SimpleNamespace:
        raise RuntimeError("OOM: the model does not fit. Try increasing tp_size")

    found = AiConfigurator(ask, "").estimate(REPLICA, 32)
    assert found == NoEstimate("no_estimate", "OOM: the model does not fit")
    other = Replica(REPLICA.model, "MI300X", "fp8", 2, 2000, 300)
    assert AiConfigurator(ask, "").estimate(other, 1) == NoEstimate(
        "not_covered", "it has no tables of MI300X"
    )


def test_without_the_package_the_hint_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiconfigurator, "_PACKAGE", "no_such_package")
    with pytest.raises(ConfigurationError, match="is not installed") as caught:
        open_estimator()
    assert "gpubroker[aiconfigurator]" in caught.value.hint
