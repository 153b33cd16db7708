"""The independent check of a plan.

It shares nothing with the program but the domain values: each cost is computed again to the
micro-dollar, and each rule is checked in every slot, from the workloads, options and offers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from broker.domain.case import Case
from broker.domain.plan import Plan, Status
from broker.verification import (
    batch,
    blocks,
    budgets,
    capacity,
    churn,
    commitments,
    costs,
    coverage,
    diversity,
    handover,
    inputs,
    limits,
    load,
    min_up,
    months,
    options,
    policy,
    pools,
    proof,
    runs,
    savings,
    scenarios,
    slices,
    steps,
    zones,
)
from broker.verification.facts import Facts, Finding, gather

Rule = Callable[[Facts], Iterator[Finding]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "inputs": inputs.inputs,
        "in_force": churn.in_force,
        "offers": inputs.offers,
        "purchases": inputs.purchases,
        "steps": steps.steps,
        "size_classes": steps.size_classes,
        "node_hours": steps.node_hours,
        "purchase_cost": costs.purchase_cost,
        "owned_nodes": costs.owned_nodes,
        "commitment_span": commitments.commitment_span,
        "block_window": blocks.block_window,
        "block_span": blocks.block_span,
        "breakeven": commitments.breakeven,
        "savings_plans": savings.savings_plans,
        "savings_coverage": savings.savings_coverage,
        "savings_figures": savings.savings_figures,
        "serving_options": options.serving_options,
        "training_options": options.training_options,
        "cost_lines": costs.cost_lines,
        "total": costs.total,
        "capacity": capacity.capacity,
        "packing": capacity.packing,
        "slices": slices.slices,
        "cuts": slices.cuts,
        "split": capacity.split,
        "isolation": capacity.isolation,
        "pools": pools.pools,
        "pools_together": pools.pools_together,
        "replica_rate": load.replica_rate,
        "groups": load.groups,
        "idle_replicas": load.idle_replicas,
        "one_order": load.one_order,
        "min_up_time": min_up.min_up_time,
        "spot_share": load.spot_share,
        "provider_share": diversity.provider_share,
        "plan_share": diversity.plan_share,
        "spot_discount": coverage.spot_discount,
        "committed_share": coverage.committed_share,
        "commitment_utilization": coverage.commitment_utilization,
        "unused_nodes": coverage.unused_nodes,
        "windows": runs.windows,
        "durations": runs.durations,
        "interruptions": runs.interruptions,
        "tokens": runs.tokens,
        "batch_replicas": batch.batch_replicas,
        "quotas": limits.quotas,
        "limits": limits.limits,
        "stock": limits.stock,
        "price_kinds": policy.price_kinds,
        "whole_nodes": policy.whole_nodes,
        "places": policy.places,
        "examples": policy.examples,
        "certifications": policy.certifications,
        "commitment_terms": policy.commitment_terms,
        "new_commitments": policy.new_commitments,
        "budget": policy.budget,
        "budgets": budgets.budgets,
        "month_budgets": months.month_budgets,
        "outliving_commitments": commitments.outliving_commitments,
        "outliving_savings": savings.outliving_savings,
        "scenarios": scenarios.scenarios,
        "scenario_decisions": scenarios.scenario_decisions,
        "proof": proof.proof,
        "infeasible": proof.infeasible,
        "comparisons": proof.comparisons,
    }
)
"""The rules of every plan, each with its name in a violation."""

DEMAND_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "serve_load": load.serve_load,
        "min_replicas": load.min_replicas,
        "min_zones": zones.min_zones,
        "spare_zone": zones.spare_zone,
        "start_up": handover.start_up,
        "runs": runs.runs,
        "batch_days": batch.batch_days,
    }
)
"""The rules that ask for something: an infeasible plan meets none of them."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that the plan breaks: where, and with the figure found and the right one."""

    rule: str
    subject: str
    message: str


def check(
    plan: Plan, case: Case, *, snapshot: str | None = None, workloads_sha256: str | None = None
) -> tuple[Violation, ...]:
    """Hold a plan to its case; nothing found means that it is accepted.

    Args:
        plan: the plan, well formed but not trusted.
        case: the demand, offers and options, which are.
        snapshot: the catalog's hash that the plan must name, where it is known.
        workloads_sha256: the hash of the workloads that the plan must name, where it is known.
    """
    # An absurd figure may overflow to infinity, which no comparison takes for right.
    with np.errstate(all="ignore"):
        facts = gather(plan, case, snapshot=snapshot, workloads_sha256=workloads_sha256)
        found = list(_broken(facts, frozenset()))
        for name, course in scenarios.every_course(facts)[1:]:
            found += [
                replace(one, subject=f"{one.subject} in scenario {name!r}")
                for one in _broken(course, scenarios.FORECAST_ALONE)
            ]
        return tuple(found)


def _broken(facts: Facts, left_out: frozenset[str]) -> Iterator[Violation]:
    asked = {} if facts.plan.status is Status.INFEASIBLE else DEMAND_RULES
    for name, rule in (*RULES.items(), *asked.items()):
        if name not in left_out:
            yield from (Violation(name, one.subject, one.message) for one in rule(facts))
