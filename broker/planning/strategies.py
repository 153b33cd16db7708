"""Narrower strategies: a case with some of its freedom taken away, in every way to do that.

What is owned already stays in every one of them, as its price is sunk; on one GPU model or
generation only the owned nodes of that one can be used.

*Today's inventory kept* is the buyer who changes nothing: the owned nodes stay, and what they do
not carry is rented on demand, from the same provider on the same GPU model as one of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from broker.domain.case import Case
from broker.domain.gpu import GpuModel
from broker.domain.offer import Offer, PriceKind
from broker.domain.policy import Sharing
from broker.domain.strategies import StrategyName
from broker.planning.narrowing import narrowed

_NVIDIA = "NVIDIA"
_REFRESH = " Ultra"
"""What NVIDIA appends to a generation for its later models: they are of that generation."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to keep to a strategy: its name, empty where there is one way only, and its case."""

    name: str
    case: Case


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to buy for the same demand; the best of its choices counts."""

    name: StrategyName
    choices: tuple[Choice, ...]


def strategies(case: Case, gpus: Mapping[str, GpuModel]) -> tuple[Strategy, ...]:
    """List every strategy that means something for a case, each narrower than the case."""
    generations = {name: _generation(gpu) for name, gpu in gpus.items()}
    found = [
        Strategy(StrategyName.ON_DEMAND_ONLY, (Choice("", _on_demand_only(case)),)),
        Strategy(
            StrategyName.NO_COMMITMENTS,
            (Choice("", narrowed(case, offer=_is_uncommitted)),),
        ),
        Strategy(StrategyName.NO_SPOT, (Choice("", _no_spot(case)),)),
        Strategy(StrategyName.NO_SHARING, (Choice("", _no_sharing(case)),)),
        single_provider(case),
        _on_one(StrategyName.ONE_GPU_MODEL, case, lambda gpu: gpu),
        _on_one(StrategyName.ONE_GENERATION, case, lambda gpu: generations.get(gpu, "")),
    ]
    if case.owned:
        found.insert(
            0, Strategy(StrategyName.INVENTORY_KEPT, (Choice("", _inventorynarrowed(case)),))
        )
    return tuple(found)


def single_provider(case: Case) -> Strategy:
    """Buy from one provider only, or from none where there is no offer."""
    providers = sorted({offer.provider for offer in case.offers}) or [""]
    return Strategy(
        StrategyName.SINGLE_PROVIDER,
        tuple(Choice(name, single_provider_case(case, name)) for name in providers),
    )


def single_provider_case(case: Case, provider: str) -> Case:
    """Keep the offers of one provider, and the machines that are owned already."""
    return narrowed(case, offer=lambda offer: offer.provider == provider)


def unserved(case: Case) -> tuple[str, ...]:
    """Name the services and runs without an option: with one of them there is no plan."""
    served = {(one.service, one.user_region) for one in case.serving}
    done = {one.run for one in case.training}
    services = [
        service.name
        for service in case.workloads.services
        if any(
            share > 0 and (service.name, region) not in served
            for region, share in service.users.items()
        )
    ]
    return (*services, *(run.name for run in case.workloads.runs if run.name not in done))


def why_none(strategy: Strategy) -> str:
    """Say why a strategy has no plan, as far as that is seen without a solver; else nothing."""
    if not strategy.choices:
        return f"{strategy.name.value}: there is none that fits every workload"
    if len(strategy.choices) > 1:
        return ""
    names = unserved(strategy.choices[0].case)
    return f"{strategy.name.value}: nothing in it fits {', '.join(names)}" if names else ""


def _on_one(name: StrategyName, case: Case, kind_of: Callable[[str], str]) -> Strategy:
    """Run everything on the GPU models of one kind; a kind that cannot is no choice."""
    kinds = sorted({kind_of(one.hardware.shape.gpu) for one in case.machines.values()} - {""})
    return Strategy(name, tuple(_servable(kinds, case, kind_of)))


def _servable(kinds: list[str], case: Case, kind_of: Callable[[str], str]) -> Iterator[Choice]:
    for kind in kinds:

        def is_of_kind(one: Offer, kind: str = kind) -> bool:
            return kind_of(one.hardware.shape.gpu) == kind

        narrow = narrowed(case, offer=is_of_kind, owned=is_of_kind)
        if not unserved(narrow):
            yield Choice(kind, narrow)


def _generation(gpu: GpuModel) -> str:
    return gpu.architecture.removesuffix(_REFRESH) if gpu.vendor == _NVIDIA else ""


def _is_uncommitted(offer: Offer) -> bool:
    return offer.commitment is None and offer.block is None


def _on_demand_only(case: Case) -> Case:
    return narrowed(case, offer=lambda offer: offer.price_kind is PriceKind.ON_DEMAND)


def _no_spot(case: Case) -> Case:
    return narrowed(case, offer=lambda offer: offer.price_kind is not PriceKind.SPOT)


def _no_sharing(case: Case) -> Case:
    policy = case.workloads.policy.model_copy(update={"sharing": Sharing.SPLIT})
    return replace(case, workloads=case.workloads.model_copy(update={"policy": policy}))


def _inventorynarrowed(case: Case) -> Case:
    machines = [case.machines[one.machine] for one in case.owned]
    kept = {(machine.provider, machine.hardware.shape.gpu) for machine in machines}
    return narrowed(
        case,
        offer=lambda offer: (
            offer.price_kind is PriceKind.ON_DEMAND
            and (offer.provider, offer.hardware.shape.gpu) in kept
        ),
    )
