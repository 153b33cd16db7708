"""Workloads: the demand that a plan must meet, and the policy that it must keep.

The fields are those of the workloads file. Durations and sizes are written with their unit.
"""

from datetime import date, timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic.config import JsonDict

from broker.domain.availability import Availability
from broker.domain.batch import BatchJob, BatchRun
from broker.domain.budget import check_months, check_names
from broker.domain.burst import check_changes
from broker.domain.disaggregation import check_one, check_policy, check_steady
from broker.domain.engine import KvPrecision, ServingEngine
from broker.domain.file_schema import curve_or_trace, sizes_unless_traced
from broker.domain.gpu import GpuModel, Precision
from broker.domain.horizon import Horizon
from broker.domain.isolation import check_isolated
from broker.domain.latency import LatencyObjective, named_or_written
from broker.domain.load import Load, LoadSeries
from broker.domain.offer import PriceKind
from broker.domain.parts import MOST, Count, DataSet, Name, Tokens, Window
from broker.domain.policy import Policy
from broker.domain.quantities import Duration, Frozen, Instant, Share
from broker.domain.robust import check_loads

SCHEMA = "gpubroker.workloads/1"
_SHARE_SLACK = 1e-6
_DAY = timedelta(days=1)


class Quota(Frozen):
    """At most `gpus` at one time on the offers that match every field that is given."""

    provider: str
    gpus: Annotated[int, Field(ge=0, le=MOST)]
    region: str | None = None
    gpu: str | None = None
    price_kind: PriceKind | None = None


class Holding(Frozen):
    """Nodes that are already committed: their price is sunk. `offer` is provider/type/region.

    `isolated_for` keeps them for one of the workloads that share no node.
    """

    offer: str
    nodes: Count
    until: Instant | None = None
    isolated_for: str | None = None


class Checkpointing(Frozen):
    """How a run saves its state; `auto` is the Young/Daly interval.

    `kept_count` is how many checkpoints of a restartable run are kept at once: the last whole one
    stays until the next one is.
    """

    interval: Literal["auto"] | Duration = "auto"
    storage_gb_per_s: Annotated[float, Field(gt=0, le=MOST)] = 2.0
    kept_count: Count = 2


class HardwareWish(Frozen):
    """What a run asks of its nodes.

    `gpus` lists the sizes to consider; `gpu_models` the models that may be used, all if empty.
    """

    bare_metal: Literal["any", "require"] = "any"
    gpu_models: tuple[str, ...] = ()
    min_inter_node_gbit_per_s: Annotated[float, Field(ge=0)] = 0
    gpus: Annotated[tuple[Count, ...], Field(min_length=1)] = (8, 16, 32, 64)


class Method(StrEnum):
    """How a model is trained."""

    FULL = "full"
    LORA = "lora"
    QLORA = "qlora"


class TrainingStack(StrEnum):
    """The software that trains: tuned (Megatron, NeMo), torch (FSDP), hf (Transformers)."""

    TUNED = "tuned"
    TORCH = "torch"
    HF = "hf"


class TrainingRun(Frozen):
    """Work to finish inside a window, on whole nodes that stop together.

    From its first start to its end it takes at most `max_duration`, pauses included.
    """

    name: Name
    model: str
    tokens: Tokens
    window: Window
    method: Method = Method.FULL
    precision: Precision = Precision.BF16
    stack: TrainingStack = TrainingStack.TORCH
    sequence_length: Count = 4096
    global_batch_tokens: Count = 4_194_304
    restartable: bool = False
    restart: Duration = timedelta(minutes=12)
    max_duration: Duration | None = None
    checkpoint: Checkpointing = Checkpointing()
    hardware: HardwareWish = HardwareWish()
    data: DataSet | None = None
    team: Name | None = None

    @model_validator(mode="after")
    def _batch_holds_a_sequence(self) -> Self:
        if self.global_batch_tokens < self.sequence_length:
            raise ValueError(
                f"global_batch_tokens {self.global_batch_tokens} is below "
                f"sequence_length {self.sequence_length}; a batch holds at least one sequence"
            )
        return self

    def computed_in(self, gpu: GpuModel) -> Precision:
        """Give the format that the matrices are computed in: QLoRA and old GPUs have their own."""
        if self.method is Method.QLORA or self.precision is Precision.BF16:
            return Precision.BF16 if gpu.has_bf16 else Precision.FP16
        return self.precision


class TraceRead(Frozen):
    """What a trace was when it was read, and what it could not tell."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    notes: tuple[str, ...] = ()


class Traffic(Frozen):
    """What asks a service for answers.

    A file may name a `trace` instead of the load: a log of requests, from which the curve, and the
    sizes where there are none, are read when the file is. `trace_read` says what was read.
    """

    model_config = ConfigDict(json_schema_extra=curve_or_trace)

    requests_per_s: Load
    trace: str | None = None
    trace_read: TraceRead | None = None

    @model_validator(mode="after")
    def _trace_was_read(self) -> Self:
        if (self.trace is None) != (self.trace_read is None):
            raise ValueError(
                "give a curve (requests_per_s) or a log to read it from (trace), not both; "
                "trace_read stands with both of them where the log was read"
            )
        return self


class SizeClass(Frozen):
    """Requests of one size, and their share of all requests."""

    input_tokens: Count
    output_tokens: Count
    share: Share = 1.0


class SpotUse(Frozen):
    """How much of the load may sit on spot nodes."""

    max_share: Share = 0.0


def _service_schema(schema: JsonDict) -> None:
    sizes_unless_traced(schema)
    named_or_written(schema)


class Weights(Frozen):
    """Where a service's weights lie (provider/region) and are brought from."""

    at: str


class Service(Frozen):
    """A load to serve within a latency objective. `users` maps user regions to shares.

    `gpu_models` names the GPU models that may be used, all if empty. `alternatives` are models that
    may answer instead (a smaller one, a distilled one), at the word of whoever writes them.
    `engine_released_on` dates the engine's version, None is the newest that was measured.
    `prefix_cache_share` is the part of each prompt that is found in the cache of earlier ones.
    A replica stays up for `min_up_time` at least, once it has come up.
    Without `weights` they come from a public hub, which charges nothing. `mig` allows replicas on
    MIG slices, a quarter or a half of a GPU, where the whole machine is the buyer's.
    `disaggregated` allows a pool that works on prompts beside one that answers, also of other GPUs.
    """

    model_config = ConfigDict(json_schema_extra=_service_schema)

    name: Name
    model: str
    traffic: Traffic
    sizes: Annotated[tuple[SizeClass, ...], Field(min_length=1)]
    slo: LatencyObjective
    precisions: Annotated[tuple[Precision, ...], Field(min_length=1)] = (Precision.BF16,)
    users: dict[str, Share]
    max_network_rtt: Duration = timedelta(milliseconds=150)
    availability: Availability = Availability()
    spot: SpotUse = SpotUse()
    min_replicas: Annotated[int, Field(ge=0)] = 1
    start_up: Duration = timedelta(minutes=10)
    min_up_time: Annotated[Duration, Field(exclude_if=lambda least: not least)] = timedelta(0)
    gpu_models: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    engine: ServingEngine = ServingEngine.VLLM
    engine_released_on: date | None = None
    kv_precision: KvPrecision = KvPrecision.BF16
    prefix_cache_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    chunked_prefill: bool = True
    team: Name | None = None
    weights: Weights | None = None
    mig: bool = Field(default=False, exclude_if=lambda allowed: not allowed)
    disaggregated: bool = Field(default=False, exclude_if=lambda allowed: not allowed)

    @property
    def models(self) -> tuple[str, ...]:
        """List the models that may answer, the wished one first, each once."""
        return tuple(dict.fromkeys((self.model, *self.alternatives)))

    @field_validator("users")
    @classmethod
    def _users_add_up(cls, users: dict[str, float]) -> dict[str, float]:
        return _adding_up(users, "users")

    @field_validator("min_up_time")
    @classmethod
    def _stays_up_for_a_day_at_most(cls, least: timedelta) -> timedelta:
        if least > _DAY:
            raise ValueError(f"{least} is more than a day; write 24 h or less")
        return least

    @model_validator(mode="after")
    def _zones_have_replicas(self) -> Self:
        if self.min_replicas < self.availability.min_zones > 1:
            raise ValueError(
                f"availability.min_zones {self.availability.min_zones} needs a replica in each; "
                f"min_replicas is {self.min_replicas}, so make that as many"
            )
        return self

    @model_validator(mode="after")
    def _pools_are_known(self) -> Self:
        if self.disaggregated:
            check_steady(self.name, stays_up=bool(self.min_up_time))
            sizes = len(self.sizes)
            check_one(self.name, self.availability, self.spot, sizes=sizes, is_cut=self.mig)
        return self

    @model_validator(mode="after")
    def _sizes_add_up(self) -> Self:
        load = self.traffic.requests_per_s
        if isinstance(load, LoadSeries) and len(load.by_size) != len(self.sizes):
            raise ValueError(
                f"traffic.requests_per_s.by_size has {len(load.by_size)} rows and sizes has "
                f"{len(self.sizes)} entries; write one row for each size class"
            )
        _adding_up({str(number): size.share for number, size in enumerate(self.sizes)}, "sizes")
        return self


Run: TypeAlias = TrainingRun | BatchRun
"""Work that a gang of whole nodes finishes inside a window."""


class Workloads(Frozen):
    """One workloads file."""

    schema_: Literal["gpubroker.workloads/1"] = Field(alias="schema")
    horizon: Horizon
    policy: Policy = Policy()
    quotas: tuple[Quota, ...] = ()
    inventory: tuple[Holding, ...] = ()
    training: tuple[TrainingRun, ...] = ()
    services: tuple[Service, ...] = ()
    batch: tuple[BatchJob, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """List what gangs do: the training runs, then the batch jobs, a daily one day by day."""
        jobs = (run for job in self.batch for run in job.runs(self.horizon))
        return (*self.training, *jobs)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [run.name for run in self.training] + [one.name for one in self.services]
        names += [job.name for job in self.batch]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the name {twice[0]!r} is used twice; each workload needs its own")
        for run in self.training:
            if run.max_duration is not None and run.max_duration < self.horizon.slot:
                raise ValueError(
                    f"max_duration of {run.name!r} is shorter than a slot of the horizon, "
                    f"{self.horizon.slot}; allow a slot at least, or write shorter slots"
                )
        if not names:
            raise ValueError("there is no workload; add an entry under services, training or batch")
        return self

    @model_validator(mode="after")
    def _budgets_name_workloads(self) -> Self:
        zoned = [one.name for one in self.services if one.availability.spare_zone]
        if zoned and not self.policy.has_one_kind:
            raise ValueError(
                f"services.{zoned[0]}.availability.spare_zone needs policy.max_groups: 1 and no "
                "policy.burst, so that it is known what a lost zone carried"
            )
        steady = [one.name for one in self.services if one.min_up_time]
        if steady and not self.policy.has_one_kind:
            raise ValueError(
                f"services.{steady[0]}.min_up_time needs policy.max_groups: 1 and no policy.burst, "
                "so that replicas come and go in one order; leave one of them out"
            )
        check_names(self.policy.budgets, [*self.training, *self.services, *self.batch])
        check_months(self.policy.budgets, self.horizon)
        check_changes(self.policy.burst, self.horizon)
        check_policy(self.policy, [one.name for one in self.services if one.disaggregated])
        check_loads(self.policy.robust, {one.name for one in self.services})
        names = {run.name.partition("@")[0] for run in self.runs}
        names |= {one.name for one in self.services}
        check_isolated(self.policy.isolated, [one.isolated_for for one in self.inventory], names)
        return self


def _adding_up(shares: dict[str, float], what: str) -> dict[str, float]:
    total = sum(shares.values())
    if abs(total - 1) > _SHARE_SLACK:
        raise ValueError(f"the shares of {what} add up to {total:g}; they must add up to 1")
    return shares
