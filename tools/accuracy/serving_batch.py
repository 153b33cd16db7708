"""Predict many serving measurements at once, with the same formulas as a single estimate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from serving_rows import Row

from solver.sizing.serving_bands import Metric
from solver.sizing.serving_constants import FITTED, ServingConstants
from solver.sizing.serving_estimate import Load, Regime, at_rate, figures, load_of, stacked_loads
from solver.sizing.serving_facts import StepFacts, stacked, step_facts

FEW_CLIENTS = 32
_IDEAL = ServingConstants(
    compute_share=(1.0,) * 5,
    amd_compute_share=1.0,
    other_compute_share=1.0,
    gddr_compute_factor=1.0,
    blackwell_compute_factor=1.0,
    ampere_compute_factor=1.0,
    bandwidth_share=(1.0,) * 4,
    kv_bandwidth_factor=1.0,
    expert_bandwidth_factor=1.0,
    expert_compute_factor=1.0,
    expert_half_width=0.0,
    expert_spread_factor=1.0,
    overlap_loss_share=0.0,
    decode_compute_factor=1.0,
    latent_share=1.0,
    prompt_attention_share=1.0,
    engine_host_s=(0.0,) * 4,
    layer_host_s=(0.0,) * 4,
    sequence_host_s=(0.0,) * 4,
    expert_layer_host_s=(0.0,) * 4,
    prompt_layer_host_s=(0.0,) * 4,
    fast_link_latency_s=0.0,
    fast_link_share=1e9,
    pcie_latency_s=0.0,
    pcie_share=1e9,
    pcie_growth=0.0,
    exchange_factor=0.0,
    stage_loss_share=0.0,
    host_gain_per_year=1.0,
    compute_gain_per_year=1.0,
    interference_factor=(1.0,) * 4,
    client_s=(0.0,) * 4,
    queue_share=(0.0,) * 4,
    queue_load_factor=0.0,
    pairing_share=(0.0,) * 4,
)
"""Datasheets without any loss: what no engine can beat."""
_IMPOSSIBLE = 1.05
_SERIES_SHARE = 1 / 4


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows in a form to predict at once; `kind` is 0 tokens per second, 1 TPOT, 2 TTFT."""

    facts: StepFacts
    load: Load
    kind: NDArray[np.int64]
    measured: NDArray[np.float64]

    def predicted(self, constants: ServingConstants = FITTED) -> NDArray[np.float64]:
        """Predict every row, in its own unit."""
        found = figures(self.facts, self.load, constants)
        choice = [found.tokens_per_s, found.tpot_s, found.ttft_s]
        return np.choose(self.kind, [np.broadcast_to(one, self.kind.shape) for one in choice])

    def errors(self, constants: ServingConstants = FITTED) -> NDArray[np.float64]:
        """Give log(predicted / measured) of every row."""
        return np.log(np.maximum(self.predicted(constants), 1e-12) / self.measured)


def batch_of(rows: Sequence[Row]) -> Batch:
    """Prepare rows with a stated concurrency, or offline."""
    return Batch(
        facts=stacked([_facts(row) for row in rows]),
        load=stacked_loads([_load(row) for row in rows]),
        kind=np.array([kind_of(row) for row in rows]),
        measured=np.array([row.value for row in rows]),
    )


def kind_of(row: Row) -> int:
    """Tell throughput, TPOT, TTFT by place."""
    return ("tokens", "tpot_m", "ttft_m").index(row.metric[:6])


def metric_of(row: Row) -> Metric:
    """Tell the metric; the first token by how many clients ask, and whether they wait."""
    kind = kind_of(row)
    if kind < 2:  # noqa: PLR2004 - the third place is the first token
        return (Metric.RATE, Metric.TPOT)[kind]
    few = row.clients is None or row.clients <= FEW_CLIENTS
    return Metric.TTFT if few else Metric.TTFT_LOADED


def is_fitted(row: Row) -> bool:
    """Say whether a row states what the fit needs: its load, and no service around the engine."""
    is_load = row.requests_per_s is None and not row.scenario.startswith(("mlperf", "burst"))
    return is_load and row.metric in _PREDICTED


_PREDICTED = ("tokens_per_s_total_output", "tokens_per_s_per_gpu", "tpot_ms", "ttft_ms")


def impossible(rows: Sequence[Row]) -> NDArray[np.bool_]:
    """Find the rows that beat the datasheet: no engine computes that fast, a cache answered.

    Of a series (network, GPU, engine, scenario) a quarter of which does, all rows are meant.
    """
    batch = batch_of(rows)
    ideal = batch.predicted(_IDEAL)
    ratio = np.where(batch.kind == 0, batch.measured / ideal, ideal / batch.measured)
    beats = (ratio > _IMPOSSIBLE) & (batch.kind < 2)  # noqa: PLR2004
    series: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(rows):
        engine = (row.replica.release.engine, round(row.replica.release.year, 2))
        series.setdefault((row.group, *engine, row.scenario), []).append(place)
    for places in series.values():
        judged = [place for place in places if batch.kind[place] < 2]  # noqa: PLR2004
        if judged and np.mean(beats[judged]) > _SERIES_SHARE:
            beats[places] = True
    return beats


def single(row: Row) -> float | None:
    """Predict one row by the public functions; None where it cannot keep up with its arrivals."""
    if row.requests_per_s is None:
        return None
    found = at_rate(
        row.replica,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        requests_per_s=row.requests_per_s / row.replicas,
    )
    if found is None:
        return None
    return (found.tokens_per_s * row.replicas, found.tpot_s, found.ttft_s)[kind_of(row)]


def _facts(row: Row) -> StepFacts:
    return step_facts(row.replica, input_tokens=row.input_tokens, output_tokens=row.output_tokens)


def _load(row: Row) -> Load:
    ranks = row.replica.split.attention_data
    regime = row.regime if row.clients is not None else Regime.OFFLINE
    return load_of(clients=row.clients, regime=regime, replicas=row.replicas * ranks)
