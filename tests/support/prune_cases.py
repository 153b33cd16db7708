"""Cases for pruning: boxes of 2 GPUs that serve one demand, and what is left of them."""

from collections.abc import Mapping, Sequence

from solving import least_usd, same_cost
from tiny_cases import case, offer, run_entry, service_entry, serving, workloads

from broker.domain.case import Case, ServingOption, TrainingOption
from broker.domain.offer import Limits, Offer
from solver.milp.prune import prune


def box(
    name: str, usd: str, *, gpus: int = 2, limits: Limits | None = None, **more: object
) -> Offer:
    """Offer a machine of 2 GPUs; `more` are arguments of `offer`."""
    made = offer(usd, name=name, gpus=gpus, **more)  # type: ignore[arg-type] - by keyword
    return made.model_copy(update={"limits": limits}) if limits else made


def served(*machines: Offer) -> list[ServingOption]:
    """Serve on each machine by replicas of 1 GPU that carry 3 requests/s."""
    return [serving(one, [3]) for one in machines]


def demand(
    offers: Sequence[Offer],
    options: Sequence[ServingOption],
    *,
    runs: Sequence[TrainingOption] = (),
    owned: Sequence[tuple[Offer, int]] = (),
    quotas: Sequence[Mapping[str, object]] = (),
    policy: Mapping[str, object] | None = None,
    **service: object,
) -> Case:
    """Ask for up to 10 requests/s, and for a run of 8 h where there are `runs`."""
    file = workloads(
        services=[service_entry(6, 10, **service)],
        training=[run_entry(8 * 3600)] if runs else [],
        quotas=list(quotas),
        policy=dict(policy or {}),
    )
    return case(file, offers, serving=options, training=runs, owned=owned)


def pruned(of: Case) -> Case:
    """Prune a case; its optimal cost must stay."""
    left = prune(of).case
    assert same_cost(least_usd(left), least_usd(of))
    return left


def machines_left(of: Case) -> set[str]:
    """Name the machines that have options left."""
    left = pruned(of)
    return {one.machine for one in (*left.serving, *left.training)}


def names_left(of: Case) -> set[str]:
    """Name the instance types that have options left."""
    return {machine.split("/")[1] for machine in machines_left(of)}
