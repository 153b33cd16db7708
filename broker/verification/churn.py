"""Churn: nodes beside those of the plan in force, and what the policy counts them as."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from broker.verification.facts import Facts, Finding, first_difference


def in_force(facts: Facts) -> Iterator[Finding]:
    """Weigh the plan against the nodes in force where the policy asks for it, and only there."""
    stated, right = facts.plan.in_force, facts.case.in_force
    asks = facts.case.workloads.policy.churn.in_plan
    if stated is not None and not asks:
        yield Finding("in_force", f"names {len(stated)} lines; the policy weighs no churn in plans")
    if right is not None and stated != right:
        difference = first_difference(stated, right)
        yield Finding("in_force", f"differs from the plan in force in in_force{difference}")
    for line, count in Counter(one.line for one in stated or ()).items():
        if count > 1:
            yield Finding(line, f"is in force {count} times; once is right")


def moved_usd(facts: Facts) -> Iterator[tuple[str, Fraction]]:
    """Give what each purchase counts for nodes that are not in force of its line.

        usd_per_moved_node × (most nodes at one time − nodes in force of the line), if above 0

    Owned nodes are there anyway.
    """
    if facts.plan.in_force is None:
        return
    known = {one.line: one.nodes for one in facts.plan.in_force}
    usd = Fraction(facts.case.workloads.policy.churn.usd_per_moved_node)
    for one in facts.bought:
        moved = int(one.nodes.max(initial=0)) - known.get(one.purchase.id, 0)
        if not one.is_owned and moved > 0 and usd:
            yield one.purchase.id, moved * usd
