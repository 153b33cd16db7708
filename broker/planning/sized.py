"""Sizing as plans and `gpubroker size` ask for it: every model that may answer, own numbers in.

The formulas stand in solver/sizing; the user's own measurements, where there are any, correct them.
"""

from dataclasses import dataclass

from broker.domain.batch import BatchJob
from broker.domain.candidate import BatchCandidate, Refusal, ServingCandidate, TrainingCandidate
from broker.domain.llm import LlmModel
from broker.domain.margin import SafetyMargin
from broker.domain.offer import Shape, SpotTerms
from broker.domain.pool import Pool
from broker.domain.workload import Service, TrainingRun
from broker.specs.load import Specs
from solver.sizing.batch import BatchWork, batch_candidates
from solver.sizing.measured import NO_NUMBERS, OwnNumbers
from solver.sizing.measured_candidates import serving_with_own, training_with_own
from solver.sizing.pools import pool_candidates
from solver.sizing.serving import Setting
from solver.sizing.slices import on_slice, shape_of

__all__ = ["NO_NUMBERS", "OwnNumbers", "Sizer"]


@dataclass(frozen=True, slots=True)
class Sizer:
    """Sizes workloads on shapes, with a safety margin taken off every rate."""

    specs: Specs
    safety_margin: SafetyMargin
    own: OwnNumbers = NO_NUMBERS

    def serving(
        self, service: Service, shape: Shape, *, rtt_s: float
    ) -> tuple[list[ServingCandidate], list[Refusal]]:
        """Size a service with its model and each alternative; `rtt_s` is the network's round trip.

        Raises:
            ConfigurationError: a model or the GPU is not known.
        """
        candidates: list[ServingCandidate] = []
        refusals: list[Refusal] = []
        for name in service.models:
            found, refused = self.serving_of(service, shape, self.specs.llm(name), rtt_s=rtt_s)
            own_id = name == service.model
            candidates += [_named(one, name, own_id=own_id) for one in found]
            refusals += refused if own_id else [_of_alternative(one, name) for one in refused]
        return candidates, refusals

    def serving_of(
        self, service: Service, shape: Shape, model: LlmModel, *, rtt_s: float
    ) -> tuple[list[ServingCandidate], list[Refusal]]:
        """Size a service with one model, which need not stand in the tables.

        Where the service allows it, on slices of the GPU, too; they come last.

        Raises:
            ConfigurationError: the GPU is not known.
        """
        candidates, refusals = self._on(service, shape, model, rtt_s=rtt_s)
        slices = self.specs.slices.get(shape.gpu, ()) if service.mig else ()
        for one in slices if shape.gpu_count.denominator == 1 else ():
            found, refused = self._on(service, shape_of(one.gpu, shape), model, rtt_s=rtt_s)
            candidates += [on_slice(each, one.gpu_slice, of=shape.gpu) for each in found]
            refusals += refused
        return candidates, refusals

    def _on(
        self, service: Service, shape: Shape, model: LlmModel, *, rtt_s: float
    ) -> tuple[list[ServingCandidate], list[Refusal]]:
        return serving_with_own(
            service,
            shape,
            gpu=self.specs.gpu(shape.gpu),
            model=model,
            rtt_s=rtt_s,
            safety_margin=self.safety_margin,
            own=self.own,
        )

    def pool(
        self, service: Service, shape: Shape, pool: Pool, *, rtt_s: float
    ) -> tuple[list[ServingCandidate], list[Refusal]]:
        """Size a pool of a service that only prefills, or only decodes, with each of its models.

        Own numbers are of replicas that do both, and correct nothing here.

        Raises:
            ConfigurationError: a model or the GPU is not known.
        """
        candidates: list[ServingCandidate] = []
        refusals: list[Refusal] = []
        gpu = self.specs.gpu(shape.gpu)
        for name in service.models:
            model = self.specs.llm(name)
            setting = Setting(service, shape, gpu, model, rtt_s, self.safety_margin)
            found, refused = pool_candidates(setting, pool)
            own_id = name == service.model
            candidates += [_named(one, name, own_id=own_id) for one in found]
            refusals += refused if own_id else [_of_alternative(one, name) for one in refused]
        return candidates, refusals

    def training(
        self, run: TrainingRun, shape: Shape, *, spot: SpotTerms | None
    ) -> tuple[list[TrainingCandidate], list[Refusal]]:
        """Size a run on whole nodes; `spot` None is firm capacity.

        Raises:
            ConfigurationError: the model or the GPU is not known.
        """
        return self.training_of(run, shape, self.specs.llm(run.model), spot=spot)

    def training_of(
        self, run: TrainingRun, shape: Shape, model: LlmModel, *, spot: SpotTerms | None
    ) -> tuple[list[TrainingCandidate], list[Refusal]]:
        """Size a run with a model that need not stand in the tables.

        Raises:
            ConfigurationError: the GPU is not known.
        """
        return training_with_own(
            run,
            shape,
            gpu=self.specs.gpu(shape.gpu),
            model=model,
            spot=spot,
            safety_margin=self.safety_margin,
            own=self.own,
        )

    def batch(
        self, job: BatchJob, work: BatchWork, shape: Shape, *, spot: SpotTerms | None
    ) -> tuple[list[BatchCandidate], list[Refusal]]:
        """Size a run of a batch job on whole nodes; `spot` None is firm capacity.

        Own numbers are of services under a latency objective, and correct nothing here.

        Raises:
            ConfigurationError: the model or the GPU is not known.
        """
        return batch_candidates(
            job,
            work,
            shape,
            gpu=self.specs.gpu(shape.gpu),
            model=self.specs.llm(job.model),
            spot=spot,
            safety_margin=self.safety_margin,
        )


def _named(candidate: ServingCandidate, model: str, *, own_id: bool) -> ServingCandidate:
    """Let a candidate say its model; that of an alternative has it in its id, too."""
    service = candidate.service
    name = candidate.id
    if not own_id:
        name = f"{service}/{model}{candidate.id.removeprefix(service)}"
    return candidate.model_copy(update={"model": model, "id": name})


def _of_alternative(refusal: Refusal, model: str) -> Refusal:
    return refusal.model_copy(update={"subject": f"{model}/{refusal.subject}"})
