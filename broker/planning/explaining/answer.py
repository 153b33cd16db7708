"""Explaining a plan file: what is asked, and the answer."""

import time
from collections.abc import Iterator
from dataclasses import replace

from broker.domain.errors import ConfigurationError
from broker.domain.explanation import Explanation
from broker.domain.in_force import weighed_against
from broker.domain.plan import SMALLEST_GAP, Plan, Status
from broker.planning.catalog_view import CatalogView
from broker.planning.explaining.asked import Asked
from broker.planning.explaining.commitments import commitment_reasons
from broker.planning.explaining.ground import WORKERS, Ground, Progress, Sources
from broker.planning.explaining.lines import reasons
from broker.planning.explaining.near import near_plans
from broker.planning.explaining.relaxing import relaxing
from broker.planning.explaining.why_not import why_not
from broker.planning.plans import case_of
from broker.planning.workloads_file import check_names
from broker.settings import Settings
from broker.specs.load import Specs
from broker.verification.check import check
from solver.milp.pool import SolverPool


def explain_plan(
    plan: Plan,
    view: CatalogView,
    asked: Asked,
    *,
    specs: Specs,
    settings: Settings,
    progress: Progress,
) -> Explanation:
    """Answer what is asked of a plan, over the catalog that it was made from.

    Raises:
        ConfigurationError: the catalog is another one, the plan fails the independent check, or it
            is not of a kind that can be asked this.
    """
    _check_asked(plan, asked)
    check_names(plan.workloads, specs)
    if view.snapshot != plan.catalog.snapshot:
        raise ConfigurationError(
            f"the plan was made from the catalog {plan.catalog.snapshot[:12]}, this one is "
            f"{view.snapshot[:12]}",
            hint="name the same sheet or snapshot, or make the plan again",
        )
    without_keys = settings.model_copy(update={"keys": {}})
    sources = Sources(view, specs, without_keys, plan.in_force)
    progress("sizing every workload on every machine")
    report = case_of(plan.workloads, view, specs, sources.settings)
    report = replace(report, case=weighed_against(report.case, plan.in_force))
    found = check(plan, report.case, snapshot=view.snapshot)
    if found:
        raise ConfigurationError(
            f"the plan is refused: {found[0].rule} of {found[0].subject}: {found[0].message}",
            hint="an explanation of it would be false; make it again with `gpubroker plan`",
        )
    with SolverPool(workers=WORKERS) as pool:
        ends_at_s = time.monotonic() + asked.time_limit_s
        return _answer(Ground(plan, report, sources, pool, ends_at_s, progress), asked)


def _check_asked(plan: Plan, asked: Asked) -> None:
    is_infeasible = plan.status is Status.INFEASIBLE
    if is_infeasible and not asked.relax:
        undecided = "the time was up before one was found, or proven not to exist"
        why = undecided if plan.is_undecided else "no purchase meets every rule"
        longer = "make it again with a longer --time-limit, or " if plan.is_undecided else ""
        raise ConfigurationError(
            f"there is no plan in this file: {why}",
            hint=f"{longer}ask what would let one exist: gpubroker explain PLAN --relax",
        )
    if asked.relax and not is_infeasible:
        raise ConfigurationError(
            "--relax asks why there is no plan, but this file has one",
            hint="`gpubroker explain PLAN` shows what each rule costs",
        )


def _answer(ground: Ground, asked: Asked) -> Explanation:
    plan = ground.plan
    given = reasons(ground) if asked.is_general else None
    listed, is_whole = near_plans(ground, asked.near) if asked.near else ((), True)
    loosened = relaxing(ground) if asked.relax else None
    is_whole = is_whole and (loosened is None or loosened.is_whole)
    return Explanation(
        status=plan.status,
        snapshot=plan.catalog.snapshot,
        workloads_sha256=plan.workloads_sha256,
        total_usd=plan.objective_usd,
        bound_usd=plan.bound_usd,
        lines=given.lines if given else (),
        rules=given.rules if given else (),
        commitments=commitment_reasons(plan, ground.case) if asked.is_general else (),
        why_not=why_not(ground, asked.why_not) if asked.why_not is not None else None,
        near=listed,
        relaxing=loosened,
        notes=tuple(_notes(ground, asked, is_whole=is_whole)),
    )


def _notes(ground: Ground, asked: Asked, *, is_whole: bool) -> Iterator[str]:
    plan = ground.plan
    if plan.status is not Status.INFEASIBLE and plan.gap_fraction > SMALLEST_GAP:
        yield (
            f"the plan is proven to a gap of {plan.gap_fraction:.2%}, so differences are ranges; "
            "plan with --gap 0 for single figures"
        )
    if not is_whole:
        what = "rule was tried to its end" if asked.relax else "near plan was looked at"
        yield f"the time was up before every {what}; --time-limit gives more"
    elif not ground.left_s and not asked.near:
        yield "the time was up before everything was looked at; --time-limit gives more"
