"""What to relax where there is no plan: each least change that lets one exist.

Each rule is tried alone: at its loosest value, and where that is enough, at the fewest steps that
are; one step less is then proven not to be. Limits that are numbers in the program (quotas, the cap
on cash, the budget) are first solved for directly, the rule made elastic. Where no rule is enough
alone, all are loosened and tightened again one after the other: what cannot be tightened clashes,
and is then loosened by as little as the others allow.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from broker.domain.explanation import Relaxation, Relaxing, RuleChange
from broker.domain.plan import Status
from broker.planning.explaining.ground import GRACE_S, WORKERS, Ground
from broker.planning.explaining.least import Least, guesses, least_steps
from broker.planning.explaining.policy_rules import ALLOWED, BUDGET, QUOTA, UPFRONT, all_rules
from broker.planning.explaining.probing import Prober, Steps, loosest
from broker.planning.explaining.rules import Rule
from broker.planning.explaining.widening import widened
from broker.planning.searches import Search, run_all

_ASKED_FOR = (QUOTA, UPFRONT, BUDGET)
"""Rules that one asks others to change; the rest are one's own demand and policy."""

_WORTH_SHARE = 0.25
"""The part of the time that is kept for the plans under the loosened rules."""

_ResultT = TypeVar("_ResultT")


@dataclass(frozen=True, slots=True)
class _Loose:
    """Rules with the steps of each that are enough together; `prober` knows those rules."""

    prober: Prober
    steps: Mapping[str, Least]


def relaxing(ground: Ground) -> Relaxing:
    """Find what lets a plan exist, the cheapest way first."""
    found = all_rules(ground.plan.workloads, ground.sources.view.offers, may_extend=True)
    trying = replace(ground, ends_at_s=ground.ends_at_s - _WORTH_SHARE * ground.left_s)
    prober = Prober(trying, _named(found))
    names = tuple(sorted(prober.rules, key=_is_own))
    ground.progress(f"trying {len(names)} rules, each alone")
    ways = _ways_alone(prober, names)
    if not ways:
        ground.progress("trying the rules together")
        both = _run(trying, [_limits_raised(prober, names), _together(prober, names)])
        ways = _different([one for one in both if one is not None])
    clashing = tuple(dict.fromkeys(name for way in ways for name in way.steps))
    ground.progress(f"planning under {len(ways)} looser rules")
    done = _run(ground, [_relaxation(ground, way) for way in ways])
    relaxations = [one for one in done if one is not None]
    return Relaxing(
        clashing=tuple(f"{prober.rules[one].path} {prober.rules[one].value}" for one in clashing),
        relaxations=tuple(sorted(relaxations, key=lambda one: one.total_usd)),
        hopeless=() if relaxations else ground.plan.warnings,
        is_whole=trying.left_s > 0 and len(relaxations) == len(ways),
    )


def _named(rules: Sequence[Rule]) -> dict[str, Rule]:
    """Name each rule by its path; entries of one list by their value, too."""
    named: dict[str, Rule] = {}
    for rule in rules:
        is_entry = sum(one.path == rule.path for one in rules) > 1
        named[f"{rule.path} {rule.value}" if is_entry else rule.path] = rule
    return named


def _different(ways: Sequence[_Loose]) -> list[_Loose]:
    """Keep one way for each set of rules, and none that loosens more than another."""
    kept: list[_Loose] = []
    for way in sorted(ways, key=lambda one: len(one.steps)):
        if not any(set(one.steps) <= set(way.steps) for one in kept):
            kept.append(way)
    return kept


def _run(ground: Ground, searches: Sequence[Search[_ResultT]]) -> list[_ResultT]:
    """Run searches, and give up what is not done soon after the time is up."""
    ends_at_s = ground.ends_at_s + GRACE_S
    return run_all(searches, lambda _: None, gives_up_at_s=lambda: ends_at_s, clock=ground.clock)


def _ways_alone(prober: Prober, names: Sequence[str]) -> list[_Loose]:
    """Try one rule after the other, each to its end, so many at a time as there are processes."""
    queue = deque(names)

    def turns() -> Search[list[_Loose]]:
        ways = []
        while queue and prober.ground.left_s:
            way = yield from _alone(prober, queue.popleft())
            prober.ground.progress(f"trying rules, {len(queue)} are left")
            if way is not None:
                ways.append(way)
        return ways

    return [way for ways in _run(prober.ground, [turns() for _ in range(WORKERS)]) for way in ways]


def _alone(prober: Prober, name: str) -> Search[_Loose | None]:
    """Loosen one rule by the least that is enough; None where nothing of it is."""
    found = yield from _loosened(prober, name, {})
    return None if found is None else _Loose(found[0], {name: found[1]})


def _loosened(prober: Prober, name: str, others: Steps) -> Search[tuple[Prober, Least] | None]:
    least = yield from least_steps(prober, name, others)
    if least is None or name not in ALLOWED:
        return None if least is None else (prober, least)
    rule = yield from widened(prober, name, others)
    return (prober if rule is None else prober.with_rule(name, rule), least)


def _limits_raised(prober: Prober, names: Sequence[str]) -> Search[_Loose | None]:
    """Raise quotas, cash and budget together by the least, as one elastic program finds it."""
    limits = [name for name in names if name.startswith(_ASKED_FOR)]
    steps = yield from guesses(prober, limits, {})
    if not steps or not (yield from prober.exists(steps)):
        return None
    return (yield from _tightened(prober, steps))


def _together(prober: Prober, names: Sequence[str]) -> Search[_Loose | None]:
    """Loosen as few rules as have to be, one's own rather than those that others set."""
    rules = prober.rules
    if not (yield from prober.exists(loosest(rules, names))):
        return None
    needed = list(names)
    for name in sorted(names, key=_is_own):
        fewer = [one for one in needed if one != name]
        if (yield from prober.exists(loosest(rules, fewer))):
            needed = fewer
    return (yield from _tightened(prober, loosest(rules, needed)))


def _is_own(name: str) -> bool:
    return not name.startswith(_ASKED_FOR)


def _tightened(prober: Prober, enough: Steps) -> Search[_Loose | None]:
    """Take back as many steps of each rule as the others allow, one rule after the other."""
    steps = dict(enough)
    found: dict[str, Least] = {}
    for name in enough:
        others = {one: step for one, step in steps.items() if one != name}
        loosened = yield from _loosened(prober, name, others)
        if loosened is None:
            return None
        prober, found[name] = loosened
        steps[name] = found[name].steps
    return _Loose(prober, found)


def _relaxation(ground: Ground, way: _Loose) -> Search[Relaxation | None]:
    """Plan under the loosened rules, to say what they are worth."""
    prober = Prober(ground, way.prober.rules)
    optimum = yield from prober.whole_plan({name: one.steps for name, one in way.steps.items()})
    if optimum is None or optimum.status is Status.INFEASIBLE:
        return None
    return Relaxation(
        changes=tuple(_change(prober.rules[name], least) for name, least in way.steps.items()),
        status=optimum.status,
        total_usd=optimum.objective_usd,
        bound_usd=optimum.bound_usd,
    )


def _change(rule: Rule, least: Least) -> RuleChange:
    return RuleChange(
        rule=rule.path,
        value=rule.value,
        enough=rule.said(least.steps),
        one_step_less=rule.said(least.steps - 1) if least.is_least else None,
        is_least=least.is_least,
    )
