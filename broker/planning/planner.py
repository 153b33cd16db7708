"""From a case to a plan that has passed the independent check."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from broker.domain.availability import Availability
from broker.domain.candidate import Label
from broker.domain.case import Case
from broker.domain.errors import BrokerError
from broker.domain.offer import Offer
from broker.domain.plan import (
    BookedBlock,
    CatalogRef,
    Plan,
    RejectedCount,
    SolveSettings,
    Status,
)
from broker.domain.policy import CommitmentPolicy, Policy
from broker.domain.workload import Workloads
from broker.planning.bare_plan import all_purchases
from broker.planning.batch_work import owner_of
from broker.planning.case import CaseReport
from broker.planning.comparisons import Solved, solve_beside
from broker.planning.place_notes import place_notes
from broker.planning.strategies import Strategy
from broker.planning.workloads_file import workloads_sha256
from broker.planning.zone_notes import pool_notes, zone_notes
from broker.verification.check import check
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits
from solver.milp.start import NOWHERE, Start
from solver.milp.targets import lacks_commitments

Progress = Callable[[str], None]
COMPARISON_GAP = 0.02
"""Where the search for the best single provider of a plan ends."""

_BESIDE_FACTOR = 1.5
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True)
class Catalog:
    """What a plan says of the catalog that it was made from."""

    snapshot: str
    offers: int
    as_of: datetime


def make_plan(
    report: CaseReport,
    catalog: Catalog,
    settings: SolveSettings,
    progress: Progress,
    *,
    beside: Sequence[Strategy],
    gap: float,
    budget_s: float | None = None,
    start: Plan | None = None,
) -> Plan:
    """Solve a case beside narrower strategies, and check the plan independently.

    The search of a strategy ends at `gap`; the strategies share what the plan leaves of `budget_s`
    seconds, which are half as many more than its own time limit where they are not given. What an
    earlier plan chose is tried first.

    Raises:
        BrokerError: the independent check refuses a plan, which is a bug of ours.
    """
    case = report.case
    begin = Start.of(start) if start else NOWHERE
    limits = Limits(settings.gap_fraction, settings.time_limit_s, settings.seed, begin)
    progress(f"solving over {len(case.offers)} offers and {len(case.machines)} machines")
    whole_s = _BESIDE_FACTOR * settings.time_limit_s if budget_s is None else budget_s
    solved = solve_beside(case, beside, limits, gap=gap, budget_s=whole_s, progress=progress)
    progress("checking the plan independently")
    return checked_plan(report, catalog, settings, solved)


def checked_plan(
    report: CaseReport, catalog: Catalog, settings: SolveSettings, solved: Solved
) -> Plan:
    """Put a plan together from its parts, and check it independently.

    Raises:
        BrokerError: the independent check refuses the plan, which is a bug of ours.
    """
    plan = _plan(report, catalog, settings, solved)
    violations = check(plan, report.case, snapshot=catalog.snapshot)
    if violations:
        first = violations[0]
        raise BrokerError(
            f"the plan failed its independent check: {first.rule} of {first.subject}: "
            f"{first.message} ({len(violations)} in all)",
            hint="this is a bug; please report it with the workloads file",
        )
    return plan


def _plan(report: CaseReport, catalog: Catalog, settings: SolveSettings, solved: Solved) -> Plan:
    case, optimum = report.case, solved.joint
    used = _used_offers(case, optimum)
    return Plan(
        status=optimum.status,
        total_usd=optimum.total_usd,
        bound_usd=optimum.bound_usd,
        gap_fraction=optimum.gap_fraction,
        catalog=CatalogRef(
            snapshot=catalog.snapshot,
            offers=catalog.offers,
            as_of=catalog.as_of,
            oldest_price_at=min((one.provenance.observed_at for one in used), default=None),
        ),
        workloads_sha256=workloads_sha256(case.workloads),
        settings=settings,
        purchases=optimum.purchases,
        serving=optimum.serving,
        training=optimum.training,
        cost_lines=optimum.cost_lines,
        comparisons=solved.comparisons,
        rejected=(*report.rejected, *_outbid(case, optimum)),
        warnings=tuple(_warnings(report, solved, used)),
        workloads=case.workloads,
        offers=used,
        in_force=case.in_force,
        scenarios=optimum.scenarios,
    )


def _used_offers(case: Case, optimum: Optimum) -> tuple[Offer, ...]:
    by_key = {offer.key: offer for offer in case.machines.values()}
    by_key |= {offer.key: offer for offer in case.offers}
    keys = {purchase.offer for purchase in all_purchases(optimum)}
    for savings in (one.savings for one in all_purchases(optimum) if one.savings):
        keys |= {one.offer for one in savings.covers} | {one.offer for one in savings.steady}
    return tuple(by_key[key] for key in sorted(keys))


def _outbid(case: Case, optimum: Optimum) -> Iterator[RejectedCount]:
    offers = [offer.key for offer in case.offers if offer.machine in optimum.outbid]
    if offers:
        yield RejectedCount(
            reason="another machine does the same for no more",
            offers=len(offers),
            example=min(offers),
        )


def _warnings(report: CaseReport, solved: Solved, used: Sequence[Offer]) -> Iterator[str]:
    optimum = solved.joint
    if optimum.status is Status.INFEASIBLE:
        yield from _hopeless(report, optimum)
        return
    yield from report.warnings
    if solved.was_ended and optimum.ran_out_of_time:
        yield "the search was ended by hand before the gap was reached"
    elif optimum.ran_out_of_time:
        yield "the time limit ended the search before the gap was reached"
    if solved.unknown:
        unknown = ", ".join(solved.unknown)
        yield f"not compared, as no plan was found in the time: {unknown}"
    yield from solved.remarks
    yield from _beyond(report.case, optimum)
    yield from zone_notes(report.case, optimum.serving)
    yield from pool_notes(report.case, optimum.serving)
    yield from place_notes(report.case.workloads.policy.regions, used)
    labels = {one.candidate.label for one in optimum.serving}
    labels |= {one.candidate.label for one in optimum.training}
    if Label.ESTIMATED in labels:
        yield "some rates are estimates outside the range of public measurements"
    undated = sorted({offer.provider for offer in used if offer.provenance.undated})
    if undated:
        yield f"the price date of some offers used is that of their sheet: {', '.join(undated)}"
    for offer in used:
        yield from (f"{offer.key}: {warning}" for warning in offer.warnings)


def _beyond(case: Case, optimum: Optimum) -> Iterator[str]:
    """Say what is paid for hours after the horizon."""
    later = sum((purchase.later_usd for purchase in optimum.purchases), Decimal(0))
    if later:
        yield (
            f"commitments go on after the horizon: {later:,.2f} USD of their cost fall there, "
            "which services alone justify at the expected price trend"
        )
    end = case.workloads.horizon.end
    over = [one.id for one in optimum.purchases if one.block and _ends_at(one.block) > end]
    if over:
        yield (
            f"{len(over)} capacity block{'s' * (len(over) > 1)} end after the horizon and are "
            f"charged whole, as they are paid in advance: {', '.join(over)}"
        )


def _ends_at(block: BookedBlock) -> datetime:
    return block.starts_at + timedelta(hours=block.length_h)


def _hopeless(report: CaseReport, optimum: Optimum) -> Iterator[str]:
    """Say of each workload without an option why the nearest offers were refused."""
    if optimum.ran_out_of_time:
        yield from _out_of_time(report.case.workloads.policy)
        return
    case = report.case
    served = {(one.service, one.user_region) for one in case.serving}
    done = {one.run for one in case.training}
    found = False
    for service in case.workloads.services:
        for region in sorted(service.users):
            if (service.name, region) not in served and service.users[region] > 0:
                found = True
                yield f"{service.name} cannot serve {region}: {_why(report, service.name)}"
    told: set[str] = set()
    for run in case.workloads.runs:
        if run.name not in done and owner_of(run) not in told:
            found = True
            told.add(owner_of(run))
            yield f"{run.name} fits nowhere: {_why(report, owner_of(run))}"
    if not found:
        yield _clash(case)


def _out_of_time(policy: Policy) -> Iterator[str]:
    yield "no plan was found before the time limit; give more time with --time-limit"
    rules = ", ".join(_policy_in_force(policy))
    if rules:
        yield f"rules that leave few plans, or none; loosen them to find one sooner: {rules}"


def _clash(case: Case) -> str:
    """Say what keeps workloads from a plan that have options each."""
    if lacks_commitments(case):
        return _nothing_to_commit_to(case.workloads.policy)
    rules = ", ".join(_rules_in_force(case)) or "the stock that the offers state"
    return f"each workload fits somewhere, but not all together; what limits them: {rules}"


def _nothing_to_commit_to(policy: Policy) -> str:
    allowed = policy.commitments
    ways = [f"raise policy.commitments.max_term_months (now {allowed.max_term_months})"]
    if not allowed.savings_plans:
        ways.append("set policy.commitments.savings_plans: true")
    return (
        f"policy.coverage.min_committed_share {policy.coverage.min_committed_share:g} asks for "
        "committed nodes, and none that fit a workload are offered on terms that "
        f"policy.commitments allows, nor owned in inventory: {', '.join(ways)}, list nodes in "
        "inventory, or leave min_committed_share out"
    )


def _rules_in_force(case: Case) -> Iterator[str]:
    """Name the fields of the workloads file that can make workloads clash, with their values."""
    workloads = case.workloads
    yield from _policy_in_force(workloads.policy)
    for number, service in enumerate(workloads.services):
        yield from _spread_in_force(f"services[{number}].availability", service.availability)
        if service.min_up_time:
            yield f"services[{number}].min_up_time {service.min_up_time}"
    for number, quota in enumerate(workloads.quotas):
        yield f"quotas[{number}] {quota.gpus} GPUs of {quota.provider}"
    yield from _windows_in_force(workloads)


def _windows_in_force(workloads: Workloads) -> Iterator[str]:
    for number, run in enumerate(workloads.training):
        first, last = run.window.earliest, run.window.deadline
        yield f"training[{number}].window {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
    for number, job in enumerate(workloads.batch):
        if job.window is None:
            yield f"batch[{number}].by {job.by}"
        else:
            yield f"batch[{number}].window.deadline {job.window.deadline:%Y-%m-%d %H:%M}"


def _spread_in_force(path: str, asked: Availability) -> Iterator[str]:
    if asked.max_provider_share < 1:
        yield f"{path}.max_provider_share {asked.max_provider_share:g}"
    if asked.min_zones > 1:
        yield f"{path}.min_zones {asked.min_zones}"
    if asked.spare_zone:
        yield f"{path}.spare_zone true"


def _budgets_in_force(policy: Policy) -> Iterator[str]:
    for number, one in enumerate(policy.budgets):
        if one.over_usd_per_usd is None:
            yield f"policy.budgets[{number}] {one.amount_key} {one.amount_usd:f} for {one.scope}"


def _commitments_in_force(given: CommitmentPolicy) -> Iterator[str]:
    if given.max_upfront_usd is not None:
        yield f"policy.commitments.max_upfront_usd {given.max_upfront_usd:f}"
    if given.max_new_usd_per_hour is not None:
        yield f"policy.commitments.max_new_usd_per_hour {given.max_new_usd_per_hour:f}"


def _policy_in_force(policy: Policy) -> Iterator[str]:
    if policy.budget_usd_per_month is not None:
        yield f"policy.budget_usd_per_month {policy.budget_usd_per_month:f}"
    yield from _budgets_in_force(policy)
    yield from _commitments_in_force(policy.commitments)
    if policy.max_provider_share < 1:
        yield f"policy.max_provider_share {policy.max_provider_share:g}"
    if policy.max_share_per_provider < 1:
        yield f"policy.max_share_per_provider {policy.max_share_per_provider:g}"
    if policy.isolated:
        yield f"policy.isolated {', '.join(policy.isolated)}"
    for name, target in policy.coverage:
        if target and name != "spot_discount":
            yield f"policy.coverage.{name} {target:g}"


def _why(report: CaseReport, workload: str) -> str:
    own = [one for one in report.rejected if one.reason.startswith(f"{workload}: ")]
    general = [one for one in report.rejected if ": " not in one.reason]
    shown = [*own, *general][:_SHOWN_REASONS] or []
    parts = [f"{one.reason.removeprefix(f'{workload}: ')} ({one.offers} offers)" for one in shown]
    return "; ".join(parts) or "the catalog has no offer that the policy allows"
