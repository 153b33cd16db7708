"""What becomes of a rival: its wish repaired, priced as a plan, held to the independent check."""

from dataclasses import dataclass, replace
from decimal import Decimal

from peers_bench.fleet import Fleet
from peers_bench.instances import Instance
from peers_bench.market import Market
from peers_bench.parts import parts_of
from peers_bench.repair import NoFleetError, Repair
from peers_bench.ways import Wish

from broker.domain.errors import BrokerError
from broker.domain.plan import Plan, SolveSettings
from broker.planning.bare_plan import violations
from broker.planning.comparisons import Solved
from broker.planning.planner import checked_plan
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits
from solver.milp.start import Start

_OF_RESERVATIONS = (
    *("stock", "quotas", "limits", "outliving_commitments", "commitment_terms"),
    *("new_commitments", "month_budgets"),
    "unused_nodes",
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan that was accepted, or None and why; `repairs` say what was changed to get there."""

    plan: Plan | None
    repairs: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def usd(self) -> Decimal | None:
        """Give the cost of the plan; over scenarios, what was minimized."""
        return self.plan.objective_usd if self.plan else None

    @property
    def start(self) -> Start | None:
        """Give what the plan chose, for a search to begin with."""
        return Start.of(self.plan) if self.plan else None


def judged_wish(instance: Instance, market: Market, wish: Wish) -> Judged:
    """Repair a wish until the check accepts it."""
    repair = Repair(market, wish)
    try:
        fleet = repair.done()
    except NoFleetError as cause:
        return Judged(None, tuple(repair.notes), str(cause))
    optimum, notes = _accepted(instance, market, fleet)
    return judged_parts(instance, optimum, (*repair.notes, *notes))


def judged_parts(
    instance: Instance, optimum: Optimum, repairs: tuple[str, ...] = (), gap: float = 0.0
) -> Judged:
    """Make a plan of parts and hold it to every rule, as `gpubroker plan` and `verify` do."""
    settings = SolveSettings(gap_fraction=gap, time_limit_s=0.0, seed=0)
    try:
        plan = checked_plan(instance.report, instance.catalog, settings, Solved(joint=optimum))
    except BrokerError as cause:
        return Judged(None, repairs, str(cause))
    return Judged(plan, repairs)


def _accepted(instance: Instance, market: Market, fleet: Fleet) -> tuple[Optimum, list[str]]:
    """Take away what the check refuses and no plan needs: nodes held at the peak, reservations."""
    case, notes = instance.report.case, list[str]()
    optimum = parts_of(market.sets, fleet)
    while fleet.keeps_peak or fleet.committed:
        refused = [one for one in violations(optimum, case) if one.rule in _OF_RESERVATIONS]
        if not refused:
            break
        first = f"{refused[0].rule} of {refused[0].subject}"
        if fleet.keeps_peak:
            fleet = replace(fleet, keeps_peak=False)
            notes.append(f"does not keep its peak ({first})")
        else:
            number, nodes = fleet.committed.popitem()
            notes.append(f"{nodes} × {market.sets.committed[number].id} not reserved ({first})")
        optimum = parts_of(market.sets, fleet)
    return optimum, notes


def limits_from(gap: float, seconds: float, best: Judged | None) -> Limits:
    """Let a search begin where a rival ended."""
    limits = Limits(gap, seconds)
    start = best.start if best else None
    return limits if start is None else replace(limits, start=start)
