"""Objective terms, one a module; the plan's cost lines are these terms at the solution."""

from solver.milp.objective.blocks import blocks
from solver.milp.objective.churn import churn
from solver.milp.objective.commitments import commitments
from solver.milp.objective.egress import egress
from solver.milp.objective.on_demand import on_demand
from solver.milp.objective.over_budget import over_budget
from solver.milp.objective.savings_cover import savings_cover
from solver.milp.objective.savings_plans import savings_plans
from solver.milp.objective.spot import spot
from solver.milp.objective.storage import storage

TERMS = (
    on_demand,
    spot,
    commitments,
    blocks,
    savings_plans,
    savings_cover,
    egress,
    storage,
    over_budget,
    churn,
)
