"""The steps of a night: each gives what it came to, and finds again what earlier ones made.

A night that is resumed reads the catalog of its snapshot and the plans of their hashes anew, so
that each step sees what it would have seen if nothing had been broken off.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import cached_property

from broker.alerts.night import Change, Night, ProviderState
from broker.domain.case import Case
from broker.domain.errors import BrokerError, ConfigurationError
from broker.domain.in_force import weighed_against_plan
from broker.domain.offer import Offer
from broker.domain.plan import Plan
from broker.domain.workload import Workloads
from broker.planning import plans
from broker.planning.case import CaseReport
from broker.planning.catalog_view import CatalogSource, CatalogView
from broker.planning.differences.lines import Window
from broker.planning.differences.steps import steps_between
from broker.planning.nightly.asked import NightWish, Progress
from broker.planning.nightly.deciding import Decision, Gain, Verdict, decide
from broker.planning.nightly.keeping import Keeping
from broker.planning.nightly.moves import Move, days_apart, disturbed_by, moves_between
from broker.planning.nightly.outcomes import (
    DecideOutcome,
    DiffOutcome,
    PlanInputs,
    PlanOutcome,
    PriceOutcome,
    VerifyOutcome,
)
from broker.planning.nightly.owed import NOTHING_OWED, OwedLines
from broker.planning.nightly.prices import price_moves
from broker.planning.nightly.providers import provider_states
from broker.planning.nightly.rolling import not_comparable, over_its_own, why_followed
from broker.planning.nightly.standing import why_not_on
from broker.planning.nightly.window import (
    Costs,
    costs_of,
    first_costs,
    shared_window,
    window_from,
)
from broker.planning.service import PlanningService
from broker.planning.workloads_file import check_names, workloads_sha256
from broker.reports.diff_view import StepRow
from broker.verification.check import DEMAND_RULES, RULES, check

_DIGITS = 12
_DOUBT = timedelta(hours=48)
"""So long a price that is held back may be waited for: two nights, the second of which confirms."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The plan in force beside tonight's, from now on."""

    costs: Costs
    gain: Gain | None
    cannot: tuple[str, ...]
    moves: tuple[Move, ...]
    not_comparable: tuple[str, ...] = ()


class NightWork:
    """Does the steps of one night; `keeping` holds the plans.

    `rolls` says that the horizon moves on each day. `later` is the date of a later night that is
    done already: a plan of a date before it takes no other's place.
    """

    def __init__(
        self,
        planning: PlanningService,
        demand: Workloads,
        wish: NightWish,
        keeping: Keeping,
        *,
        at: datetime,
        rolls: bool = False,
        later: date | None = None,
    ) -> None:
        self._planning = planning
        self._demand = demand
        self._wish = wish
        self._keeping = keeping
        self._began_at = at
        self._rolls = rolls
        self._later = later
        self._view: CatalogView | None = None
        self._compared: Compared | None = None
        self._case: CaseReport | None = None

    @cached_property
    def sha256(self) -> str:
        """Name the demand by its hash."""
        return workloads_sha256(self._demand)

    def plan_inputs(self, priced: PriceOutcome) -> PlanInputs:
        """Say what decides the plan."""
        solve = self._wish.solve
        return PlanInputs(
            snapshot=priced.snapshot,
            workloads_sha256=self.sha256,
            gap_fraction=solve.gap_fraction,
            time_limit_s=solve.time_limit_s,
            seed=solve.seed,
        )

    def price(self, progress: Progress) -> PriceOutcome:
        """Ask the providers, and name the catalog of the night.

        Raises:
            ConfigurationError: the horizon is over, or there is no catalog.
        """
        self._check_horizon(self._began_at)
        planning, wish = self._planning, self._wish
        refreshes = wish.refreshes(planning.clock())
        failed: tuple[str, ...] = ()
        if refreshes:
            progress("asking the providers")
            failed = tuple(one.provider for one in planning.refresh().failed)
        at = wish.instant(planning.clock())
        if wish.is_of_store and not refreshes:
            view = planning.offers_from_store(as_of=at)
        else:
            view = planning.view(wish.source)
        self._view = replace(view, now=at) if wish.is_of_store else view
        return PriceOutcome(
            snapshot=view.snapshot,
            offers=len(view.offers),
            at=at,
            refreshed=refreshes,
            failed=failed,
        )

    def is_as_priced(self, priced: PriceOutcome) -> bool:
        """Tell whether the catalog of a night that was broken off can still be had."""
        try:
            return self.view(priced).snapshot == priced.snapshot
        except ConfigurationError:
            return False

    def view(self, priced: PriceOutcome) -> CatalogView:
        """Show the catalog of the night."""
        if self._view is None:
            source = self._wish.source
            if self._wish.is_of_store:
                source = CatalogSource(snapshot=priced.snapshot, as_of=priced.at)
            self._view = self._planning.view(source)
        return self._view

    def plan(self, priced: PriceOutcome, progress: Progress) -> PlanOutcome:
        """Make tonight's plan, the one in force being where the search begins, and keep it."""
        in_force = self._keeping.in_force()
        made = plans.plan_workloads(
            self._demand,
            self.view(priced),
            self._wish.solve,
            specs=self._planning.specs,
            settings=self._planning.settings,
            progress=progress,
            start=in_force,
        )
        before = self._keeping.remember(in_force) if in_force else ""
        return PlanOutcome.of(made, self._keeping.keep(made, priced.at), before)

    def verify(self, priced: PriceOutcome, planned: PlanOutcome) -> VerifyOutcome:
        """Hold the plan as it was kept to the demand and the catalog, once more.

        Raises:
            BrokerError: it breaks a rule.
        """
        made = self._keeping.plan(planned.plan)
        case = weighed_against_plan(self._report(priced).case, self._in_force(planned))
        found = check(
            made,
            case,
            snapshot=self.view(priced).snapshot,
            workloads_sha256=self.sha256,
        )
        if found:
            first = found[0]
            raise BrokerError(
                f"the plan that was kept is refused: {first.rule} of {first.subject}: "
                f"{first.message} ({len(found)} in all)",
                hint="do not buy by it; run the night once more with --again",
            )
        return VerifyOutcome(rules=len(RULES) + (len(DEMAND_RULES) if planned.is_plan else 0))

    def diff(self, priced: PriceOutcome, planned: PlanOutcome) -> DiffOutcome:
        """Set tonight's plan against the one in force, from now on; empty where it is none."""
        if not planned.is_plan:
            return DiffOutcome()
        compared = self.compared(priced, planned)
        gain, in_force = compared.gain, self._in_force(planned)
        steps = steps_between(in_force, self._keeping.plan(planned.plan)) if in_force else ()
        return DiffOutcome(
            before_usd=compared.costs.before_usd,
            saving_usd=compared.costs.saving_usd,
            disturbed_nodes=gain.disturbed.nodes if gain else 0,
            of_nodes=gain.disturbed.of_nodes if gain else 0,
            cannot_go_on=compared.cannot,
            moves=tuple(f"{move.usd:+.2f} USD: {move.text}" for move in compared.moves),
            steps=tuple(map(_step_text, steps)),
        )

    def decide(self, priced: PriceOutcome, planned: PlanOutcome) -> DecideOutcome:
        """Decide whether tonight's plan is to be the one in force."""
        decision = self._decision(priced, planned)
        return DecideOutcome(verdict=decision.verdict, why=decision.why)

    def adopt(self, priced: PriceOutcome, planned: PlanOutcome, decided: DecideOutcome) -> None:
        """Let tonight's plan be the one in force where that was decided.

        It is done when people were told: a night that is broken off before, and begun anew, finds
        the plan of before in force, and says again what it is to say.
        """
        if decided.verdict.is_change:
            self._keeping.adopt(planned.plan, priced.at)

    def night(
        self, priced: PriceOutcome, planned: PlanOutcome, decided: DecideOutcome, name: str
    ) -> Night:
        """Gather what someone may want to hear of."""
        made = self._keeping.plan(planned.plan)
        in_force = self._in_force(planned)
        is_change = decided.verdict.is_change
        moves = self.compared(priced, planned).moves if planned.is_plan and is_change else ()
        view = self.view(priced)
        window = self._window(priced, in_force)
        owed = self._owed(priced, planned)
        machines = {one.offer for one in self._demand.inventory}
        return Night(
            now=priced.at,
            workloads=name,
            in_force=in_force,
            made=made if planned.is_plan else None,
            adopted=is_change,
            changes=tuple(Change(one.text, one.usd) for one in moves),
            providers=self._providers(priced),
            price_moves=price_moves(in_force, view, window, owed) if in_force else (),
            failure="" if planned.is_plan else "; ".join(decided.why),
            in_force_name=planned.in_force[:_DIGITS],
            made_name=planned.plan[:_DIGITS],
            machines=_one_of_each(view, machines),
            days_apart=days_apart(in_force, made, window) if in_force and moves else None,
            price_floor_usd_per_day=self._planning.settings.price_jump_min_usd_per_day,
            needed="; ".join(decided.why[1:]) if decided.verdict is Verdict.NEEDED else "",
        )

    def compared(self, priced: PriceOutcome, planned: PlanOutcome) -> Compared:
        """Set the two plans side by side, once."""
        if self._compared is None:
            self._compared = self._compare(priced, planned)
        return self._compared

    def _compare(self, priced: PriceOutcome, planned: PlanOutcome) -> Compared:
        made, in_force = self._keeping.plan(planned.plan), self._in_force(planned)
        window = self._window(priced, in_force)
        if in_force is None:
            costs = first_costs(made, window)
            return Compared(costs, None, (), moves_between(None, made, costs, window))
        view = self.view(priced)
        owed = self._owed(priced, planned)
        bought = self._keeping.bought(planned.in_force) | {
            line for line, one in owed.items() if one.is_whole
        }
        prices = {offer.key: offer for offer in view.offers}
        costs = costs_of(in_force, made, window, prices=prices, owed=owed)
        return Compared(
            costs=costs,
            gain=Gain.of(costs, disturbed_by(in_force, made, window)),
            cannot=self._why_not_on(in_force, priced, bought),
            moves=moves_between(in_force, made, costs, window),
            not_comparable=not_comparable(in_force, made, window) if self._rolls else (),
        )

    def _window(self, priced: PriceOutcome, in_force: Plan | None) -> Window:
        """Give the time from now on in which the plans are compared."""
        if in_force is None or not self._rolls:
            return window_from(priced.at, self._demand.horizon)
        return shared_window(priced.at, in_force, self._demand.horizon)

    def _why_not_on(
        self, in_force: Plan, priced: PriceOutcome, bought: frozenset[str]
    ) -> tuple[str, ...]:
        """Say why the plan in force cannot go on; empty where it can."""
        ends = why_followed(in_force, self._demand, priced.at) if self._rolls else ()
        if ends:
            return ends
        known = frozenset(offer.key for offer in self.view(priced).all_offers)
        case = self._case_with(in_force, bought, priced)
        window = window_from(priced.at, case.workloads.horizon)
        return why_not_on(in_force, case, window, known=known, bought=bought)

    def _decision(self, priced: PriceOutcome, planned: PlanOutcome) -> Decision:
        if not planned.is_plan:
            why = self._keeping.plan(planned.plan).warnings
            return Decision(Verdict.NO_PLAN, ("no purchase meets every rule", *why))
        compared = self.compared(priced, planned)
        if self._later is not None and compared.gain is not None:
            reason = f"the night of {self._later} is done already: an earlier one changes nothing"
            return Decision(Verdict.KEEP, (reason,))
        decision = decide(compared.gain, compared.cannot, self._demand.policy.churn)
        if decision.verdict is Verdict.BETTER and compared.not_comparable:
            return Decision(Verdict.KEEP, compared.not_comparable)
        return decision

    def _in_force(self, planned: PlanOutcome) -> Plan | None:
        return self._keeping.plan(planned.in_force) if planned.in_force else None

    def _owed(self, priced: PriceOutcome, planned: PlanOutcome) -> OwedLines:
        return self._keeping.owed(planned.in_force, priced.at) if planned.in_force else NOTHING_OWED

    def _report(self, priced: PriceOutcome) -> CaseReport:
        if self._case is None:
            check_names(self._demand, self._planning.specs)
            tables, settings = self._planning.specs, self._planning.settings
            self._case = plans.case_of(self._demand, self.view(priced), tables, settings)
        return self._case

    def _case_with(self, plan: Plan, bought: frozenset[str], priced: PriceOutcome) -> Case:
        """Give tonight's case with the offers of what is bought, and of what is doubted.

        A marketplace does not list what one rents of it. A new price that the trust gates doubt is
        no reason to move before it is confirmed: the last trusted one is taken.
        """
        view = self.view(priced)
        keys = {one.offer for one in plan.purchases if one.id in bought} | self._doubted(priced)
        keys -= {offer.key for offer in view.offers}
        had = tuple(_seen_now(offer, view) for offer in plan.offers if offer.key in keys)
        demand = over_its_own(self._demand, plan) if self._rolls else self._demand
        if not had and demand == self._demand:
            return self._report(priced).case
        tables, settings = self._planning.specs, self._planning.settings
        with_had = replace(view, offers=(*view.offers, *had))
        return plans.case_of(demand, with_had, tables, settings).case

    def _doubted(self, priced: PriceOutcome) -> frozenset[str]:
        """Name the offers that are held back since a short time."""
        if not (self._wish.is_of_store and priced.refreshed):
            return frozenset()
        held = self._planning.catalog.held()
        return frozenset(one.held.offer.key for one in held if priced.at - one.since < _DOUBT)

    def _providers(self, priced: PriceOutcome) -> tuple[ProviderState, ...]:
        """Tell how the providers stand; recordings and sheets say nothing of them."""
        if not (self._wish.is_of_store and priced.refreshed):
            return ()
        return provider_states(self._keeping.engine, priced.at)

    def _check_horizon(self, now: datetime) -> None:
        horizon = self._demand.horizon
        if now >= horizon.end:
            raise ConfigurationError(
                f"horizon: it ended on {horizon.end:%Y-%m-%d}, so there is nothing to plan",
                hint="move horizon.start in the workloads file, or write `start: today`, and it "
                "moves by itself",
            )


def _one_of_each(view: CatalogView, machines: set[str]) -> tuple[Offer, ...]:
    found: dict[str, Offer] = {}
    for offer in view.all_offers:
        if offer.machine in machines:
            found.setdefault(offer.machine, offer)
    return tuple(found.values())


def _seen_now(offer: Offer, view: CatalogView) -> Offer:
    provenance = offer.provenance.model_copy(update={"observed_at": view.now})
    return offer.model_copy(update={"provenance": provenance})


def _step_text(one: StepRow) -> str:
    parts = (f"{one.at:%Y-%m-%d %H:%M}", one.action, str(one.nodes or ""), one.line)
    return " ".join(part for part in parts if part)
