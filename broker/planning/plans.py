"""Making and checking plans from files: what `plan` and `verify` do."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pydantic import ValidationError

from broker.domain.errors import ConfigurationError
from broker.domain.in_force import weighed_against, weighed_against_plan
from broker.domain.plan import Plan, RejectedCount, SolveSettings
from broker.domain.workload import Workloads
from broker.planning.case import CaseReport, build_case
from broker.planning.catalog_view import CatalogView
from broker.planning.freshness import NEVER, Freshness
from broker.planning.measured.service import own_numbers_of
from broker.planning.names import unmatched_names
from broker.planning.planner import COMPARISON_GAP, Catalog, Progress, make_plan
from broker.planning.strategies import single_provider
from broker.planning.traces import trace_warnings
from broker.planning.workloads_file import check_names, has_hash, workloads_sha256
from broker.settings import Settings
from broker.specs.load import Specs
from broker.verification.check import Violation, check


def plan_workloads(
    workloads: Workloads,
    view: CatalogView,
    solve: SolveSettings,
    *,
    specs: Specs,
    settings: Settings,
    progress: Progress,
    start: Plan | None = None,
) -> Plan:
    """Make the plan of a workloads file over a catalog; it has passed the independent check.

    What an earlier plan chose, `start`, is tried first. Where the policy has churn weighed in the
    plan, it is the plan in force: other nodes count as moved.

    Raises:
        ConfigurationError: the workloads name what our tables or the catalog do not know.
    """
    check_names(workloads, specs)
    progress("sizing every workload on every machine")
    report = case_of(workloads, view, specs, settings)
    report = replace(report, case=weighed_against_plan(report.case, start))
    beside = (single_provider(report.case),)
    catalog = catalog_of(view)
    return make_plan(
        report, catalog, solve, progress, beside=beside, gap=COMPARISON_GAP, start=start
    )


def verify_plan(
    plan: Plan, workloads: Workloads, view: CatalogView, *, specs: Specs, settings: Settings
) -> tuple[Violation, ...]:
    """Check a plan against the workloads and the catalog that it claims to be made from.

    Raises:
        ConfigurationError: the workloads name what our tables or the catalog do not know.
    """
    check_names(workloads, specs)
    case = weighed_against(case_of(workloads, view, specs, settings).case, plan.in_force)
    digest = workloads_sha256(workloads)
    if plan.workloads == workloads and has_hash(plan.workloads, plan.workloads_sha256):
        digest = plan.workloads_sha256  # the same demand, named by a version that knew fewer keys
    return check(plan, case, snapshot=view.snapshot, workloads_sha256=digest)


def case_of(
    workloads: Workloads, view: CatalogView, specs: Specs, settings: Settings
) -> CaseReport:
    """Build the case of workloads over a catalog, with all that was left out counted.

    What the user measured, in the data folder, corrects the sizing.
    """
    freshness = freshness_of(view, settings)
    unmatched = unmatched_names(workloads, view.all_offers, specs)
    own = own_numbers_of(settings, specs)
    report = build_case(workloads, view.offers, specs, freshness, own=own)
    warnings = (*unmatched, *trace_warnings(workloads), *report.warnings)
    return CaseReport(report.case, (*report.rejected, *no_offers(view)), warnings)


def freshness_of(view: CatalogView, settings: Settings) -> Freshness:
    """Say how old the prices of a catalog may be to be planned with."""
    return Freshness(
        as_of=view.now,
        spot=NEVER if view.is_recording else timedelta(hours=settings.stale_after_h_spot),
        other=NEVER if view.is_recording else timedelta(hours=settings.stale_after_h_other),
    )


def catalog_of(view: CatalogView) -> Catalog:
    """Say what a plan tells of the catalog that it is made from."""
    return Catalog(snapshot=view.snapshot, offers=len(view.offers), as_of=view.now)


def read_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        ConfigurationError: the file is missing, or is no plan of this version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = getattr(cause, "strerror", None) or "not UTF-8 text"
        raise ConfigurationError(
            f"cannot read plan {str(path)!r}: {reason}", hint="check the path"
        ) from cause
    try:
        return Plan.model_validate_json(text)
    except ValidationError as cause:
        first = cause.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "plan"
        message = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(
            f"{str(path)!r} is no valid plan: {where}: {message}",
            hint="a plan is what `gpubroker plan --out` wrote, unchanged; make it again",
        ) from cause


def no_offers(view: CatalogView) -> Sequence[RejectedCount]:
    """Count by reason what the trust gates hold back, and the rows that became no offer."""
    subjects: dict[str, list[str]] = {}
    for held in view.quarantined:
        reason = f"held back: {held.reason.replace('_', ' ')}"
        subjects.setdefault(reason, []).append(held.offer.key)
    for row in view.rejections:
        reason = f"no offer: {row.reason.replace('_', ' ')}"
        subjects.setdefault(reason, []).append(f"{row.provider}: {row.subject}")
    counts = [
        RejectedCount(reason=reason, offers=len(found), example=min(found))
        for reason, found in subjects.items()
    ]
    return sorted(counts, key=lambda one: (-one.offers, one.reason))
