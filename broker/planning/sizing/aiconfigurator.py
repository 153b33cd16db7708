"""NVIDIA's aiconfigurator as an estimator, where the package is installed (an optional extra).

It interpolates tables of measured kernels for a dozen NVIDIA systems and three engines; it is asked
for vLLM, aggregated serving, one replica (`aiconfigurator.cli.api.cli_estimate`, version 0.12).
Times are means over requests. A model that it does not ship is looked up at its hub by the package
itself; without a network that ends as no estimate.
"""

import contextlib
import importlib
import importlib.util
import logging
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Final, Protocol

from broker.domain.errors import ConfigurationError
from broker.planning.sizing.opinion import Estimate, NoEstimate, Replica

_PACKAGE = "aiconfigurator"
_MS_PER_S = 1000
_SYSTEMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "H100-SXM": "h100_sxm",
        "H100-PCIe": "h100_pcie",
        "H200-SXM": "h200_sxm",
        "B200": "b200_sxm",
        "B300": "b300_sxm",
        "GB200": "gb200",
        "GB300": "gb300",
        "A100-80-SXM": "a100_sxm",
        "A100-80-PCIe": "a100_pcie",
        "A30": "a30",
        "L4": "l4",
        "L40S": "l40s",
        "RTXPRO6000": "rtx_pro_6000_server",
        "ArcProB60": "b60",
    }
)
_GEMM: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bf16": "bfloat16",
        "fp16": "bfloat16",
        "fp8": "fp8",
        "int8": "sq",
        "int4": "int4_wo",
        "nvfp4": "nvfp4",
        "mxfp4": "bfloat16",
    }
)
_EXPERTS: Final[Mapping[str, str]] = MappingProxyType(
    {**_GEMM, "int8": "int8_wo", "mxfp4": "w4a16_mxfp4"}
)


_FAILURES: Final = (ValueError, RuntimeError, LookupError, OSError)
"""What it raises where it has no answer: no table, out of memory, a width that does not divide."""


class _Result(Protocol):
    """What is read of its result; times in ms."""

    ttft: float
    tpot: float
    seq_per_second: float


class Ask(Protocol):
    """Its function; which arguments are given is told in `AiConfigurator.estimate`."""

    def __call__(self, **arguments: str | int | None) -> _Result:
        """Estimate one replica."""


class AiConfigurator:
    """Asks the package; `ask` is its function, `failures` what it raises where it has no answer."""

    def __init__(self, ask: Ask, release: str, failures: tuple[type[Exception], ...] = ()) -> None:
        self._ask = ask
        self._release = release
        self._failures: tuple[type[Exception], ...] = (*_FAILURES, *failures)

    @property
    def name(self) -> str:
        """Name it, with its version."""
        return f"{_PACKAGE} {self._release}".strip()

    def estimate(self, replica: Replica, in_flight: int) -> Estimate | NoEstimate:
        """Estimate one replica at a number of requests in flight."""
        system = _SYSTEMS.get(replica.gpu)
        if system is None:
            return NoEstimate("not_covered", f"it has no tables of {replica.gpu}")
        sparse = replica.model.is_moe
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout is for data
                found = self._ask(
                    model_path=replica.model.hf_id or replica.model.name,
                    system_name=system,
                    backend_name="vllm",
                    isl=replica.input_tokens,
                    osl=replica.output_tokens,
                    batch_size=in_flight,
                    tp_size=replica.tensor,
                    gemm_quant_mode=_GEMM[replica.precision],
                    moe_tp_size=replica.tensor if sparse else None,
                    moe_ep_size=1 if sparse else None,
                    moe_quant_mode=_EXPERTS[replica.precision] if sparse else None,
                )
        except self._failures as cause:
            return NoEstimate("no_estimate", _first_sentence(str(cause)))
        return Estimate(
            ttft_s=found.ttft / _MS_PER_S,
            tpot_s=found.tpot / _MS_PER_S,
            requests_per_s=found.seq_per_second,
        )


def open_estimator() -> AiConfigurator:
    """Find the package.

    Raises:
        ConfigurationError: it is not installed, or is of a version that lacks the function.
    """
    hint = "pip install 'gpubroker[aiconfigurator]' (NVIDIA GPUs only, about 120 MB)"
    if importlib.util.find_spec(_PACKAGE) is None:
        raise ConfigurationError(f"{_PACKAGE} is not installed here", hint=hint)
    for name in (_PACKAGE, f"{_PACKAGE}_core"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        ask: Ask = importlib.import_module(f"{_PACKAGE}.cli.api").cli_estimate
        release = version(_PACKAGE)
    except (ImportError, AttributeError, PackageNotFoundError) as cause:
        raise ConfigurationError(
            f"this {_PACKAGE} cannot be asked: {cause}", hint=f"install version 0.12: {hint}"
        ) from cause
    return AiConfigurator(ask, release, _download_failures())


def _download_failures() -> tuple[type[Exception], ...]:
    """Give what it raises where a model is not shipped and cannot be fetched."""
    try:
        found: type[Exception] = importlib.import_module(
            f"{_PACKAGE}_core.sdk.utils"
        ).HuggingFaceDownloadError
    except (ImportError, AttributeError):
        return ()
    return (found,)


def _first_sentence(text: str) -> str:
    sentence = text.strip().split("\n", 1)[0].split(". ", 1)[0]
    return sentence or "it gave no reason"
