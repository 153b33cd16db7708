"""The fewest steps of a rule that let a plan exist, others being what they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.quantities import HOURS_PER_MONTH
from broker.domain.workload import Workloads
from broker.planning.explaining.policy_rules import BUDGET, BUDGETS, QUOTA, UPFRONT
from broker.planning.explaining.probing import Prober, Steps
from broker.planning.searches import Search
from solver.milp.elastic import Raisable, Raised

_ROUNDING_USD = 1e-6


@dataclass(frozen=True, slots=True)
class Least:
    """So many steps are enough; `is_least` says that one less is proven not to be."""

    steps: int
    is_least: bool


def least_steps(prober: Prober, name: str, others: Steps) -> Search[Least | None]:
    """Find the fewest steps of a rule; None where all of them are not enough, as far as known."""
    rule = prober.rules[name]
    enough = yield from prober.exists({**others, name: rule.steps})
    if not enough:
        return None
    low, is_proven = 0, True
    high = (yield from _steps_spent(prober, others)) if name == BUDGET else rule.steps
    guess = yield from _guess(prober, name, others)
    while high - low > 1 and prober.ground.left_s:
        middle = _between(low, high, guess)
        found = yield from prober.exists({**others, name: middle})
        if found:
            high = middle
        else:
            low, is_proven = middle, found is False
    return Least(high, is_least=is_proven and high - low == 1)


def _steps_spent(prober: Prober, others: Steps) -> Search[int]:
    """Count the steps to a budget that the plan without one keeps; there is such a plan."""
    rule, workloads = prober.rules[BUDGET], prober.ground.plan.workloads
    free = yield from prober.first_plan({**others, BUDGET: rule.steps})
    given = workloads.policy.budget_usd_per_month
    if free is None or given is None:
        return rule.steps
    hours = Decimal(str(workloads.horizon.hours))
    a_month = math.ceil(free.most_usd * HOURS_PER_MONTH / hours)
    return min(rule.steps, max(1, a_month - int(given)))


def guesses(prober: Prober, names: Sequence[str], others: Steps) -> Search[dict[str, int]]:
    """Solve for the steps of those rules that are numbers in the program, all at once."""
    may = _raisable(names)
    if not (may.quotas or may.amounts):
        return {}
    found = yield from prober.least_raise(others, may)
    if found is None:
        return {}
    workloads = prober.ground.plan.workloads
    steps = {name: _steps(name, found, workloads) for name in names}
    return {name: count for name, count in steps.items() if count is not None and count > 0}


def _guess(prober: Prober, name: str, others: Steps) -> Search[int | None]:
    found = yield from guesses(prober, [name], others)
    return found.get(name)


def _between(low: int, high: int, guess: int | None) -> int:
    """Take the guess first, then one less; else the middle."""
    if guess is not None and low < guess < high:
        return guess
    if guess is not None and low < guess - 1 and guess == high:
        return guess - 1
    return (low + high) // 2


def _raisable(names: Sequence[str]) -> Raisable:
    quotas = [_number(name) for name in names if name.startswith(f"{QUOTA}[")]
    budgets = [_number(name) for name in names if name.startswith(f"{BUDGETS}[")]
    return Raisable(
        tuple(quotas), upfront=UPFRONT in names, budget=BUDGET in names, budgets=tuple(budgets)
    )


def _number(name: str) -> int:
    return int(name.partition("[")[2].partition("]")[0])


def _steps(name: str, found: Raised, workloads: Workloads) -> int | None:
    policy = workloads.policy
    if name == UPFRONT:
        return _dollars(policy.commitments.max_upfront_usd, found.upfront_usd)
    if name == BUDGET:
        return _dollars(policy.budget_usd_per_month, found.budget_usd_per_month)
    if name.startswith(f"{BUDGETS}["):
        number = _number(name)
        return _dollars(policy.budgets[number].amount_usd, found.budgets_usd[number])
    return found.quota_gpus[_number(name)] if name.startswith(f"{QUOTA}[") else None


def _dollars(given: Decimal | None, more: object) -> int | None:
    """Count the whole dollars from the given amount, cents left off, to what is enough."""
    if given is None or not isinstance(more, float):
        return None
    return math.ceil(float(given) - int(given) + more - _ROUNDING_USD)
