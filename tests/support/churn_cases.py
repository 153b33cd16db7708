"""Cases with a plan in force, and the cheapest plan beside it by trying how much may be moved.

A node of those by hand is one replica and carries 1 request/s; `acme` rents at 1 USD an hour,
`bolt` at 3.
"""

import itertools
import random
from dataclasses import replace
from decimal import Decimal

from changed_cases import with_workloads
from oracle import INFEASIBLE, Tiny, cheapest_usd
from random_cases import random_case
from solving import assembled, solved
from tiny_cases import case, offer, served_case, service_entry

from broker.domain.case import Case
from broker.domain.in_force import weighed_against_plan
from broker.domain.offer import Offer
from broker.domain.plan import LineInForce, Plan, Status

ACME = offer("1", provider="acme")
BOLT = offer("3", provider="bolt")
_MOST_MOVED = 9
_PRICES_USD = ("0.5", "4", "15", "60")


def churn_case(seed: int) -> Case:
    """Draw a case, and let the plan of it at other prices be in force, if there is one."""
    return beside_another(random_case(seed, machines=(2,)), seed)


def beside_another(of: Case, seed: int, **changes: object) -> Case:
    """Let a plan of a case at other prices be in force, of every other case with a node less."""
    asked = asking(of, seed, **changes)
    plan = plan_at_other_prices(asked, seed)
    found = weighed_against_plan(asked, plan)
    if found.in_force is None or seed % 2:
        return found
    fewer = [one.model_copy(update={"nodes": one.nodes - 1}) for one in found.in_force]
    return replace(found, in_force=tuple(one for one in fewer if one.nodes))


def asking(of: Case, seed: int, **changes: object) -> Case:
    """Have churn weighed in a plan, at a price that is drawn, and no budget."""
    usd = random.Random(seed).choice(_PRICES_USD)  # noqa: S311 - instances, not secrets
    asked = {"policy.churn.in_plan": True, "policy.churn.usd_per_moved_node": usd}
    return with_workloads(of, {**asked, "policy.budget_usd_per_month": None, **changes})


def plan_at_other_prices(of: Case, seed: int) -> Plan | None:
    """Plan a case in which each price is up or down by as much as a half."""
    draw = random.Random(f"prices {seed}")  # noqa: S311 - instances, not secrets
    offers = {
        one.key: one.model_copy(
            update={"usd_per_hour": round(one.usd_per_hour * Decimal(draw.uniform(0.5, 1.5)), 6)}
        )
        for one in of.offers
    }
    other = replace(
        of,
        in_force=None,
        offers=tuple(offers.values()),
        machines={key: offers.get(one.key, one) for key, one in of.machines.items()},
    )
    found = solved(other)
    return None if found.status is Status.INFEASIBLE else assembled(other, found)


def cheapest_beside_usd(of: Case, *, most_committed: int) -> float:
    """Try for each line by the hour how many nodes may be moved to it, the fewest in all first."""
    tiny = Tiny(of, most_committed=most_committed)
    least = cheapest_usd(tiny)
    had = {one.line: one.nodes for one in of.in_force or ()}
    hourly = [one for one in of.offers if one.commitment is None]
    usd = float(of.workloads.policy.churn.usd_per_moved_node)
    best = INFEASIBLE
    if of.in_force is None or least == INFEASIBLE:
        return least
    for moved in sorted(itertools.product(range(_MOST_MOVED + 1), repeat=len(hourly)), key=sum):
        if least + usd * sum(moved) >= best:
            break
        caps = {
            (one.machine, one.price_kind): had.get(one.key, 0) + more
            for one, more in zip(hourly, moved, strict=True)
        }
        best = min(best, usd * sum(moved) + cheapest_usd(replace(tiny, most_rented=caps)))
    return best


def churn_policy(usd: float) -> dict[str, object]:
    return {"churn": {"in_plan": True, "usd_per_moved_node": usd}}


def held(nodes: dict[str, int]) -> tuple[LineInForce, ...]:
    return tuple(LineInForce(line=line, nodes=count) for line, count in sorted(nodes.items()))


def replicas(
    count: int,
    in_force: dict[str, int],
    *,
    usd: float,
    offers: list[Offer] | None = None,
    policy: dict[str, object] | None = None,
    owned: int = 0,
    **more: object,
) -> Case:
    rules = {**churn_policy(usd), **(policy or {})}
    of = served_case(offers or [ACME, BOLT], service_entry(count, count), policy=rules, **more)
    kept = case(of.workloads, of.offers, owned=[(ACME, owned)] if owned else []).owned
    return replace(of, in_force=held(in_force), owned=kept)
