"""Whether the parts of a plan keep the rules of a case, in the eyes of the independent check."""

from broker.domain.case import Case
from broker.domain.offer import PriceKind
from broker.domain.plan import CatalogRef, Plan, Purchase, SolveSettings, Status
from broker.verification.check import Violation, check
from solver.milp.optimum import Optimum


def keeps_rules(optimum: Optimum, case: Case) -> bool:
    """Say whether a plan that was found for another case is one of this case too."""
    known = {offer.key for offer in case.offers}
    bought = {one.offer for one in all_purchases(optimum) if one.price_kind is not PriceKind.OWNED}
    return bought <= known and not violations(optimum, case)


def violations(optimum: Optimum, case: Case) -> tuple[Violation, ...]:
    """Hold the parts of a plan to a case; what it says of its proof and catalog is left out."""
    return check(bare_plan(optimum, case), case)


def bare_plan(optimum: Optimum, case: Case) -> Plan:
    """Put the parts of a plan together, without its proof, catalog and settings."""
    offers = {offer.key: offer for offer in case.machines.values()}
    offers |= {offer.key: offer for offer in case.offers}
    used = sorted({purchase.offer for purchase in all_purchases(optimum)} & offers.keys())
    return Plan(
        status=Status.OPTIMAL,
        total_usd=optimum.total_usd,
        bound_usd=optimum.objective_usd,
        gap_fraction=0.0,
        catalog=CatalogRef(
            snapshot="",
            offers=len(case.offers),
            as_of=case.workloads.horizon.start,
            oldest_price_at=None,
        ),
        workloads_sha256="",
        settings=SolveSettings(gap_fraction=0.0, time_limit_s=0.0, seed=0),
        purchases=optimum.purchases,
        serving=optimum.serving,
        training=optimum.training,
        cost_lines=optimum.cost_lines,
        comparisons=(),
        rejected=(),
        warnings=(),
        workloads=case.workloads,
        scenarios=optimum.scenarios,
        offers=tuple(offers[key] for key in used),
        in_force=case.in_force,
    )


def all_purchases(optimum: Optimum) -> tuple[Purchase, ...]:
    """List what is bought in any scenario, the forecast first."""
    told = optimum.scenarios.scenarios if optimum.scenarios else ()
    return (*optimum.purchases, *(one for own in told for one in own.purchases))
