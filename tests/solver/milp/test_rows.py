"""The rows of every family, on a case of two machines and two days.

The case is described in two_by_two.py; columns are named by their block and positions. Machine
`big` is 0, `small` is 1; Friday is 0, Saturday is 1. Kind 0 counts with the rates of `small`, which
`big` gives too: its groups are big firm 0, big spot 1, small 2. Kind 1 counts with those of `big`:
firm 3, spot 4. Run options are eval on small 0, tune on big firm 1 and on spot 2; commitments a
year 0, a month 1; levels the month's 0, both 1. With one kind, replicas are by block, one each.
"""

from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rows_text import rows_text
from solving import program_of
from two_by_two import two_by_two

from solver.milp.constraints import CONSTRAINTS
from solver.milp.program import Program
from solver.milp.rows import grid

ROUTING = {
    *("serve_load", "replica_rate", "kind_link", "min_replicas"),
    *("fewest_replicas", "spot_share", "kept_replicas"),
}
HANDOVER = {"handover_rate", "handover_load"}
ELSEWHERE = {
    "provider_share": "test_provider_share.py",
    "block_limit": "test_blocks.py",
    "burst_limit": "test_burst.py",
    "whole_nodes": "test_fills.py",
    "peak_replicas": "test_data_costs.py",
    "run_duration": "test_run_duration.py",
    "budgets": "test_budgets.py",
    "month_budgets": "test_month_budgets.py",
    "new_commitments": "test_ladder.py",
    "moved_nodes": "test_churn.py",
    "min_zones": "test_min_zones.py",
    "zone_loss": "test_zone_loss.py",
    "plan_share": "test_plan_share.py",
    "tenant_limit": "test_tenants.py",
    "pools_together": "test_pools_together.py",
    **dict.fromkeys(("savings_nodes", "savings_promise", "savings_steady"), "test_savings.py"),
    **dict.fromkeys(("committed_share", "idle_nodes", "commitment_use"), "test_targets.py"),
}
"""Families that this case has no rows of, and the file that has them."""
NONE_HERE = set(ELSEWHERE)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(two_by_two())


@pytest.fixture(scope="module")
def one_kind_program() -> Program:
    return program_of(two_by_two(max_groups=1))


@pytest.fixture(scope="module")
def split_program() -> Program:
    return program_of(two_by_two(sharing="split"))


def test_every_family_has_its_rows_here() -> None:
    names = {one.__name__ for one in CONSTRAINTS}
    elsewhere = ELSEWHERE | dict.fromkeys(HANDOVER, "test_handover_rows.py")
    assert {f"test_rows_of_{name}" for name in names - set(elsewhere)} <= set(globals())
    for name, file in elsewhere.items():
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert f'lines(program_of(of), "{name}")) == [' in text or f'"{name}") == snap' in text


def test_routing_families_and_one_kind_stand_for_each_other(
    program: Program, one_kind_program: Program, split_program: Program
) -> None:
    none = NONE_HERE | HANDOVER
    assert _empty(program) == {"one_kind", "split_pools", *none}
    assert _empty(one_kind_program) == {*ROUTING, "split_pools", *none}
    assert _empty(split_program) == {"one_kind", *none}


def test_families_of_what_the_policy_leaves_open_are_empty() -> None:
    bare = program_of(two_by_two(budget_usd_per_month=None, commitments={}))
    unused = {"one_kind", "split_pools", "upfront_cap", "budget"}
    assert _empty(bare) == {*unused, *NONE_HERE, *HANDOVER}


def test_rows_of_serve_load(program: Program) -> None:
    assert rows_text(program, "serve_load") == snapshot("""\
serve_load[0,0,0]: 1 <= +0.333333 routed_requests_per_s[0,0,0]
    +0.333333 routed_requests_per_s[1,0,0] +0.333333 routed_requests_per_s[2,0,0]
    +0.333333 routed_requests_per_s[3,0,0]
serve_load[0,0,1]: 1 <= +0.666667 routed_requests_per_s[0,0,1]
    +0.666667 routed_requests_per_s[1,0,1] +0.666667 routed_requests_per_s[2,0,1]
    +0.666667 routed_requests_per_s[3,0,1]
serve_load[0,1,0]: 1 <= +1 routed_requests_per_s[0,1,0] +1 routed_requests_per_s[1,1,0]
    +1 routed_requests_per_s[2,1,0] +1 routed_requests_per_s[3,1,0]
serve_load[0,1,1]: 1 <= +2 routed_requests_per_s[0,1,1] +2 routed_requests_per_s[1,1,1]
    +2 routed_requests_per_s[2,1,1] +2 routed_requests_per_s[3,1,1]
""")


def test_rows_of_replica_rate(program: Program) -> None:
    assert rows_text(program, "replica_rate") == snapshot("""\
replica_rate[0,0]: +0.5 routed_requests_per_s[0,0,0] +2 routed_requests_per_s[0,1,0]
    -1 replicas[0,0] -1 replicas[2,0] +1 kind_used[0] <= 0
replica_rate[0,1]: +0.5 routed_requests_per_s[0,0,1] +2 routed_requests_per_s[0,1,1]
    -1 replicas[0,1] -1 replicas[2,1] +1 kind_used[0] <= 0
replica_rate[1,0]: +0.5 routed_requests_per_s[1,0,0] +2 routed_requests_per_s[1,1,0]
    -1 replicas[1,0] <= 0
replica_rate[1,1]: +0.5 routed_requests_per_s[1,0,1] +2 routed_requests_per_s[1,1,1]
    -1 replicas[1,1] <= 0
replica_rate[2,0]: +0.25 routed_requests_per_s[2,0,0] +1 routed_requests_per_s[2,1,0]
    -1 replicas[3,0] +1 kind_used[1] <= 0
replica_rate[2,1]: +0.25 routed_requests_per_s[2,0,1] +1 routed_requests_per_s[2,1,1]
    -1 replicas[3,1] +1 kind_used[1] <= 0
replica_rate[3,0]: +0.25 routed_requests_per_s[3,0,0] +1 routed_requests_per_s[3,1,0]
    -1 replicas[4,0] <= 0
replica_rate[3,1]: +0.25 routed_requests_per_s[3,0,1] +1 routed_requests_per_s[3,1,1]
    -1 replicas[4,1] <= 0
""")


def test_rows_of_kind_limit(program: Program) -> None:
    assert rows_text(program, "kind_limit") == snapshot(
        "kind_limit[0]: 1 <= +1 kind_used[0] +1 kind_used[1] <= 2\n"
    )


def test_rows_of_kind_link(program: Program) -> None:
    assert rows_text(program, "kind_link") == snapshot("""\
kind_link[0,0]: +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0] -5 kind_used[0] <= 0
kind_link[0,1]: +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1] -3 kind_used[0] <= 0
kind_link[1,0]: +1 replicas[3,0] +1 replicas[4,0] -3 kind_used[1] <= 0
kind_link[1,1]: +1 replicas[3,1] +1 replicas[4,1] -2 kind_used[1] <= 0
kind_link[together,0,1,0]: +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0]
    +1 replicas[3,0] +1 replicas[4,0] <= 5
kind_link[together,0,1,1]: +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1]
    +1 replicas[3,1] +1 replicas[4,1] <= 3
""")


def test_rows_of_one_kind(one_kind_program: Program) -> None:
    assert rows_text(one_kind_program, "one_kind") == snapshot("""\
one_kind[all,0,0]: 0 <= -1 kind_used[0] +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0]
    <= 0
one_kind[all,0,1]: 0 <= -1 kind_used[0] +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1]
    <= 0
one_kind[all,0,2]: 0 <= -1 kind_used[0] +1 replicas[0,2] +1 replicas[1,2] +1 replicas[2,2]
    <= 0
one_kind[all,0,3]: 0 <= -1 kind_used[0] +1 replicas[0,3] +1 replicas[1,3] +1 replicas[2,3]
    <= 0
one_kind[all,0,4]: 0 <= -1 kind_used[0] +1 replicas[0,4] +1 replicas[1,4] +1 replicas[2,4]
    <= 0
one_kind[firm,0,1]: 0 <= -2 kind_used[0] +1 replicas[0,0] +1 replicas[0,1] +1 replicas[0,2]
    +1 replicas[2,0] +1 replicas[2,1] +1 replicas[2,2]
one_kind[firm,0,0]: 0 <= -3 kind_used[0] +1 replicas[0,0] +1 replicas[0,1] +1 replicas[0,2]
    +1 replicas[0,3] +1 replicas[0,4] +1 replicas[2,0] +1 replicas[2,1] +1 replicas[2,2]
    +1 replicas[2,3] +1 replicas[2,4]
one_kind[all,1,0]: 0 <= -1 kind_used[1] +1 replicas[3,0] +1 replicas[4,0] <= 0
one_kind[all,1,1]: 0 <= -1 kind_used[1] +1 replicas[3,1] +1 replicas[4,1] <= 0
one_kind[all,1,2]: 0 <= -1 kind_used[1] +1 replicas[3,2] +1 replicas[4,2] <= 0
one_kind[firm,1,1]: 0 <= -2 kind_used[1] +1 replicas[3,0] +1 replicas[3,1]
one_kind[firm,1,0]: 0 <= -2 kind_used[1] +1 replicas[3,0] +1 replicas[3,1] +1 replicas[3,2]
""")


def test_rows_of_min_replicas(program: Program) -> None:
    assert rows_text(program, "min_replicas") == snapshot("""\
min_replicas[0,0]: 2 <= +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0] +1 replicas[3,0]
    +1 replicas[4,0]
min_replicas[0,1]: 2 <= +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1] +1 replicas[3,1]
    +1 replicas[4,1]
""")


def test_rows_of_fewest_replicas(program: Program) -> None:
    assert rows_text(program, "fewest_replicas") == snapshot("""\
fewest_replicas[0,0]: 2 <= +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0]
    +1 replicas[3,0] +1 replicas[4,0] -1 kind_used[0] -1 kind_used[1]
fewest_replicas[0,1]: 1 <= +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1]
    +1 replicas[3,1] +1 replicas[4,1] -1 kind_used[0] -1 kind_used[1]
""")


def test_rows_of_spot_share(program: Program) -> None:
    assert rows_text(program, "spot_share") == snapshot("""\
spot_share[0,0,0]: +0.333333 routed_requests_per_s[1,0,0]
    +0.333333 routed_requests_per_s[3,0,0] <= 0.5
spot_share[0,0,1]: +0.666667 routed_requests_per_s[1,0,1]
    +0.666667 routed_requests_per_s[3,0,1] <= 0.5
spot_share[0,1,0]: +1 routed_requests_per_s[1,1,0] +1 routed_requests_per_s[3,1,0] <= 0.5
spot_share[0,1,1]: +2 routed_requests_per_s[1,1,1] +2 routed_requests_per_s[3,1,1] <= 0.5
""")


def test_rows_of_firm_capacity(program: Program) -> None:
    assert rows_text(program, "firm_capacity") == snapshot("""\
firm_capacity[0,0]: +0.5 replicas[0,0] +0.5 replicas[3,0] +1 gang_up[1,0]
    -1 on_demand_nodes[0,0] -1 committed_nodes[0] -1 committed_nodes[1] <= 1
firm_capacity[0,1]: +0.5 replicas[0,1] +0.5 replicas[3,1] +1 gang_up[1,1]
    -1 on_demand_nodes[0,1] -1 committed_nodes[0] -1 committed_nodes[1] <= 0
firm_capacity[1,0]: +1 replicas[2,0] +2 gang_up[0,0] -1 on_demand_nodes[1,0] <= 0
firm_capacity[1,1]: +1 replicas[2,1] +2 gang_up[0,1] -1 on_demand_nodes[1,1] <= 0
""")


def test_rows_of_spot_capacity(program: Program) -> None:
    assert rows_text(program, "spot_capacity") == snapshot("""\
spot_capacity[0,0]: +0.5 replicas[1,0] +0.5 replicas[4,0] +1 gang_up[2,0] -1 spot_nodes[0,0]
    <= 0
spot_capacity[0,1]: +0.5 replicas[1,1] +0.5 replicas[4,1] +1 gang_up[2,1] -1 spot_nodes[0,1]
    <= 0
spot_capacity[1,0]: -1 spot_nodes[1,0] <= 0
spot_capacity[1,1]: -1 spot_nodes[1,1] <= 0
""")


def test_rows_of_split_pools(split_program: Program) -> None:
    assert rows_text(split_program, "split_pools") == snapshot("""\
split_pools[served,0,0]: -1 serving_nodes[0,0] +1 run_nodes[0] +0.5 replicas[0,0]
    +0.5 replicas[3,0] -1 committed_nodes[0] -1 committed_nodes[1] <= 1
split_pools[served,0,1]: -1 serving_nodes[0,1] +1 run_nodes[0] +0.5 replicas[0,1]
    +0.5 replicas[3,1] -1 committed_nodes[0] -1 committed_nodes[1] <= 0
split_pools[served,1,0]: -1 serving_nodes[1,0] +1 run_nodes[1] +1 replicas[2,0] <= 0
split_pools[served,1,1]: -1 serving_nodes[1,1] +1 run_nodes[1] +1 replicas[2,1] <= 0
split_pools[trained,0,0]: -1 on_demand_nodes[0,0] +1 serving_nodes[0,0] -1 run_nodes[0]
    +1 gang_up[1,0] <= 0
split_pools[trained,0,1]: -1 on_demand_nodes[0,1] +1 serving_nodes[0,1] -1 run_nodes[0]
    +1 gang_up[1,1] <= 0
split_pools[trained,1,0]: -1 on_demand_nodes[1,0] +1 serving_nodes[1,0] -1 run_nodes[1]
    +2 gang_up[0,0] <= 0
split_pools[trained,1,1]: -1 on_demand_nodes[1,1] +1 serving_nodes[1,1] -1 run_nodes[1]
    +2 gang_up[0,1] <= 0
split_pools[set_apart,0,0]: +1 run_nodes[0] -1 committed_nodes[0] -1 committed_nodes[1] <= 1
split_pools[set_apart,0,1]: +1 run_nodes[0] -1 committed_nodes[0] -1 committed_nodes[1] <= 0
split_pools[set_apart,1,0]: +1 run_nodes[1] <= 0
split_pools[set_apart,1,1]: +1 run_nodes[1] <= 0
split_pools[rented,0,0]: +1 serving_nodes[0,0] -1 on_demand_nodes[0,0] <= 0
split_pools[rented,0,1]: +1 serving_nodes[0,1] -1 on_demand_nodes[0,1] <= 0
split_pools[rented,1,0]: +1 serving_nodes[1,0] -1 on_demand_nodes[1,0] <= 0
split_pools[rented,1,1]: +1 serving_nodes[1,1] -1 on_demand_nodes[1,1] <= 0
""")


def test_rows_of_run_choice(program: Program) -> None:
    assert rows_text(program, "run_choice") == snapshot("""\
run_choice[0]: 1 <= +1 option_used[1] +1 option_used[2] <= 1
run_choice[1]: 1 <= +1 option_used[0] <= 1
""")


def test_rows_of_run_link(program: Program) -> None:
    assert rows_text(program, "run_link") == snapshot("""\
run_link[0,0]: +1 gang_up[0,0] -1 option_used[0] <= 0
run_link[0,1]: +1 gang_up[0,1] -1 option_used[0] <= 0
run_link[1,0]: +1 gang_up[1,0] -1 option_used[1] <= 0
run_link[1,1]: +1 gang_up[1,1] -1 option_used[1] <= 0
run_link[2,0]: +1 gang_up[2,0] -1 option_used[2] <= 0
run_link[2,1]: +1 gang_up[2,1] -1 option_used[2] <= 0
""")


def test_rows_of_run_start(program: Program) -> None:
    assert rows_text(program, "run_start") == snapshot("""\
run_start[0,0]: 0 <= +1 gang_start[0,0] -1 gang_up[0,0]
run_start[0,1]: 0 <= +1 gang_start[0,1] -1 gang_up[0,1] +1 gang_up[0,0]
run_start[1,0]: 0 <= +1 gang_start[1,0] -1 gang_up[1,0]
run_start[1,1]: 0 <= +1 gang_start[1,1] -1 gang_up[1,1] +1 gang_up[1,0]
run_start[2,0]: 0 <= +1 gang_start[2,0] -1 gang_up[2,0]
run_start[2,1]: 0 <= +1 gang_start[2,1] -1 gang_up[2,1] +1 gang_up[2,0]
""")


def test_rows_of_run_slots(program: Program) -> None:
    assert rows_text(program, "run_slots") == snapshot("""\
run_slots[0]: 0 <= +1 gang_up[0,0] +1 gang_up[0,1] -1 option_used[0]
run_slots[1]: 0 <= +1 gang_up[1,0] +1 gang_up[1,1] -1 option_used[1]
run_slots[2]: 0 <= +1 gang_up[2,0] +1 gang_up[2,1] -2 option_used[2]
""")


def test_rows_of_run_work(program: Program) -> None:
    assert rows_text(program, "run_work") == snapshot("""\
run_work[0]: 0 <= +24 gang_up[0,0] +24 gang_up[0,1] -0 gang_start[0,0] -0 gang_start[0,1]
    -20 option_used[0]
run_work[1]: 0 <= +24 gang_up[1,0] +24 gang_up[1,1] -0 gang_start[1,0] -0 gang_start[1,1]
    -24 option_used[1]
run_work[2]: 0 <= +24 gang_up[2,0] +24 gang_up[2,1] -0.5 gang_start[2,0]
    -0.5 gang_start[2,1] -30 option_used[2]
""")


def test_rows_of_run_contiguous(program: Program) -> None:
    assert rows_text(program, "run_contiguous") == snapshot(
        "run_contiguous[0]: +1 gang_start[0,0] +1 gang_start[0,1] -1 option_used[0] <= 0\n"
    )


def test_rows_of_steady_limit(program: Program) -> None:
    assert rows_text(program, "steady_limit") == snapshot("""\
steady_limit[0]: +1 committed_nodes[1] -3 level_used[0] <= 0
steady_limit[1]: +1 committed_nodes[1] +1 committed_nodes[0] -3 level_used[1] <= 0
""")


def test_rows_of_steady_level(program: Program) -> None:
    assert rows_text(program, "steady_level") == snapshot("""\
steady_level[0]: +1 committed_nodes[1] -0.5 kept_replicas[0,0] -0.5 kept_replicas[3,0]
    +1 level_used[0] <= 0.5
steady_level[1]: +1 committed_nodes[1] +1 committed_nodes[0] -0.5 kept_replicas[0,1]
    -0.5 kept_replicas[3,1] +1 level_used[1] <= 0.5
""")


def test_rows_of_steady_whole(one_kind_program: Program) -> None:
    assert rows_text(one_kind_program, "steady_whole") == snapshot("""\
steady_whole[0]: +1 committed_nodes[1] +1 level_used[0] -1 replicas[0,0] -1 replicas[0,1]
    -1 replicas[0,2] -1 replicas[3,0] -1 replicas[3,1] <= 0
steady_whole[1]: +1 committed_nodes[1] +1 committed_nodes[0] +1 level_used[1]
    -1 replicas[0,0] -1 replicas[0,1] -1 replicas[0,2] -1 replicas[0,3] -1 replicas[0,4]
    -1 replicas[3,0] -1 replicas[3,1] -1 replicas[3,2] <= 0
""")


def test_rows_of_steady_level_with_one_kind(one_kind_program: Program) -> None:
    assert rows_text(one_kind_program, "steady_level") == snapshot("""\
steady_level[0]: +1 committed_nodes[1] -0.5 replicas[0,0] -0.5 replicas[0,1]
    -0.5 replicas[0,2] -0.5 replicas[3,0] -0.5 replicas[3,1] +1 level_used[0] <= 0.5
steady_level[1]: +1 committed_nodes[1] +1 committed_nodes[0] -0.5 replicas[0,0]
    -0.5 replicas[0,1] -0.5 replicas[0,2] -0.5 replicas[0,3] -0.5 replicas[0,4]
    -0.5 replicas[3,0] -0.5 replicas[3,1] -0.5 replicas[3,2] +1 level_used[1] <= 0.5
""")


def test_rows_of_kept_replicas(program: Program) -> None:
    assert rows_text(program, "kept_replicas") == snapshot("""\
kept_replicas[0,0,1]: +1 kept_replicas[0,0] -1 replicas[0,1] <= 0
kept_replicas[0,0,0]: +1 kept_replicas[0,0] -1 replicas[0,0] <= 0
kept_replicas[0,3,1]: +1 kept_replicas[3,0] -1 replicas[3,1] <= 0
kept_replicas[0,3,0]: +1 kept_replicas[3,0] -1 replicas[3,0] <= 0
kept_replicas[1,0,0]: +1 kept_replicas[0,1] -1 replicas[0,0] <= 0
kept_replicas[1,3,0]: +1 kept_replicas[3,1] -1 replicas[3,0] <= 0
""")


def test_rows_of_quota(program: Program) -> None:
    assert rows_text(program, "quota") == snapshot("""\
quota[0,0]: +2 on_demand_nodes[0,0] +1 on_demand_nodes[1,0] <= 8
quota[0,1]: +2 on_demand_nodes[0,1] +1 on_demand_nodes[1,1] <= 8
quota[1,0]: +2 on_demand_nodes[0,0] +2 spot_nodes[0,0] +1 on_demand_nodes[1,0]
    +2 committed_nodes[0] +2 committed_nodes[1] <= 12
quota[1,1]: +2 on_demand_nodes[0,1] +2 spot_nodes[0,1] +1 on_demand_nodes[1,1]
    +2 committed_nodes[0] +2 committed_nodes[1] <= 12
quota[2,0]: 0 <= 0
quota[2,1]: 0 <= 0
""")


def test_rows_of_shared_stock(program: Program) -> None:
    assert rows_text(program, "shared_stock") == snapshot("""\
shared_stock[0,0]: +2 on_demand_nodes[0,0] +1 on_demand_nodes[1,0] <= 6
shared_stock[0,1]: +2 on_demand_nodes[0,1] +1 on_demand_nodes[1,1] <= 6
""")


def test_rows_of_upfront_cap(program: Program) -> None:
    assert rows_text(program, "upfront_cap") == snapshot(
        "upfront_cap[plan]: +8760 committed_nodes[0] +365 committed_nodes[1] <= 1000\n"
    )


def test_rows_of_budget(program: Program) -> None:
    assert rows_text(program, "budget") == snapshot("""\
budget[plan]: +96 on_demand_nodes[0,0] +96 on_demand_nodes[0,1] +60 on_demand_nodes[1,0]
    +60 on_demand_nodes[1,1] +36 spot_nodes[0,0] +36 spot_nodes[0,1] +96 committed_nodes[0]
    +120 committed_nodes[1] +7.5 option_used[0] +0 option_used[1] +0 option_used[2] <= 480
""")


def _empty(program: Program) -> set[str]:
    return {rows.family for rows in program.families if not rows.keys}


def test_positions_of_a_product_of_sets_are_made_when_asked_for() -> None:
    positions = grid(2, 3)
    assert list(positions) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert [positions[at] for at in range(len(positions))] == list(positions)
    assert positions[1:3] == ((0, 1), (0, 2))
    assert len(grid(0, 3)) == 0
    with pytest.raises(IndexError):
        _ = positions[6]
