"""Plans of tiny cases, and what entry prices need of them, solved in this process."""

from dataclasses import dataclass
from decimal import Decimal

from broker.domain.case import Case
from broker.domain.explanation import EntryPrice
from broker.domain.plan import Status
from broker.planning.explaining.cases import (
    at_price,
    left_unused,
    offer_of,
    rents_beside_commitments,
    spread_usd_per_hour,
    without_offers,
)
from broker.planning.explaining.compared import proven_usd
from broker.planning.explaining.entry_price import Question, Rest, entry_price, fewest_hours
from solver.milp.forced import forced_optimum
from solver.milp.optimize import optimize
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits

TO_THE_END = Limits(gap_fraction=0.0, time_limit_s=60)


@dataclass(frozen=True)
class Entering:
    """An offer of a case, and the questions about its price."""

    of: Case
    key: str

    @property
    def now(self) -> Decimal:
        """Give its price of a node-hour now."""
        offer = offer_of(self.of, self.key)
        assert offer is not None
        return spread_usd_per_hour(offer)

    @property
    def decides_others(self) -> bool:
        """Say whether commitments beside it are held to its price."""
        return rents_beside_commitments(self.of, self.key)

    def forced(self, price: Decimal) -> Optimum:
        """Plan with the offer used at a price."""
        return forced_optimum(at_price(self.of, self.key, price), self.key, TO_THE_END)

    def planned(self, price: Decimal) -> Optimum:
        """Plan with the offer at a price, used or not."""
        return optimize(at_price(self.of, self.key, price), TO_THE_END)

    def rest(self, price: Decimal) -> Rest:
        """Plan without the offer."""
        priced = at_price(self.of, self.key, price)
        without = (
            left_unused(priced, self.key)
            if self.decides_others
            else without_offers(self.of, {self.key})
        )
        optimum = optimize(without, TO_THE_END)
        assert optimum.status is not Status.INFEASIBLE
        return Rest(proven_usd(optimum), optimum.objective_usd)

    def entry(self) -> EntryPrice:
        """Find the price at which it enters."""
        offered = offer_of(self.of, self.key)
        assert offered is not None
        question = Question(
            self.key,
            self.now,
            fewest_hours(self.of, offered.price_kind),
            decides_others=self.decides_others,
            robust=self.of.workloads.policy.robust,
            kind=offered.price_kind,
        )
        return entry_price(question, self.forced, self.rest)
