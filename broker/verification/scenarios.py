"""Scenarios: a plan holds in each of them under the same decisions, and costs what it says.

Each scenario is looked at as a plan of its own, for the loads and at the prices that it has; the
rules of every plan are then asked of it, but for those of `FORECAST_ALONE`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from broker.domain.case import Case
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import Purchase, ScenarioCosts, ScenarioPlan, Status
from broker.domain.pool import Role
from broker.domain.robust import FORECAST, Measure, Robust, Scenario
from broker.verification.coverage import spare_commitments
from broker.verification.facts import COMMITTED, SPOT, Facts, Finding, gather
from broker.verification.load import kinds_of, roles_in
from broker.verification.savings import idle_promises
from broker.verification.timeline import node_hours_of

FORECAST_ALONE = frozenset(
    {
        "inputs",
        "scenarios",
        "scenario_decisions",
        "outliving_commitments",
        "outliving_savings",
        "committed_share",
        "commitment_utilization",
        "spot_discount",
        "proof",
        "infeasible",
        "comparisons",
    }
)
"""Rules about the plan as a whole, about targets, and about what commitments are worth later."""

_RENTED = SPOT | {PriceKind.ON_DEMAND}
_MICRO = 1_000_000
_HOURS_SLACK = Fraction(1, 10**9)


def scenarios(facts: Facts) -> Iterator[Finding]:
    """State for each scenario its cost and what is rented, and the measure of the costs.

        mean_usd       Σ_s probability[s] · total_usd[s]
        cvar_usd       the mean of the dearest scenarios, those of a probability of 1 − alpha
        objective_usd  mean_usd, or (1 − weight) · mean_usd + weight · cvar_usd

    A plan has scenarios where its policy does, unless it is infeasible.
    """
    robust, told = facts.case.workloads.policy.robust, facts.plan.scenarios
    is_due = robust is not None and facts.plan.status is not Status.INFEASIBLE
    if is_due != (told is not None):
        found = "no scenarios" if told is None else "scenarios"
        yield Finding("scenarios", f"the plan has {found}; by its policy and status it is due some")
    if robust is None or told is None:
        return
    right = list(robust.probabilities.items())
    found_names = [(one.name, one.probability) for one in told.scenarios]
    if found_names != right:
        yield Finding("scenarios", f"are {_told(found_names)}; {_told(right)} are right")
        return
    for one in told.scenarios:
        yield from _figures(facts, one)
    yield from _measures(told, robust)


def scenario_decisions(facts: Facts) -> Iterator[Finding]:
    """Keep in each scenario the plan's commitments, and the kinds that serve each demand.

    Runs stand in the plan alone, so they are the same. Over all scenarios together no more kinds
    serve a demand than `max_groups`, of each pool where it has pools, and a node is committed only
    if one of them needs it.
    """
    courses = every_course(facts)
    if len(courses) > 1:
        yield from _other_commitments(facts, courses)
        yield from _too_many_kinds(facts, courses)
        yield from _never_needed(courses)
        yield from _steady_elsewhere(courses)


_Courses = Sequence[tuple[str, Facts]]


def _other_commitments(facts: Facts, courses: _Courses) -> Iterator[Finding]:
    right = _commitments(facts.plan.purchases)
    for name, course in courses[1:]:
        found = _commitments(course.plan.purchases)
        for subject in sorted(right.keys() | found.keys()):
            if right.get(subject) != found.get(subject):
                yield Finding(subject, f"is committed to otherwise in scenario {name!r}")


def _too_many_kinds(facts: Facts, courses: _Courses) -> Iterator[Finding]:
    limit = facts.case.workloads.policy.max_groups
    for (*demand, _), kinds in _kinds(courses).items():
        if len(kinds) > limit:
            message = f"{len(kinds)} kinds of replica serve it in all scenarios, {limit} may"
            yield Finding("/".join(demand), message)


def _never_needed(courses: _Courses) -> Iterator[Finding]:
    spare = [spare_commitments(course) for _, course in courses]
    for subject in sorted(set.intersection(*(set(one) for one in spare))):
        least = min(one[subject] for one in spare)
        if least >= 1:
            yield Finding(subject, f"{least:.0f} committed nodes are needed in no scenario")
    idle = [idle_promises(course) for _, course in courses]
    for subject in sorted(set.intersection(*idle)):
        yield Finding(subject, "promises dollars that cover nothing in any scenario")


def _steady_elsewhere(courses: _Courses) -> Iterator[Finding]:
    for name, course in courses[1:]:
        for one in course.plan.purchases:
            if one.savings is not None and one.savings.steady:
                yield Finding(one.id, f"states steady nodes in scenario {name!r}, not as forecast")


def every_course(facts: Facts) -> list[tuple[str, Facts]]:
    """Give the plan itself, and what it is in each scenario that its policy has, by name."""
    robust, told = facts.case.workloads.policy.robust, facts.plan.scenarios
    by_name = {one.name: one for one in told.scenarios} if told else {}
    return [(FORECAST, facts)] + [
        (one.name, _course(facts, one, by_name[one.name]))
        for one in (robust.scenarios if robust else ())
        if one.name in by_name
    ]


def _course(facts: Facts, scenario: Scenario, told: ScenarioPlan) -> Facts:
    """Put the plan as it is in a scenario to the case as it is there."""
    case = facts.unchanged
    policy = case.workloads.policy.model_copy(update={"robust": None})
    workloads = case.workloads.model_copy(update={"policy": policy})
    case = _at_prices(replace(case, workloads=workloads), scenario)
    prices = {offer.key: offer for offer in case.offers}
    plan = facts.whole.model_copy(
        update={
            "workloads": workloads,
            "purchases": told.purchases,
            "serving": told.serving,
            "cost_lines": told.cost_lines,
            "total_usd": told.total_usd,
            "offers": tuple(prices.get(one.key, one) for one in facts.whole.offers),
        }
    )
    there = gather(plan, case, snapshot=None, workloads_sha256=None)
    loads = {
        name: load * scenario.load_factor(name) for name, load in there.load_requests_per_s.items()
    }
    return replace(there, load_requests_per_s=loads)


def _at_prices(case: Case, scenario: Scenario) -> Case:
    factors = {
        PriceKind.ON_DEMAND: Fraction(scenario.prices.on_demand),
        PriceKind.SPOT: Fraction(scenario.prices.spot),
    }

    def priced(offer: Offer) -> Offer:
        usd = Fraction(offer.usd_per_hour) * factors.get(offer.price_kind, Fraction(1))
        return offer.model_copy(update={"usd_per_hour": _micro_usd(usd)})

    return replace(case, offers=tuple(priced(one) for one in case.offers))


def _micro_usd(usd: Fraction) -> Decimal:
    return Decimal(round(usd * _MICRO)).scaleb(-6)


def _told(pairs: Sequence[tuple[str, Decimal]]) -> str:
    return ", ".join(f"{name} {probability}" for name, probability in pairs)


def _figures(facts: Facts, one: ScenarioPlan) -> Iterator[Finding]:
    """Hold the figures of a scenario to its own purchases; the forecast's are the plan's."""
    is_forecast = one.name == FORECAST
    repeated = len(one.purchases) + len(one.serving) + len(one.cost_lines)
    if is_forecast and repeated:
        yield Finding(one.name, f"has {repeated} parts of its own; the plan's are the forecast's")
    if is_forecast and one.total_usd != facts.plan.total_usd:
        message = f"total_usd is {one.total_usd}; the plan's is {facts.plan.total_usd}"
        yield Finding(one.name, message)
    purchases = facts.whole.purchases if is_forecast else one.purchases
    rented = [each for each in purchases if each.price_kind in _RENTED]
    steps = [step for each in rented for step in each.steps]
    hours = sum((node_hours_of(each.steps) for each in rented), Fraction(0))
    if abs(Fraction(one.rented_node_hours) - hours) > _HOURS_SLACK:
        message = f"rented_node_hours is {one.rented_node_hours}; {float(hours):g} are rented"
        yield Finding(one.name, message)
    most = max(facts.timeline.spread((step, step.nodes) for step in steps), default=0)
    if one.most_rented_nodes != most:
        message = f"most_rented_nodes is {one.most_rented_nodes}; at the most {most:.0f} are"
        yield Finding(one.name, message)


def _measures(told: ScenarioCosts, robust: Robust) -> Iterator[Finding]:
    costs = [(Fraction(one.total_usd), Fraction(one.probability)) for one in told.scenarios]
    mean = sum((usd * probability for usd, probability in costs), Fraction(0))
    worst = _mean_of_worst(costs, 1 - Fraction(robust.alpha))
    has_tail = robust.measure is Measure.CVAR
    weight = Fraction(robust.weight) if has_tail else Fraction(0)
    objective = (1 - weight) * mean + weight * worst
    for name, usd in (("mean_usd", mean), ("cvar_usd", worst), ("objective_usd", objective)):
        found = getattr(told, name)
        right = None if name == "cvar_usd" and not has_tail else _micro_usd(usd)
        if found != right:
            yield Finding("scenarios", f"{name} is {found}; {right} is right")


def _mean_of_worst(costs: Sequence[tuple[Fraction, Fraction]], share: Fraction) -> Fraction:
    """Take the dearest courses up to a probability, the last of them in part."""
    left, total = share, Fraction(0)
    for usd, probability in sorted(costs, reverse=True):
        taken = min(probability, left)
        total, left = total + usd * taken, left - taken
    return total / share


def _commitments(purchases: Sequence[Purchase]) -> dict[str, object]:
    return {
        one.id: (one.offer, one.price_kind, one.steps, one.block, one.isolated_for)
        if one.savings is None
        else (one.price_kind, one.savings.usd_per_hour)
        for one in purchases
        if one.price_kind in COMMITTED or one.savings is not None
    }


def _kinds(courses: _Courses) -> dict[tuple[str, str, Role], set[object]]:
    """Gather the kinds that serve each demand in any scenario, by what they do of it."""
    found: dict[tuple[str, str, Role], set[object]] = {}
    for _, course in courses:
        for service in course.case.workloads.services:
            for region in service.users:
                for kind, (one, *_) in kinds_of(course, service, region).items():
                    for role in roles_in(service):
                        if one.assignment.candidate.does(role):
                            found.setdefault((service.name, region, role), set()).add(kind)
    return found
