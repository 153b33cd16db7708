"""The rules over the whole plan: policy and quotas."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from broker.domain.burst import Burst
from broker.domain.offer import Offer, Payment
from broker.domain.policy import Policy, Sharing
from broker.domain.workload import Workloads
from broker.planning.explaining.batch_rules import batch_rules
from broker.planning.explaining.rules import Edits, Rule, duration, ladder, without_entry
from broker.planning.explaining.workload_rules import provider_share, run_rules, service_rules

_MOST_GPUS = 100_000
_MOST_USD = 100_000_000
_MOST_GROUPS = 4
_TENTHS = 10
QUOTA, UPFRONT, BUDGET = (
    "quotas",
    "policy.commitments.max_upfront_usd",
    "policy.budget_usd_per_month",
)
BUDGETS = "policy.budgets"
ALLOWED = ("policy.providers.allow", "policy.regions.allow")


def all_rules(
    workloads: Workloads, offers: Sequence[Offer], *, may_extend: bool = False
) -> tuple[Rule, ...]:
    """List every rule of a workloads file that has a looser value, those of the policy first."""
    found = [*_quotas(workloads), *_policy(workloads.policy, offers)]
    if not any(
        one.availability.spare_zone or one.min_up_time or one.disaggregated
        for one in workloads.services
    ):
        found.extend(_groups(workloads))
    if not any(one.isolated_for for one in workloads.inventory):
        found.extend(
            without_entry("policy.isolated", name, lambda some: some.policy.isolated)
            for name in workloads.policy.isolated
        )
    for number, service in enumerate(workloads.services):
        found.extend(service_rules(number, service))
    for number, run in enumerate(workloads.training):
        found.extend(run_rules(number, run, workloads.horizon, may_extend=may_extend))
    for number, job in enumerate(workloads.batch):
        found.extend(batch_rules(number, job, workloads.horizon, may_extend=may_extend))
    return tuple(rule for rule in found if rule.steps > 0)


def _quotas(workloads: Workloads) -> Iterator[Rule]:
    for number, quota in enumerate(workloads.quotas):
        yield _amount(f"{QUOTA}[{number}].gpus", f"{QUOTA}.{number}.gpus", quota.gpus)


def _policy(policy: Policy, offers: Sequence[Offer]) -> Iterator[Rule]:
    cap, budget = policy.commitments.max_upfront_usd, policy.budget_usd_per_month
    if cap is not None:
        yield _money(UPFRONT, cap, can_save=True)
    if policy.commitments.max_new_usd_per_hour is not None:
        place = "policy.commitments.max_new_usd_per_hour"
        yield _money(place, policy.commitments.max_new_usd_per_hour, can_save=True)
    if budget is not None:
        yield _money(BUDGET, budget, can_save=False)
    yield from _budgets(policy)
    yield from _commitments(policy, offers)
    yield from _lists(policy)
    place = "policy.max_provider_share"
    yield provider_share(place, place, policy)
    yield _plan_share(policy)
    if policy.sharing is Sharing.SPLIT:
        place = "policy.sharing"
        together = [(Sharing.CONVERGED, Sharing.CONVERGED.value)]
        yield ladder(place, place, policy.sharing.value, together, is_sized=False)
    if not policy.allow_stale:
        place = "policy.allow_stale"
        yield ladder(place, place, "false", [(True, "true")], is_sized=True)


def _plan_share(policy: Policy) -> Rule:
    share = policy.max_share_per_provider
    more = [(one / _TENTHS, f"{one / _TENTHS:g}") for one in range(1, _TENTHS + 1)]
    place = "policy.max_share_per_provider"
    looser = [(one, text) for one, text in more if one > share]
    return ladder(place, place, f"{share:g}", looser, is_sized=False)


def _groups(workloads: Workloads) -> Iterator[Rule]:
    policy = workloads.policy
    yield _more_groups("policy.max_groups", policy.max_groups)
    if policy.burst is not None:
        yield _more_groups("policy.burst.max_groups", policy.burst.max_groups)
    elif workloads.services and policy.robust is None and policy.max_groups < _MOST_GROUPS:
        yield _some_burst()


def _some_burst() -> Rule:
    """Let one other kind serve for a day each, where none may; the key is in no file without it."""
    burst = Burst()

    def edits(workloads: Workloads, _: int) -> Edits:
        policy = workloads.policy.model_dump(by_alias=True)
        return {"policy": {**policy, "burst": burst.model_dump()}}

    return Rule(
        path="policy.burst",
        value="none",
        steps=1,
        edits=edits,
        text=lambda _: f"max_groups {burst.max_groups}, every {duration(burst.change_every)}",
    )


def _more_groups(place: str, most: int) -> Rule:
    groups = [(one, str(one)) for one in range(most + 1, _MOST_GROUPS + 1)]
    return ladder(place, place, str(most), groups, is_sized=False)


def _budgets(policy: Policy) -> Iterator[Rule]:
    """List the budgets that are never exceeded; a plan may be cheaper where one part has more."""
    for number, budget in enumerate(policy.budgets):
        if budget.over_usd_per_usd is None:
            path, place = f"{BUDGETS}[{number}]", f"{BUDGETS}.{number}"
            key = budget.amount_key
            can_save = budget.is_hourly or budget.is_by_month or budget.scope != "the plan"
            place = f"{place}.{key}"
            yield _money(f"{path}.{key}", budget.amount_usd, place=place, can_save=can_save)


def _commitments(policy: Policy, offers: Sequence[Offer]) -> Iterator[Rule]:
    given = policy.commitments
    terms = {one.commitment.term_months for one in offers if one.commitment is not None}
    longer = [(term, str(term)) for term in sorted(terms) if term > given.max_term_months]
    place = "policy.commitments.max_term_months"
    yield ladder(place, place, str(given.max_term_months), longer, is_sized=True)
    if set(given.payments) != set(Payment):
        place = "policy.commitments.payments"
        listed = ", ".join(given.payments) or "none"
        yield ladder(place, place, listed, [(tuple(Payment), "any")], is_sized=True)


def _lists(policy: Policy) -> Iterator[Rule]:
    for place, allowed in zip(ALLOWED, (policy.providers.allow, policy.regions.allow), strict=True):
        if allowed:
            yield ladder(place, place, ", ".join(allowed), [((), "any")], is_sized=True)
    for name in policy.providers.deny:
        yield without_entry("policy.providers.deny", name, lambda some: some.policy.providers.deny)
    for name in policy.regions.deny:
        yield without_entry("policy.regions.deny", name, lambda some: some.policy.regions.deny)
    for name in policy.certifications:
        yield without_entry("policy.certifications", name, lambda some: some.policy.certifications)


def _amount(path: str, place: str, gpus: int) -> Rule:
    return Rule(
        path=path,
        value=str(gpus),
        steps=_MOST_GPUS,
        edits=lambda _, step: {place: gpus + step},
        text=lambda step: str(gpus + step) if step < _MOST_GPUS else "no limit",
    )


def _money(path: str, usd: Decimal, *, can_save: bool, place: str = "") -> Rule:
    """Raise a limit in whole dollars; the first step goes to the next one."""
    whole = int(usd)

    def raised(step: int) -> int:
        return whole + step

    return Rule(
        path=path,
        value=f"{usd:,.2f}",
        steps=_MOST_USD,
        edits=lambda _, step: {place or path: Decimal(raised(step))},
        text=lambda step: f"{raised(step):,}" if step < _MOST_USD else "no limit",
        can_save=can_save,
    )
