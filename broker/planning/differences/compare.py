"""Two plans in, their whole difference out."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from pydantic import ValidationError

from broker.domain.errors import ConfigurationError
from broker.domain.in_force import weighed_against
from broker.domain.offer import Offer
from broker.domain.plan import CatalogRef, LineInForce, Plan, Status
from broker.domain.workload import Workloads
from broker.planning.catalog_view import CatalogView
from broker.planning.differences.lines import Window, line_rows, price_changes
from broker.planning.differences.market import (
    MarketChange,
    market_change,
    same_catalog,
    unknown_change,
)
from broker.planning.differences.split import NewPrices, Replan, split_change
from broker.planning.differences.steps import steps_between
from broker.planning.planner import make_plan
from broker.planning.plans import case_of, catalog_of
from broker.planning.workloads_file import check_names
from broker.reports.diff_view import LineRow, PartRow, PlanDifference, PlanRow
from broker.settings import Settings
from broker.specs.load import Specs

Find = Callable[[CatalogRef], CatalogView]
"""Finds the catalog that a plan was made from, by its hash."""

Solve = Callable[[Workloads, CatalogView], Plan]
"""Makes the plan of some workloads over a catalog."""


@dataclass(frozen=True, slots=True)
class Catalogs:
    """The catalogs of two plans, None where one was not found."""

    old: CatalogView | None
    new: CatalogView | None

    @classmethod
    def of(
        cls,
        old: Plan,
        new: Plan,
        find: Find,
        *,
        named: CatalogView | None = None,
        old_named: CatalogView | None = None,
    ) -> "Catalogs":
        """Find both catalogs, but where the user said where one is: `named` is the new plan's.

        Raises:
            ConfigurationError: a catalog that was named is not its plan's.
        """
        _check_named("NEW", new, named)
        _check_named("OLD", old, old_named)
        is_same = old.catalog.snapshot == new.catalog.snapshot
        after = named or (old_named if is_same else None) or _found(find, new.catalog)
        before = after if is_same else old_named or _found(find, old.catalog)
        return cls(before, after)

    def change(self, old: Plan, new: Plan) -> MarketChange:
        """Say what happened to the offers."""
        if old.catalog.snapshot == new.catalog.snapshot:
            return same_catalog()
        if self.new is None or self.old is None:
            which = "the new plan's" if self.new is None else "the old plan's"
            return unknown_change(f"{which} catalog")
        return market_change(self.old.offers, self.new.offers)


def compare_plans(
    old: Plan, new: Plan, catalogs: Catalogs, *, solve: Solve | None
) -> PlanDifference:
    """Say what changed between two plans; `solve` is None where nothing may be solved.

    Raises:
        ConfigurationError: one of them buys nothing.
    """
    for name, plan in (("OLD", old), ("NEW", new)):
        if plan.status is Status.INFEASIBLE:
            raise ConfigurationError(
                f"{name} has no purchases: its status is infeasible",
                hint="compare plans that were found; its warnings say why there is none",
            )
    prices = _new_prices(new, catalogs.new)
    market = catalogs.change(old, new)
    moved = dict(price_changes(old, prices))
    priced = NewPrices(sum(moved.values(), Decimal(0)), len(old.purchases) - len(moved))
    parts = split_change(old, new, priced, market=market, replan=_replan(solve, catalogs.new))
    rows = line_rows(old, new, prices)
    return PlanDifference(
        old=_heading("old", old),
        new=_heading("new", new),
        lines=rows,
        parts=parts,
        steps=steps_between(old, new),
        notes=tuple(_notes(old, new, rows, parts)),
    )


def replanner(
    like: Plan,
    specs: Specs,
    settings: Settings,
    in_force: tuple[LineInForce, ...] | None = None,
) -> Solve:
    """Plan again as a plan was made: to its gap, in its time, with its seed.

    `in_force` are the nodes that churn is weighed against.
    """

    def solve(workloads: Workloads, view: CatalogView) -> Plan:
        check_names(workloads, specs)
        report = case_of(workloads, view, specs, settings)
        report = replace(report, case=weighed_against(report.case, in_force))
        return make_plan(
            report,
            catalog_of(view),
            like.settings,
            progress=lambda _: None,
            beside=(),
            gap=like.settings.gap_fraction,
        )

    return solve


def _check_named(which: str, plan: Plan, named: CatalogView | None) -> None:
    if named is not None and named.snapshot != plan.catalog.snapshot:
        raise ConfigurationError(
            f"the catalog is {named.snapshot[:12]}, but {which} was made from "
            f"{plan.catalog.snapshot[:12]}",
            hint=f"name the catalog that {which} was made from, or none",
        )


def _found(find: Find, catalog: CatalogRef) -> CatalogView | None:
    try:
        return find(catalog)
    except ConfigurationError:  # a sheet, or a store that is not here: the plans say what they can
        return None


def _new_prices(new: Plan, view: CatalogView | None) -> Mapping[str, Offer]:
    prices = {offer.key: offer for offer in view.offers} if view else {}
    return prices | {offer.key: offer for offer in new.offers}


def _replan(solve: Solve | None, view: CatalogView | None) -> Replan | None:
    if solve is None or view is None:
        return None

    def replan(workloads: Workloads) -> Plan | None:
        if not _holds_together(workloads):
            return None
        try:
            return solve(workloads, view)
        except ConfigurationError:  # it may hold together and still be no file that one could plan
            return None

    return replan


def _holds_together(mixed: Workloads) -> bool:
    """Say whether what was mixed of two files is a file: rules may name what only one has."""
    try:
        Workloads.model_validate(mixed.model_dump(mode="json", by_alias=True), strict=False)
    except ValidationError:
        return False
    return True


def _heading(name: str, plan: Plan) -> PlanRow:
    horizon = plan.workloads.horizon
    return PlanRow(
        name=name,
        total_usd=plan.total_usd,
        bound_usd=plan.bound_usd,
        from_at=horizon.start,
        to_at=horizon.end,
        snapshot=plan.catalog.snapshot,
    )


def _notes(
    old: Plan, new: Plan, rows: Sequence[LineRow], parts: Sequence[PartRow]
) -> Iterator[str]:
    """Say what a reader of the figures has to know."""
    open_usd = sum((plan.objective_usd - plan.bound_usd for plan in (old, new)), Decimal(0))
    beyond = sum((part.usd for part in parts if part.uncertainty_usd), Decimal(0))
    if beyond and abs(beyond) <= open_usd:
        yield (
            f"{beyond:+,.2f} USD of the change is within the proof's uncertainty: the gaps of the "
            f"two plans are {open_usd:,.2f} USD, so a longer search could end without it"
        )
    gone = [row.line for row in rows if row.old_most_nodes is not None and row.price_usd is None]
    if gone:
        yield f"no new price for what the old plan buys: {', '.join(gone)}; it counts as catalog"
    if any(part.cause.endswith(" together") for part in parts):
        yield (
            "causes that stand together were not told apart: that takes solving again, over the "
            "new plan's catalog, and a plan for each step between"
        )
    moved = _working_otherwise(old, new)
    if moved and all(row.change in ("unchanged", "repriced") for row in rows):
        yield f"the nodes are the same, but carry otherwise: {', '.join(moved)}"
    if old.workloads.horizon != new.workloads.horizon:
        window = Window.of(old, new)
        span = f"{window.from_at:%Y-%m-%d} to {window.to_at:%Y-%m-%d}"
        common = span if window.from_at < window.to_at else "never"
        yield f"the horizons differ: lines are compared where both lie, {common}"


def _working_otherwise(old: Plan, new: Plan) -> list[str]:
    """Name the workloads that sit on other machines or in other layouts."""
    return sorted({name for name, _, _ in _work(old) ^ _work(new)})


def _work(plan: Plan) -> set[tuple[str, str, str]]:
    serving = {(one.service, one.machine, one.candidate.id) for one in plan.serving}
    return serving | {(one.run, one.machine, one.candidate.id) for one in plan.training}
