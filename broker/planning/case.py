"""From a workloads file and a catalog to a case: what may be bought, and what it could carry."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from broker.domain.batch import BatchRun
from broker.domain.candidate import (
    BatchCandidate,
    GangCandidate,
    Refusal,
    ServingCandidate,
    TrainingCandidate,
)
from broker.domain.case import Case, OwnedNodes, ServingOption, TrainingOption
from broker.domain.offer import Offer, PriceKind, Shape, SpotTerms, Virtualization
from broker.domain.plan import RejectedCount
from broker.domain.workload import Run, Service, Workloads
from broker.planning.batch_work import days_left_out, owner_of, works_of
from broker.planning.data_costs import DataCosts
from broker.planning.filters import Freshness, why_not, why_not_then
from broker.planning.inventory import usable_inventory
from broker.planning.pools import PoolOptions
from broker.planning.sized import NO_NUMBERS, OwnNumbers, Sizer
from broker.planning.spot_discount import NOT_WORTH_IT, worth_it
from broker.specs.load import Specs
from solver.sizing.batch import BatchWork

_Candidate = TypeVar("_Candidate")
_Sized = tuple[list[_Candidate], list[Refusal]]

_BatchKey = tuple[str, BatchWork, Shape, SpotTerms | None]

_RTT_STEPS_PER_S = 100
"""Round trips are rounded up to 10 ms, so that places at one distance share their candidates."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """A case, and what was left out of it by reason."""

    case: Case
    rejected: tuple[RejectedCount, ...]
    warnings: tuple[str, ...]


def build_case(
    workloads: Workloads,
    offers: Sequence[Offer],
    specs: Specs,
    freshness: Freshness,
    *,
    own: OwnNumbers = NO_NUMBERS,
) -> CaseReport:
    """Filter the offers, size every workload on every machine, and gather the options.

    `own` are the user's own measurements, which correct the sizing of their deployments.

    Raises:
        ConfigurationError: the workloads name a model, user region or owned machine not known.
    """
    tally = _Tally()
    plannable = _with_pool_counts(_plannable(workloads, offers, freshness, tally), offers)
    plannable = _that_can_be_covered(plannable, tally)
    usable = usable_inventory(workloads, offers, freshness)
    owned = usable.owned
    machines = _machines((*plannable, *usable.offers))
    builder = _Options(workloads, specs, tally, own)
    builder.data_costs.warnings.update((*days_left_out(workloads), *usable.warnings))
    markets = _markets(plannable, owned)
    serving = builder.every_serving(machines, markets)
    training = builder.every_training(machines, markets)
    left = worth_it(workloads.policy, plannable, serving, training)
    for offer in left.dropped:
        tally.add(NOT_WORTH_IT, offer.key)
    case = Case(
        workloads=workloads,
        offers=tuple(sorted(left.offers, key=lambda offer: offer.key)),
        machines=machines,
        serving=left.serving,
        training=left.training,
        owned=owned,
    )
    return CaseReport(case, tally.counts(), tuple(sorted(builder.data_costs.warnings)))


def _plannable(
    workloads: Workloads, offers: Iterable[Offer], freshness: Freshness, tally: "_Tally"
) -> list[Offer]:
    """List the offers that the policy lets a plan use; each other one is counted by its reason."""
    plannable = []
    for offer in offers:
        reason = why_not(offer, workloads.policy, freshness) or why_not_then(
            offer, workloads.horizon
        )
        if reason is None:
            plannable.append(offer)
        else:
            tally.add(reason, offer.key)
    return plannable


def _that_can_be_covered(plannable: list[Offer], tally: "_Tally") -> list[Offer]:
    """Leave out rates of savings plans for machines that nobody rents on demand."""
    rented = {one.machine for one in plannable if one.price_kind is PriceKind.ON_DEMAND}
    kept = []
    for offer in plannable:
        if offer.price_kind is PriceKind.SAVINGS_PLAN and offer.machine not in rented:
            tally.add("savings plan for a machine without an on-demand price", offer.key)
        else:
            kept.append(offer)
    return kept


def _with_pool_counts(plannable: Iterable[Offer], offers: Iterable[Offer]) -> list[Offer]:
    """Count for an offer that names a pool alone what another door says is in that pool."""
    counts: dict[str, int] = {}
    for offer in offers:
        if offer.stock is not None:
            pool, gpus = offer.stock
            counts[pool] = min(gpus, counts.get(pool, gpus))
    return [
        offer
        if offer.stock is not None or offer.limits.stock_pool not in counts
        else offer.model_copy(
            update={
                "limits": offer.limits.model_copy(
                    update={"stock_gpus": counts[offer.limits.stock_pool]}
                )
            }
        )
        for offer in plannable
    ]


@dataclass(slots=True)
class _Tally:
    """Counts by reason, with the first offer seen as the example."""

    by_reason: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, reason: str, subject: str) -> None:
        self.by_reason[reason].append(subject)

    def counts(self) -> tuple[RejectedCount, ...]:
        found = [
            RejectedCount(reason=reason, offers=len(subjects), example=min(subjects))
            for reason, subjects in self.by_reason.items()
        ]
        return tuple(sorted(found, key=lambda one: (-one.offers, one.reason)))


@dataclass(frozen=True, slots=True)
class _Markets:
    """How a machine can be had: firm nodes, and spot nodes with what is known of them."""

    firm: bool
    spot: Offer | None


def _markets(offers: Iterable[Offer], owned: Sequence[OwnedNodes]) -> dict[str, _Markets]:
    firm = {one.machine for one in owned}
    spot: dict[str, Offer] = {}
    for offer in offers:
        if offer.price_kind is PriceKind.SPOT:
            spot[offer.machine] = offer
        else:
            firm.add(offer.machine)
    return {key: _Markets(key in firm, spot.get(key)) for key in sorted({*firm, *spot})}


def _machines(known: Iterable[Offer]) -> dict[str, Offer]:
    """Give each machine's hardware through one of its offers, on-demand before others."""
    machines: dict[str, Offer] = {}
    for offer in sorted(known, key=lambda one: (one.price_kind != "on_demand", one.key)):
        machines.setdefault(offer.machine, offer)
    return machines


def _markets_for(service: Service, markets: _Markets) -> list[bool]:
    kinds = [False] if markets.firm else []
    if markets.spot is not None and service.spot.max_share > 0:
        kinds.append(True)
    return kinds


class _Options:
    """Sizes workloads on machines; each shape and distance once."""

    def __init__(self, workloads: Workloads, specs: Specs, tally: _Tally, own: OwnNumbers) -> None:
        self.workloads = workloads
        self.specs = specs
        self.sizer = Sizer(specs, workloads.policy.safety_margin, own)
        self.tally = tally
        self.data_costs = DataCosts(workloads, specs)
        self.regions = {
            region: specs.user_region(region)
            for service in workloads.services
            for region in service.users
        }
        for name in {*(model for one in workloads.services for model in one.models)} | {
            one.model for one in workloads.runs
        }:
            specs.llm(name)  # an unknown one is refused before anything is sized
        self._serving: dict[tuple[str, Shape, float], _Sized[ServingCandidate]] = {}
        self._training: dict[tuple[str, Shape, SpotTerms | None], _Sized[TrainingCandidate]] = {}
        self._batch: dict[_BatchKey, _Sized[BatchCandidate]] = {}
        self._days: dict[tuple[str, BatchWork, str, bool], list[BatchCandidate]] = {}
        self._told: set[tuple[str, str]] = set()
        self._work = works_of(workloads)
        self._pools = PoolOptions(self.sizer, self.data_costs, self._reach_of)

    def every_serving(
        self, machines: Mapping[str, Offer], markets: Mapping[str, _Markets]
    ) -> list[ServingOption]:
        """List the options of all services, machine by machine, then those of pools."""
        whole = [
            option
            for machine, had in markets.items()
            for service in self.workloads.services
            for option in self.serving(service, machines[machine], had)
        ]
        firm = [machines[machine] for machine, had in markets.items() if had.firm]
        for service in (one for one in self.workloads.services if one.disaggregated):
            wanted = [one for one in firm if _is_wanted(service.gpu_models, one)]
            whole.extend(self._pools.of(service, wanted))
        return whole

    def every_training(
        self, machines: Mapping[str, Offer], markets: Mapping[str, _Markets]
    ) -> list[TrainingOption]:
        """List the options of all runs, machine by machine."""
        runs = self.workloads.runs
        return [
            option
            for machine, had in markets.items()
            for run in runs
            for option in self.training(run, machines[machine], had)
        ]

    def serving(
        self, service: Service, machine: Offer, markets: _Markets
    ) -> Iterable[ServingOption]:
        """Give the options of a service on a machine, for each region of its users in reach."""
        if not _is_wanted(service.gpu_models, machine):
            self.tally.add(f"{service.name}: GPU model not wanted", machine.key)
            return
        for user_region, share in service.users.items():
            if share <= 0:
                continue
            rtt_s = self.specs.rtt_s(user_region, machine.place)
            if rtt_s is None:
                self.tally.add(f"{service.name}: distance to users unknown", machine.key)
                continue
            if rtt_s > service.max_network_rtt.total_seconds():
                self.tally.add(f"{service.name}: too far from {user_region}", machine.key)
                continue
            reach = _in_steps(rtt_s)
            for candidate in self._sized_serving(service, machine, reach):
                weights = self.data_costs.serving(service, candidate, machine)
                for on_spot in _markets_for(service, markets):
                    yield ServingOption(
                        service.name,
                        user_region,
                        machine.machine,
                        on_spot,
                        candidate,
                        storage_usd_per_hour=weights.storage_usd_per_hour,
                        egress_usd=weights.egress_usd,
                    )

    def training(self, run: Run, machine: Offer, markets: _Markets) -> Iterable[TrainingOption]:
        """Give the options of a run on a machine, firm and spot."""
        reason = _unfit_hardware(run, machine)
        if reason is not None:
            self._leave_out(run, reason, machine)
            return
        ways: list[SpotTerms | None] = [None] if markets.firm else []
        if markets.spot is not None and run.restartable:
            ways.append(markets.spot.spot or SpotTerms())
        for spot in ways:
            for candidate in self._sized_run(run, machine, spot):
                data = self.data_costs.run(run, candidate, machine)
                yield TrainingOption(
                    run.name,
                    machine.machine,
                    candidate,
                    egress_usd=data.egress_usd,
                    result_egress_usd=data.result_egress_usd,
                    storage_usd=data.storage_usd,
                )

    def _reach_of(self, service: Service, user_region: str, machine: Offer) -> float | None:
        rtt_s = self.specs.rtt_s(user_region, machine.place)
        far_s = service.max_network_rtt.total_seconds()
        return None if rtt_s is None or rtt_s > far_s else _in_steps(rtt_s)

    def _sized_serving(
        self, service: Service, machine: Offer, reach: float
    ) -> list[ServingCandidate]:
        shape = machine.hardware.shape
        key = (service.name, shape, reach)
        if key not in self._serving:
            self._serving[key] = self.sizer.serving(service, shape, rtt_s=reach)
        candidates, refusals = self._serving[key]
        had = [one for one in candidates if one.gpu_slice is None or machine.hardware.can_be_cut]
        if not had:
            self._refuse(service.name, refusals, machine)
        return had

    def _sized_run(
        self, run: Run, machine: Offer, spot: SpotTerms | None
    ) -> Sequence[GangCandidate]:
        if isinstance(run, BatchRun):
            return self._sized_batch(run, machine, spot)
        shape = machine.hardware.shape
        key = (run.name, shape, spot)
        if key not in self._training:
            self._training[key] = self.sizer.training(run, shape, spot=spot)
        candidates, refusals = self._training[key]
        if not candidates:
            self._refuse(run.name, refusals, machine)
        limit = machine.hardware.max_cluster_nodes
        return [one for one in candidates if limit is None or one.nodes <= limit]

    def _sized_batch(
        self, run: BatchRun, machine: Offer, spot: SpotTerms | None
    ) -> list[BatchCandidate]:
        """Size a batch job once for all of its days that are alike; it needs no cluster."""
        work = self._work[run.name]
        day = (run.job.name, work, machine.machine, spot is None)
        if day in self._days:
            return self._days[day]
        key = (run.job.name, work, machine.hardware.shape, spot)
        if key not in self._batch:
            self._batch[key] = self.sizer.batch(run.job, work, machine.hardware.shape, spot=spot)
        candidates, refusals = self._batch[key]
        if not candidates:
            self._leave_out(run, _reason(refusals), machine)
        self._days[day] = candidates
        return candidates

    def _leave_out(self, run: Run, reason: str, machine: Offer) -> None:
        """Count a machine that a run cannot use, once for all days of a batch job."""
        told = f"{owner_of(run)}: {reason}"
        if (told, machine.key) not in self._told:
            self.tally.add(told, machine.key)
        if isinstance(run, BatchRun):
            self._told.add((told, machine.key))

    def _refuse(self, workload: str, refusals: Sequence[Refusal], machine: Offer) -> None:
        self.tally.add(f"{workload}: {_reason(refusals)}", machine.key)


def _in_steps(rtt_s: float) -> float:
    return math.ceil(rtt_s * _RTT_STEPS_PER_S) / _RTT_STEPS_PER_S


def _is_wanted(gpu_models: Sequence[str], machine: Offer) -> bool:
    wanted = {name.lower() for name in gpu_models}
    return not wanted or machine.hardware.shape.gpu.lower() in wanted


def _reason(refusals: Sequence[Refusal]) -> str:
    return refusals[0].reason.replace("_", " ") if refusals else "nothing fits"


def _unfit_hardware(run: Run, machine: Offer) -> str | None:
    if isinstance(run, BatchRun):
        wanted = _is_wanted(run.job.gpu_models, machine)
        return None if wanted else "GPU model not wanted"
    hardware, wish = machine.hardware, run.hardware
    if not _is_wanted(wish.gpu_models, machine):
        return "GPU model not wanted"
    if wish.bare_metal == "require" and hardware.virtualization is not Virtualization.BARE_METAL:
        return "not bare metal"
    fabric = hardware.shape.fabric_gbit_per_s or 0.0
    if wish.min_inter_node_gbit_per_s > fabric:
        return "fabric too slow or unknown"
    return None
