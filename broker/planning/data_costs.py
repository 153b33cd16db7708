"""What data costs beside the nodes: weights, data sets and checkpoints, moved and kept.

    weights      a copy on a volume of each node that serves (block), as long as replicas are up
    run, 1 node  data set and checkpoints on a volume of the node (block)
    run, nodes   both on a parallel file system of the throughput that checkpoints are written with

A replica pays for its part of its node's copy: GPUs of the replica ÷ GPUs of the node. A
restartable run keeps its data for its whole window (or `max_duration`), as it may pause in it; any
other one for as long as the work takes. Data sets and weights are brought from where the workloads
file says they lie; what was trained is brought back to where the data set lies, in 16 bits. Local
disks that come with a node are not counted: they do not outlive it. A batch job, or a day of it,
reads its data set once as it comes and saves no state, so that only the way of the data is paid.
"""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal

from broker.domain.candidate import GangCandidate, ServingCandidate, TrainingCandidate
from broker.domain.llm import LlmModel
from broker.domain.offer import Offer
from broker.domain.quantities import HOURS_PER_MONTH, quantize_usd
from broker.domain.workload import Method, Run, Service, TrainingRun, Workloads
from broker.specs.load import KeptPrice, Specs
from solver.sizing.precisions import weight_bytes
from solver.sizing.training_constants import ADAPTER_RANK, CHECKPOINT_BYTES_PER_PARAM
from solver.sizing.training_memory import lora_params

_GIGA = 1e9
_RESULT_BYTES_PER_PARAM = 2.0
_HOURLY = Decimal("0.000000000001")
_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class WeightsCost:
    """Of one replica: dollars an hour that its weights are kept, and once to bring them."""

    storage_usd_per_hour: Decimal
    egress_usd: Decimal


@dataclass(frozen=True, slots=True)
class RunDataCost:
    """Of one run: dollars to bring its data, to bring back what it made, and to keep both."""

    egress_usd: Decimal
    result_egress_usd: Decimal
    storage_usd: Decimal


@dataclass(frozen=True, slots=True)
class DataCosts:
    """Prices data by place; `warnings` collects what had to be assumed."""

    workloads: Workloads
    specs: Specs
    warnings: set[str] = field(default_factory=set)

    def serving(self, service: Service, candidate: ServingCandidate, machine: Offer) -> WeightsCost:
        """Price the weights of one replica on a machine."""
        model = self.specs.llm(candidate.model or service.model)
        gb = _gb(weight_bytes(model=model, precision=candidate.precision).total)
        place = machine.place.region
        gpus = candidate.gpus
        count = gpus.denominator * int(machine.hardware.shape.gpu_count)
        part = Decimal(gpus.numerator) / count
        kept = self.specs.kept(machine.provider, place, "block", gb=gb)
        self._note_volume(kept)
        from_at = service.weights.at if service.weights else None
        egress_usd = self._moved_usd(from_at, f"{machine.provider}/{place}", gb)
        return WeightsCost(
            storage_usd_per_hour=(kept.usd_per_month / HOURS_PER_MONTH).quantize(_HOURLY) * part,
            egress_usd=quantize_usd(egress_usd) * part,
        )

    def run(self, run: Run, candidate: GangCandidate, machine: Offer) -> RunDataCost:
        """Price the data of a run on a machine."""
        if isinstance(run, TrainingRun) and isinstance(candidate, TrainingCandidate):
            return self._training(run, candidate, machine)
        egress_usd = self._data_usd(run, machine)
        return RunDataCost(egress_usd, result_egress_usd=_NOTHING, storage_usd=_NOTHING)

    def _training(
        self, run: TrainingRun, candidate: TrainingCandidate, machine: Offer
    ) -> RunDataCost:
        model = self.specs.llm(run.model)
        data_gb = Decimal(str(run.data.size)) if run.data else _NOTHING
        data_at = run.data.at if run.data else None
        here = f"{machine.provider}/{machine.place.region}"
        result_gb = _gb(trained_params(run, model) * _RESULT_BYTES_PER_PARAM)
        kept = self._run_storage(run, candidate, machine, data_gb + checkpoints_gb(run, model))
        hours = Decimal(str(self._kept_h(run, candidate)))
        return RunDataCost(
            egress_usd=self._data_usd(run, machine),
            result_egress_usd=quantize_usd(self._moved_usd(here, data_at, result_gb)),
            storage_usd=quantize_usd(kept.usd_per_month * hours / HOURS_PER_MONTH),
        )

    def _data_usd(self, run: Run, machine: Offer) -> Decimal:
        """Price the way of a run's data set to a machine."""
        if run.data is None:
            return _NOTHING
        here = f"{machine.provider}/{machine.place.region}"
        return quantize_usd(self._moved_usd(run.data.at, here, Decimal(str(run.data.size))))

    def _run_storage(
        self, run: TrainingRun, candidate: TrainingCandidate, machine: Offer, gb: Decimal
    ) -> KeptPrice:
        provider, region = machine.provider, machine.place.region
        if candidate.nodes == 1:
            kept = self.specs.kept(provider, region, "block", gb=gb)
            self._note_volume(kept)
            return kept
        gb_per_s = Decimal(str(run.checkpoint.storage_gb_per_s))
        kept = self.specs.file_system(provider, region, gb=gb, gb_per_s=gb_per_s)
        if kept.assumed:
            self.warnings.add(
                f"{run.name}: no source states everywhere what a parallel file system of "
                f"{gb_per_s} GB/s costs: where unknown it is charged as a slow class, "
                "or as in the dearest region known"
            )
        return kept

    def _note_volume(self, kept: KeptPrice) -> None:
        if kept.assumed:
            usd = self.specs.storage_prices.dearest("block")
            self.warnings.add(
                "no source states everywhere what a volume costs: where unknown, weights and "
                f"checkpoints are charged as at the dearest provider known, {usd} USD per GB "
                "and month"
            )

    def _kept_h(self, run: TrainingRun, candidate: TrainingCandidate) -> float:
        horizon = self.workloads.horizon
        slot_h = horizon.slot / timedelta(hours=1)
        from_at = max(run.window.earliest, horizon.start)
        window_h = max(0.0, (min(run.window.deadline, horizon.end) - from_at) / timedelta(hours=1))
        if run.restartable:
            most = run.max_duration
            return window_h if most is None else min(window_h, most / timedelta(hours=1))
        work_h = (run.tokens / candidate.tokens_per_s + candidate.startup_s) / 3600
        return min(window_h, math.ceil(work_h / slot_h) * slot_h)

    def _moved_usd(self, from_at: str | None, to: str | None, gb: Decimal) -> Decimal:
        """Price what leaves one place for another; nothing where one of them is not known."""
        if from_at is None or to is None or not gb:
            return _NOTHING
        provider, _, region = from_at.partition("/")
        to_provider, _, to_region = to.partition("/")
        price = self.specs.egress(provider, region, to_provider, to_region)
        if price.assumed:
            self.warnings.add(
                f"egress from {from_at} is not published for every destination: "
                f"where unknown it is charged as internet egress, {price.usd_per_gb} USD per GB"
            )
        return price.usd(gb)


def trained_params(run: TrainingRun, model: LlmModel) -> float:
    """Count the parameters that a run trains: all, or those of its adapters."""
    if run.method is Method.FULL:
        return model.params_b * _GIGA
    return lora_params(model, rank=ADAPTER_RANK)


def checkpoints_gb(run: TrainingRun, model: LlmModel) -> Decimal:
    """Size what a run saves, 14 B per trained parameter: several checkpoints, or the last state."""
    count = run.checkpoint.kept_count if run.restartable else 1
    return count * _gb(trained_params(run, model) * CHECKPOINT_BYTES_PER_PARAM)


def _gb(size_bytes: float) -> Decimal:
    return Decimal(str(round(size_bytes / _GIGA, 6)))
