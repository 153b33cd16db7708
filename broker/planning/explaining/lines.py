"""Why each line is in the plan: what would come in its place, which rule holds it, what is beaten.

The runner-up is the best plan without the line's offer, solved anew. A rule binds a line where the
plan under a looser value of it is proven cheaper and buys less of the line.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from decimal import Decimal

from broker.domain.explanation import LineReason, OtherPlan, Outcome, RuleWorth, Unfit, UsdRange
from broker.domain.offer import Offer, PriceKind
from broker.domain.plan import RejectedCount, ServingAssignment
from broker.domain.workload import Workloads
from broker.exports.lines import Line, lines
from broker.planning.case import build_case
from broker.planning.explaining.cases import without_offers
from broker.planning.explaining.compared import other_plan
from broker.planning.explaining.ground import WORKERS, Ground, Sources
from broker.planning.explaining.rivals import Rivals, Work, main_work, rivals_of, used_up
from broker.planning.explaining.rule_worth import rule_worth, rules_in_force, start_loosening
from broker.planning.measured.service import own_numbers_of
from broker.planning.plans import freshness_of
from solver.milp.optimum import Optimum
from solver.milp.solve import Limits

_LEAST_SHARE, _LEAST_RULE_SHARE = 0.25, 0.1
"""The part of the time that a line's solve may take, and a rule's, however many there are: a few
answers, dear lines first, are worth more than many solves that all end too soon."""

_SHOWN_UNFIT = 3
_SHOWN_CHEAPER = 2


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why each line, and what each rule costs."""

    lines: tuple[LineReason, ...]
    rules: tuple[RuleWorth, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A line with the searches that were started for it; what is owned is not searched for."""

    line: Line
    work: Work | None
    runner_up: Future[Optimum] | None
    unfit: Future[tuple[RejectedCount, ...]] | None


def reasons(ground: Ground) -> Reasons:
    """Explain every line of a plan; lines come before rules where the time is short."""
    rules = rules_in_force(ground)
    found = lines(ground.plan)
    even = WORKERS / max(1, len(found) + len(rules))
    limits = ground.limits(share=max(_LEAST_SHARE, even))
    ground.progress(f"planning without each of {len(found)} lines, and under looser rules")
    dear_first = sorted(found, key=lambda one: -one.purchase.usd)
    asks = {line.id: _ask(ground, line, limits) for line in dear_first}
    asked = [asks[line.id] for line in found]
    looser = start_loosening(ground, rules, ground.limits(share=max(_LEAST_RULE_SHARE, even)))
    others = [_runner_up(ground, one) for one in asked]
    unfit = [_unfit(ground, one) for one in asked]
    results = ground.all_of(looser)
    worth = tuple(
        rule_worth(ground.plan, rule, result) for rule, result in zip(rules, results, strict=True)
    )
    return Reasons(
        tuple(
            _reason(ground, one, worth, other=other, unfit=refused)
            for one, other, refused in zip(asked, others, unfit, strict=True)
        ),
        tuple(sorted(worth, key=_order)),
    )


def refused_offers(
    workloads: Workloads, offers: Sequence[Offer], sources: Sources
) -> tuple[RejectedCount, ...]:
    """Count by reason why offers cannot do some work, in the process that calls it.

    Of the sources' catalog no offer is looked at.
    """
    freshness = freshness_of(sources.view, sources.settings)
    own = own_numbers_of(sources.settings, sources.specs)
    return build_case(workloads, offers, sources.specs, freshness, own=own).rejected


def only(workloads: Workloads, name: str) -> Workloads:
    """Keep one workload, and no inventory."""
    return workloads.model_copy(
        update={
            "services": tuple(one for one in workloads.services if one.name == name),
            "training": tuple(one for one in workloads.training if one.name == name),
            "batch": tuple(one for one in workloads.batch if one.name == name.partition("@")[0]),
            "inventory": (),
        }
    )


def name_of(work: Work) -> str:
    """Name the workload of an assignment."""
    return work.service if isinstance(work, ServingAssignment) else work.run


def _ask(ground: Ground, line: Line, limits: Limits) -> _Asked:
    work = main_work(line)
    if line.purchase.price_kind is PriceKind.OWNED or work is None:
        return _Asked(line, work, None, None)
    own = line.offer.effective_usd_per_hour
    bare = ground.sources.without_offers()  # a catalog takes longer to hand over than the work
    cheaper = [one for one in ground.sources.view.offers if one.effective_usd_per_hour < own]
    return _Asked(
        line,
        work,
        ground.pool.optimize(without_offers(ground.case, {line.offer.key}), limits),
        ground.pool.submit(
            refused_offers,
            only(ground.plan.workloads, name_of(work)),
            cheaper,
            bare,
        ),
    )


def _runner_up(ground: Ground, asked: _Asked) -> OtherPlan:
    if asked.runner_up is None:
        return OtherPlan(outcome=Outcome.NONE)
    (optimum,) = ground.all_of([asked.runner_up])
    if optimum is None:
        return OtherPlan(outcome=Outcome.UNKNOWN)
    return other_plan(ground.plan, optimum, least_usd=ground.plan.bound_usd)


def _unfit(ground: Ground, asked: _Asked) -> tuple[Unfit, ...]:
    if asked.unfit is None or asked.work is None:
        return ()
    (found,) = ground.all_of([asked.unfit])
    prefix = f"{name_of(asked.work)}: "
    by_work_first = sorted(found or (), key=lambda one: not one.reason.startswith(prefix))
    return tuple(
        Unfit(reason=one.reason.removeprefix(prefix), offers=one.offers, example=one.example)
        for one in by_work_first[:_SHOWN_UNFIT]
    )


def _reason(
    ground: Ground,
    asked: _Asked,
    worth: Sequence[RuleWorth],
    *,
    other: OtherPlan,
    unfit: tuple[Unfit, ...],
) -> LineReason:
    line = asked.line
    rivals = rivals_of(line, asked.work, ground.case) if asked.work is not None else None
    binding = [f"{one.rule} {one.value}" for one in _binding(line.id, worth)]
    if rivals is not None:
        binding.extend(used_up(ground.plan, ground.case, rivals.cheaper))
    is_owned = line.purchase.price_kind is PriceKind.OWNED
    return LineReason(
        line=line.id,
        usd=line.purchase.usd,
        workloads=tuple(_workloads(line)),
        why=_why(line, rivals, binding, worth),
        binding=tuple(binding),
        runner_up=other,
        rank_count=rivals.rank if rivals and not is_owned else None,
        rivals_count=rivals.rivals if rivals else 0,
        unfit=unfit,
    )


def _workloads(line: Line) -> Iterable[str]:
    names = [one.assignment.service for one in line.serving]
    return dict.fromkeys([*names, *(one.assignment.workload for one in line.training)])


def _binding(line: str, worth: Iterable[RuleWorth]) -> list[RuleWorth]:
    return sorted((one for one in worth if line in one.lines), key=_order)


def _order(worth: RuleWorth) -> tuple[bool, bool, Decimal, Decimal, str]:
    saving = worth.saving or UsdRange(least_usd=Decimal(0), most_usd=Decimal(0))
    is_unknown = worth.outcome is Outcome.UNKNOWN
    return (worth.saving is None, is_unknown, -saving.least_usd, -saving.most_usd, worth.rule)


def _why(
    line: Line, rivals: Rivals | None, binding: Sequence[str], worth: Sequence[RuleWorth]
) -> str:
    if line.purchase.price_kind is PriceKind.OWNED:
        return "its nodes are paid for already: using them adds nothing to the cost"
    if rivals is None:
        return "nothing runs on it inside the horizon"
    return f"{_held_by(line, binding, worth)}; {_rank(rivals)}"


def _held_by(line: Line, binding: Sequence[str], worth: Sequence[RuleWorth]) -> str:
    held = _binding(line.id, worth)
    if held and held[0].saving is not None:
        first, saved = held[0], held[0].saving.least_usd
        return (
            f"{first.rule} {first.value} holds it: at {first.loosened} the plan would be "
            f"{saved:,.2f} USD cheaper and buy less of it"
        )
    if binding:
        return f"{binding[0]} bought, which is all there is of what is cheaper"
    is_known = all(one.outcome is not Outcome.UNKNOWN for one in worth)
    return "no rule binds it" if is_known else "no rule that was looked at binds it"


def _rank(rivals: Rivals) -> str:
    ways = f"{rivals.rivals} way{'s' * (rivals.rivals != 1)} to buy"
    if not rivals.cheaper:
        return f"it is the cheapest per {rivals.unit} of {ways}"
    count = len(rivals.cheaper)
    shown = " and ".join(rivals.cheaper[:_SHOWN_CHEAPER])
    some = shown if count <= _SHOWN_CHEAPER else f"such as {shown}"
    verb, them = ("is", "it") if count == 1 else ("are", "them")
    return (
        f"of {ways}, {count} {verb} cheaper per {rivals.unit} at full use ({some}), yet no "
        f"cheaper plan under these rules comes of {them}"
    )
