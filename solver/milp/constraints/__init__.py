"""Constraint families, one a module; the order is that of the rows."""

from solver.milp.constraints.block_limit import block_limit
from solver.milp.constraints.budget import budget
from solver.milp.constraints.budgets import budgets
from solver.milp.constraints.burst_limit import burst_limit
from solver.milp.constraints.commitment_use import commitment_use
from solver.milp.constraints.committed_share import committed_share
from solver.milp.constraints.fewest_replicas import fewest_replicas
from solver.milp.constraints.firm_capacity import firm_capacity
from solver.milp.constraints.handover_load import handover_load
from solver.milp.constraints.handover_rate import handover_rate
from solver.milp.constraints.idle_nodes import idle_nodes
from solver.milp.constraints.kept_replicas import kept_replicas
from solver.milp.constraints.kind_limit import kind_limit
from solver.milp.constraints.kind_link import kind_link
from solver.milp.constraints.min_replicas import min_replicas
from solver.milp.constraints.min_zones import min_zones
from solver.milp.constraints.month_budgets import month_budgets
from solver.milp.constraints.moved_nodes import moved_nodes
from solver.milp.constraints.new_commitments import new_commitments
from solver.milp.constraints.one_kind import one_kind
from solver.milp.constraints.peak_replicas import peak_replicas
from solver.milp.constraints.plan_share import plan_share
from solver.milp.constraints.pools_together import pools_together
from solver.milp.constraints.provider_share import provider_share
from solver.milp.constraints.quota import quota
from solver.milp.constraints.replica_rate import replica_rate
from solver.milp.constraints.run_choice import run_choice
from solver.milp.constraints.run_contiguous import run_contiguous
from solver.milp.constraints.run_duration import run_duration
from solver.milp.constraints.run_link import run_link
from solver.milp.constraints.run_slots import run_slots
from solver.milp.constraints.run_start import run_start
from solver.milp.constraints.run_work import run_work
from solver.milp.constraints.savings_nodes import savings_nodes
from solver.milp.constraints.savings_promise import savings_promise
from solver.milp.constraints.savings_steady import savings_steady
from solver.milp.constraints.serve_load import serve_load
from solver.milp.constraints.shared_stock import shared_stock
from solver.milp.constraints.split_pools import split_pools
from solver.milp.constraints.spot_capacity import spot_capacity
from solver.milp.constraints.spot_share import spot_share
from solver.milp.constraints.steady_level import steady_level
from solver.milp.constraints.steady_limit import steady_limit
from solver.milp.constraints.steady_whole import steady_whole
from solver.milp.constraints.tenant_limit import tenant_limit
from solver.milp.constraints.upfront_cap import upfront_cap
from solver.milp.constraints.whole_nodes import whole_nodes
from solver.milp.constraints.zone_loss import zone_loss

CONSTRAINTS = (
    serve_load,
    replica_rate,
    kind_limit,
    burst_limit,
    kind_link,
    one_kind,
    pools_together,
    min_replicas,
    fewest_replicas,
    spot_share,
    provider_share,
    min_zones,
    zone_loss,
    handover_rate,
    handover_load,
    peak_replicas,
    firm_capacity,
    spot_capacity,
    whole_nodes,
    split_pools,
    run_choice,
    run_link,
    run_start,
    run_slots,
    run_work,
    run_contiguous,
    run_duration,
    kept_replicas,
    steady_level,
    steady_whole,
    steady_limit,
    savings_nodes,
    savings_promise,
    savings_steady,
    committed_share,
    idle_nodes,
    commitment_use,
    quota,
    shared_stock,
    block_limit,
    tenant_limit,
    plan_share,
    upfront_cap,
    new_commitments,
    budget,
    budgets,
    month_budgets,
    moved_nodes,
)
