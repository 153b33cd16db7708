"""Why an offer is not in a plan: the first thing that keeps it out, or what its use would cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from broker.catalog.gates import Quarantined
from broker.catalog.keys import find_key
from broker.domain.case import Case, committed_hours
from broker.domain.explanation import OtherPlan, Outcome, Verdict, WhyNot
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import SMALLEST_GAP, Plan, Status
from broker.domain.policy import Policy
from broker.planning.explaining.cases import (
    at_price,
    left_unused,
    rents_beside_commitments,
    spread_usd_per_hour,
    without_offers,
)
from broker.planning.explaining.compared import other_plan, proven_usd
from broker.planning.explaining.entry_price import Question, Rest, entry_price, fewest_hours
from broker.planning.explaining.ground import Ground
from broker.planning.explaining.unfit import could_do, time_reasons, unfit_reasons
from broker.planning.filters import BOUND_FOR_LONGER, EXAMPLE, GONE_BEFORE, why_not_then
from broker.planning.filters import why_not as first_rule
from broker.planning.plans import freshness_of
from solver.milp.constraints.quota import is_under
from solver.milp.forced import forced_optimum
from solver.milp.optimum import Optimum
from solver.milp.prune import prune_alike
from solver.milp.scenarios.cases import scenario_cases

_DEARER_THAN_ANY_USD = Decimal(10) ** 12
"""Stands for the cost of a plan where there is none."""

_OUT_OF_TIME = Optimum(
    status=Status.INFEASIBLE,
    total_usd=Decimal(0),
    bound_usd=Decimal(0),
    gap_fraction=1.0,
    ran_out_of_time=True,
)
"""Stands for a solve that was given up."""

_SHARE = 0.35
"""The part of the time that is left which one solve may take: an entry price takes about four."""


def why_not(ground: Ground, name: str) -> WhyNot:
    """Say why an offer is not in the plan.

    Raises:
        ConfigurationError: the catalog has no such offer.
    """
    offer, held = _find(ground, name)
    bought_in = _bought_in(ground.plan, offer.key)
    if bought_in is not None:
        return WhyNot(
            offer=offer.key, verdict=Verdict.IN_PLAN, reason=f"the plan buys it{bought_in}"
        )
    if held is not None:
        reason = f"a trust gate holds it back: {held.reason.replace('_', ' ')}"
        told = (held.detail,) if held.detail else ()
        return WhyNot(offer=offer.key, verdict=Verdict.HELD_BACK, reason=reason, details=told)
    policy = ground.plan.workloads.policy
    freshness = freshness_of(ground.sources.view, ground.sources.settings)
    rule = first_rule(offer, policy, freshness) or why_not_then(
        offer, ground.plan.workloads.horizon
    )
    if rule is not None:
        details = tuple(_rule_details(offer, policy, rule))
        return WhyNot(offer=offer.key, verdict=Verdict.RULED_OUT, reason=rule, details=details)
    return _by_work(ground, offer)


def _bought_in(plan: Plan, key: str) -> str | None:
    """Say in which scenarios alone a plan buys an offer; None where it does not."""
    if any(one.id == key for one in plan.purchases):
        return ""
    told = plan.scenarios.scenarios if plan.scenarios else ()
    names = [one.name for one in told if any(each.id == key for each in one.purchases)]
    return f" in scenario {', '.join(map(repr, names))}" if names else None


def _find(ground: Ground, name: str) -> tuple[Offer, Quarantined | None]:
    view = ground.sources.view
    held = {one.offer.key: one for one in view.quarantined}
    offers = {one.key: one for one in view.offers}
    key = find_key(name, offers.keys() | held.keys())
    return (offers[key], None) if key in offers else (held[key].offer, held[key])


def _rule_details(offer: Offer, policy: Policy, rule: str) -> Iterator[str]:
    """Put the rule's own value beside what the offer has."""
    if rule in {"provider not allowed", EXAMPLE}:
        yield f"policy.providers: {_said(policy.providers.allow, policy.providers.deny)}"
    elif rule == "region not allowed":
        place = offer.place
        yield f"policy.regions: {_said(policy.regions.allow, policy.regions.deny)}"
        yield f"it lies in {place.region}, {place.country or 'a country that is not known'}"
    elif rule == "certification missing":
        missing = sorted(set(policy.certifications) - set(offer.certifications))
        yield f"policy.certifications asks for {', '.join(missing)}"
    elif rule == "price too old":
        seen = offer.provenance
        held = f", held until {seen.valid_until:%Y-%m-%d %H:%M}" if seen.valid_until else ""
        yield f"seen {seen.observed_at:%Y-%m-%d %H:%M}{held}; see policy.allow_stale"
    elif rule == "commitment beyond the policy" and offer.block is not None:
        limits = policy.commitments
        yield (
            f"it is a block of at least {offer.block.lengths_h[0]} h that is paid all upfront; "
            f"policy.commitments allows {limits.max_term_months} months, "
            f"{', '.join(limits.payments) or 'no payment'}, and "
            f"{'some' if limits.capacity_blocks else 'no'} capacity blocks"
        )
    elif rule == "commitment beyond the policy" and offer.commitment is not None:
        limits = policy.commitments
        yield (
            f"it is for {offer.commitment.term_months} months, {offer.commitment.payment.value}; "
            f"policy.commitments allows {limits.max_term_months} months, "
            f"{', '.join(limits.payments) or 'no payment'}"
        )
    else:
        yield from _details_of_sale(offer, rule)


def _details_of_sale(offer: Offer, rule: str) -> Iterator[str]:
    """Say how much at once, and for how long, an offer is sold at the least."""
    if rule == "sold in larger numbers only":
        yield f"at least {offer.limits.min_nodes} nodes"
    elif rule == BOUND_FOR_LONGER and offer.billing.prepaid and offer.billing.minimum_h is None:
        yield "each node is paid ahead, and the provider does not say for how long"
    elif rule == BOUND_FOR_LONGER:
        billing = offer.billing
        least_h = max(billing.minimum_h or 0, (billing.step_s or 0) / 3600)
        yield (
            f"each node is paid for {least_h:g} h at the least; "
            "horizon.slot of as many hours lets it in"
        )
    elif rule == GONE_BEFORE:
        yield (
            f"its host takes it back on {offer.limits.until:%Y-%m-%d %H:%M} UTC; "
            "a horizon that ends before that lets it in"
        )


def _said(allow: tuple[str, ...], deny: tuple[str, ...]) -> str:
    allowed = f"allow {', '.join(allow)}" if allow else "all are allowed"
    return f"{allowed}; deny {', '.join(deny)}" if deny else allowed


def _by_work(ground: Ground, offer: Offer) -> WhyNot:
    found = could_do(ground.case, offer)
    if not found:
        details = (
            *time_reasons(ground.case, offer),
            *unfit_reasons(ground.plan.workloads, offer, ground.sources),
        )
        return WhyNot(
            offer=offer.key,
            verdict=Verdict.UNFIT,
            reason="no workload can run on it",
            details=details,
        )
    return _Forcing(ground, offer, found).answer()


@dataclass(slots=True)
class _Forcing:
    """The forced re-solves of one offer."""

    ground: Ground
    offer: Offer
    found: tuple[str, ...]

    def answer(self) -> WhyNot:
        case, key = self.ground.case, self.offer.key
        now = spread_usd_per_hour(self.offer)
        self.ground.progress("planning with the offer used")
        forced = self._forced_at(now)
        if forced.status is Status.INFEASIBLE:
            return self._impossible(forced)
        instead = other_plan(self.ground.plan, forced, least_usd=self.ground.plan.bound_usd)
        first: dict[Decimal, Optimum] = {now: forced}
        question = Question(
            offer=key,
            now_usd_per_hour=now,
            fewest_node_hours=fewest_hours(case, self.offer.price_kind),
            decides_others=rents_beside_commitments(case, key),
            robust=case.workloads.policy.robust,
            kind=self.offer.price_kind,
        )
        entry = entry_price(
            question,
            lambda price: first.get(price) or self._forced_at(price),
            _Rest(self.ground, key, decides_others=question.decides_others).at,
        )
        return WhyNot(
            offer=key,
            verdict=Verdict.DEARER,
            reason=_dearer(instead),
            details=tuple(self._details()),
            could_do=self.found,
            instead=instead,
            entry=entry,
        )

    def _forced_at(self, price: Decimal) -> Optimum:
        self.ground.progress(f"planning with the offer used at {price:,.4f} USD an hour")
        case = at_price(self.ground.case, self.offer.key, price)
        limits = self.ground.exact_limits(_SHARE)
        pending = self.ground.pool.submit(forced_optimum, case, self.offer.key, limits)
        return self.ground.all_of([pending])[0] or _OUT_OF_TIME

    def _impossible(self, forced: Optimum) -> WhyNot:
        is_unknown = forced.ran_out_of_time
        return WhyNot(
            offer=self.offer.key,
            verdict=Verdict.UNKNOWN if is_unknown else Verdict.IMPOSSIBLE,
            reason="no plan that uses it was found in the time"
            if is_unknown
            else "no plan that uses it keeps every rule",
            details=() if is_unknown else tuple(self._limits()),
            could_do=self.found,
            instead=OtherPlan(outcome=Outcome.UNKNOWN if is_unknown else Outcome.NONE),
        )

    def _details(self) -> Iterator[str]:
        better = _dominated(self.ground.case).get(self.offer.machine)
        if better is not None:
            yield f"{better} does all that it can do for no more"
        yield from time_reasons(self.ground.case, self.offer)

    def _limits(self) -> Iterator[str]:
        """Name the rules that bear on the offer, as one of them must stand in its way."""
        workloads = self.ground.plan.workloads
        for number, quota in enumerate(workloads.quotas):
            if is_under(self.offer, quota):
                yield f"quotas[{number}] leaves {quota.gpus} GPUs for it and those like it"
        if self.offer.stock is not None:
            yield f"its stock is {self.offer.stock[1]} GPUs"
        budget = workloads.policy.budget_usd_per_month
        if budget is not None:
            yield f"policy.budget_usd_per_month is {budget:,.2f}"
        yield from _budgets(workloads.policy, self.offer)
        cap = workloads.policy.commitments.max_upfront_usd
        if cap is not None and (self.offer.commitment or self.offer.block):
            yield f"policy.commitments.max_upfront_usd is {cap:,.2f}"
        rung = workloads.policy.commitments.max_new_usd_per_hour
        if rung is not None and _is_new_commitment(self.offer):
            yield f"policy.commitments.max_new_usd_per_hour is {rung:,.2f}"
        if committed_hours(self.offer) > Decimal(str(workloads.horizon.hours)):
            yield (
                "it outlives the horizon, so services must fill it for its break-even share "
                "of the time"
            )


def _dominated(case: Case) -> Mapping[str, str]:
    """Map machines to those that do all that they can do for no more, in every scenario."""
    robust = case.workloads.policy.robust
    courses = [one.case for one in scenario_cases(case, robust)] if robust is not None else [case]
    return prune_alike(courses)[0].dominated


def _is_new_commitment(offer: Offer) -> bool:
    return offer.commitment is not None or offer.price_kind is PriceKind.SAVINGS_PLAN


@dataclass(slots=True)
class _Rest:
    """The best plan without the offer; solved where the plan itself does not say it."""

    ground: Ground
    offer: str
    decides_others: bool
    known: dict[Decimal | None, Rest] = field(default_factory=dict)

    def at(self, price: Decimal) -> Rest:
        """Give what it costs, at a price of the offer where that decides anything."""
        plan = self.ground.plan
        known = self.known
        name = price if self.decides_others else None
        if name not in known:
            if not self.decides_others and plan.gap_fraction <= SMALLEST_GAP:
                known[name] = Rest(plan.objective_usd, plan.objective_usd)
            else:
                known[name] = self._solved(price)
        return known[name]

    def _solved(self, price: Decimal) -> Rest:
        plan, limits = self.ground.plan, self.ground.exact_limits(_SHARE)
        self.ground.progress("planning without the offer")
        pending = self.ground.pool.optimize(self._case(price), limits)
        optimum = self.ground.all_of([pending])[0] or _OUT_OF_TIME
        has_plan = optimum.status is not Status.INFEASIBLE
        if self.decides_others:
            if has_plan:
                return Rest(proven_usd(optimum), optimum.objective_usd)
            least = optimum.bound_usd if optimum.ran_out_of_time else _DEARER_THAN_ANY_USD
            return Rest(least, _DEARER_THAN_ANY_USD)
        least = max(plan.bound_usd, proven_usd(optimum) if has_plan else optimum.bound_usd)
        most = min(plan.objective_usd, optimum.objective_usd) if has_plan else plan.objective_usd
        return Rest(min(least, most), most)

    def _case(self, price: Decimal) -> Case:
        if not self.decides_others:
            return without_offers(self.ground.case, {self.offer})
        return left_unused(at_price(self.ground.case, self.offer, price), self.offer)


def _budgets(policy: Policy, offer: Offer) -> Iterator[str]:
    """Name the budgets that an offer counts in, or that the work on it does."""
    for number, budget in enumerate(policy.budgets):
        if budget.is_with(offer.provider):
            amount = f"{budget.amount_key} {budget.amount_usd:,.2f}"
            yield f"policy.budgets[{number}] is {amount} for {budget.scope}"


def _dearer(instead: OtherPlan) -> str:
    if instead.dearer is None:
        return "no rule keeps it out"
    least, most = instead.dearer.least_usd, instead.dearer.most_usd
    if most < 0:
        return (
            f"no rule keeps it out: a plan that uses it costs {-most:,.2f} USD less, which the "
            "gap of this plan left open"
        )
    if least == most:
        return f"no rule keeps it out: the cheapest plan that uses it costs {most:,.2f} USD more"
    return (
        f"no rule keeps it out: the cheapest plan that uses it costs between {least:,.2f} and "
        f"{most:,.2f} USD more"
    )
