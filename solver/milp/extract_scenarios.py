"""From the parts of all scenarios to what a plan says of them."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from broker.domain.offer import PriceKind
from broker.domain.plan import Purchase, ScenarioCosts, ScenarioPlan
from broker.domain.quantities import quantize_usd
from broker.domain.robust import FORECAST, Measure, Robust
from solver.milp.extract_plan import Parts

_RENTED = (PriceKind.ON_DEMAND, PriceKind.SPOT)


def scenario_costs(robust: Robust, parts: Sequence[Parts]) -> ScenarioCosts:
    """State each scenario's cost and what is rented in it, and the measure of all costs."""
    probabilities = list(robust.probabilities.values())
    costs = [one.total_usd for one in parts]
    mean = _mean(costs, probabilities)
    has_tail = robust.measure is Measure.CVAR
    tail = cvar_usd(costs, probabilities, robust.alpha) if has_tail else None
    weight = robust.weight if has_tail else Decimal(0)
    objective = (1 - weight) * mean + weight * (tail or Decimal(0))
    return ScenarioCosts(
        objective_usd=quantize_usd(objective),
        mean_usd=quantize_usd(mean),
        cvar_usd=None if tail is None else quantize_usd(tail),
        scenarios=tuple(
            _scenario(name, probability, own)
            for (name, probability), own in zip(robust.probabilities.items(), parts, strict=True)
        ),
    )


def cvar_usd(costs: Sequence[Decimal], probabilities: Sequence[Decimal], alpha: Decimal) -> Decimal:
    """Give the mean cost of the worst courses, as the least of what the program minimizes."""
    return min(
        at_risk
        + sum(
            (
                probability * max(cost - at_risk, Decimal(0))
                for cost, probability in zip(costs, probabilities, strict=True)
            ),
            Decimal(0),
        )
        / (1 - alpha)
        for at_risk in costs
    )


def _mean(costs: Iterable[Decimal], probabilities: Iterable[Decimal]) -> Decimal:
    pairs = zip(costs, probabilities, strict=True)
    return sum((cost * probability for cost, probability in pairs), Decimal(0))


def _scenario(name: str, probability: Decimal, parts: Parts) -> ScenarioPlan:
    is_own = name != FORECAST
    rented = [one for one in parts.purchases if one.price_kind in _RENTED]
    return ScenarioPlan(
        name=name,
        probability=probability,
        total_usd=parts.total_usd,
        rented_node_hours=sum((one.node_hours for one in rented), Decimal(0)),
        most_rented_nodes=_most_nodes(rented),
        purchases=parts.purchases if is_own else (),
        serving=parts.serving if is_own else (),
        cost_lines=parts.cost_lines if is_own else (),
    )


def _most_nodes(rented: Sequence[Purchase]) -> int:
    """Count the nodes that are rented together at one time, at the most."""
    steps = [step for one in rented for step in one.steps]
    starts = {step.from_at for step in steps}
    return max(
        (
            sum(step.nodes for step in steps if step.from_at <= start < step.to_at)
            for start in starts
        ),
        default=0,
    )
