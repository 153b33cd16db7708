"""The rows of every family and the dollars of every term, on a case of two machines and two days.

The case is described in two_by_two.py; columns are named by their block and positions. Machine,
kind and size class 0 come first: `big` is 0, `small` is 1; Friday is 0, Saturday is 1. Groups are
big firm 0, big spot 1, small 2; run options eval on small 0, tune on big firm 1 and on spot 2;
commitments a year 0, a month 1; levels the month's 0, both 1.
"""

import re
from collections.abc import Iterable
from textwrap import TextWrapper

import pytest
from inline_snapshot import snapshot
from solving import program_of
from tiny_cases import case, offer, service_entry, serving, workloads
from two_by_two import two_by_two

from broker.domain.offer import PriceKind
from solver.milp.constraints import CONSTRAINTS
from solver.milp.dump import lines, term_lines
from solver.milp.objective import TERMS
from solver.milp.program import Program

_FOLD = TextWrapper(width=92, subsequent_indent="    ", break_long_words=False)
ROUTING = {
    "serve_load",
    "replica_rate",
    "kind_link",
    "min_replicas",
    "fewest_replicas",
    "spot_share",
}


HANDOVER = {"handover_rate", "handover_load"}


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(two_by_two())


@pytest.fixture(scope="module")
def one_kind_program() -> Program:
    return program_of(two_by_two(max_groups=1))


@pytest.fixture(scope="module")
def split_program() -> Program:
    return program_of(two_by_two(sharing="split"))


@pytest.fixture(scope="module")
def handover_program() -> Program:
    return program_of(two_by_two(start_up="10 min"))


def test_every_family_and_term_has_its_rows_here() -> None:
    names = {one.__name__ for one in CONSTRAINTS} | {f"term_{one.__name__}" for one in TERMS}
    assert {f"test_rows_of_{name}" for name in names} <= set(globals())


def test_routing_families_and_one_kind_stand_for_each_other(
    program: Program, one_kind_program: Program, split_program: Program
) -> None:
    assert _empty(program) == {"one_kind", "whole_nodes", "split_pools", *HANDOVER}
    assert _empty(one_kind_program) == {*ROUTING, "whole_nodes", "split_pools", *HANDOVER}
    assert _empty(split_program) == {"one_kind", "whole_nodes", *HANDOVER}


def test_families_of_what_the_policy_leaves_open_are_empty() -> None:
    bare = program_of(two_by_two(budget_usd_per_month=None, commitments={}))
    unused = {"one_kind", "whole_nodes", "split_pools", "upfront_cap", "budget"}
    assert _empty(bare) == {*unused, *HANDOVER}


def test_rows_of_serve_load(program: Program) -> None:
    assert _rows(program, "serve_load") == snapshot("""\
serve_load[0,0,0]: 1 <= +0.333333 routed_requests_per_s[0,0,0]
    +0.333333 routed_requests_per_s[1,0,0] +0.333333 routed_requests_per_s[2,0,0]
serve_load[0,0,1]: 1 <= +0.666667 routed_requests_per_s[0,0,1]
    +0.666667 routed_requests_per_s[1,0,1] +0.666667 routed_requests_per_s[2,0,1]
serve_load[0,1,0]: 1 <= +1 routed_requests_per_s[0,1,0] +1 routed_requests_per_s[1,1,0]
    +1 routed_requests_per_s[2,1,0]
serve_load[0,1,1]: 1 <= +2 routed_requests_per_s[0,1,1] +2 routed_requests_per_s[1,1,1]
    +2 routed_requests_per_s[2,1,1]
""")


def test_rows_of_replica_rate(program: Program) -> None:
    assert _rows(program, "replica_rate") == snapshot("""\
replica_rate[0,0]: +0.25 routed_requests_per_s[0,0,0] +1 routed_requests_per_s[0,1,0]
    -1 replicas[0,0] +1 kind_used[0] <= 0
replica_rate[0,1]: +0.25 routed_requests_per_s[0,0,1] +1 routed_requests_per_s[0,1,1]
    -1 replicas[0,1] +1 kind_used[0] <= 0
replica_rate[1,0]: +0.25 routed_requests_per_s[1,0,0] +1 routed_requests_per_s[1,1,0]
    -1 replicas[1,0] <= 0
replica_rate[1,1]: +0.25 routed_requests_per_s[1,0,1] +1 routed_requests_per_s[1,1,1]
    -1 replicas[1,1] <= 0
replica_rate[2,0]: +0.5 routed_requests_per_s[2,0,0] +2 routed_requests_per_s[2,1,0]
    -1 replicas[2,0] +1 kind_used[1] <= 0
replica_rate[2,1]: +0.5 routed_requests_per_s[2,0,1] +2 routed_requests_per_s[2,1,1]
    -1 replicas[2,1] +1 kind_used[1] <= 0
""")


def test_rows_of_kind_limit(program: Program) -> None:
    assert _rows(program, "kind_limit") == snapshot(
        "kind_limit[0]: 1 <= +1 kind_used[0] +1 kind_used[1] <= 2\n"
    )


def test_rows_of_kind_link(program: Program) -> None:
    assert _rows(program, "kind_link") == snapshot("""\
kind_link[0,0]: +1 replicas[0,0] +1 replicas[1,0] -3 kind_used[0] <= 0
kind_link[0,1]: +1 replicas[0,1] +1 replicas[1,1] -2 kind_used[0] <= 0
kind_link[1,0]: +1 replicas[2,0] -5 kind_used[1] <= 0
kind_link[1,1]: +1 replicas[2,1] -3 kind_used[1] <= 0
""")


def test_rows_of_one_kind(one_kind_program: Program) -> None:
    assert _rows(one_kind_program, "one_kind") == snapshot("""\
one_kind[all,0,0]: 0 <= -3 kind_used[0] +1 replicas[0,0] +1 replicas[1,0] <= 0
one_kind[all,0,1]: 0 <= -2 kind_used[0] +1 replicas[0,1] +1 replicas[1,1] <= 0
one_kind[all,1,0]: 0 <= -5 kind_used[1] +1 replicas[2,0] <= 0
one_kind[all,1,1]: 0 <= -3 kind_used[1] +1 replicas[2,1] <= 0
one_kind[firm,0,0]: 0 <= -2 kind_used[0] +1 replicas[0,0]
one_kind[firm,0,1]: 0 <= -2 kind_used[0] +1 replicas[0,1]
one_kind[firm,1,0]: 0 <= -3 kind_used[1] +1 replicas[2,0]
one_kind[firm,1,1]: 0 <= -2 kind_used[1] +1 replicas[2,1]
""")


def test_rows_of_min_replicas(program: Program) -> None:
    assert _rows(program, "min_replicas") == snapshot("""\
min_replicas[0,0]: 2 <= +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0]
min_replicas[0,1]: 2 <= +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1]
""")


def test_rows_of_fewest_replicas(program: Program) -> None:
    assert _rows(program, "fewest_replicas") == snapshot("""\
fewest_replicas[0,0]: 2 <= +1 replicas[0,0] +1 replicas[1,0] +1 replicas[2,0]
    -1 kind_used[0] -1 kind_used[1]
fewest_replicas[0,1]: 1 <= +1 replicas[0,1] +1 replicas[1,1] +1 replicas[2,1]
    -1 kind_used[0] -1 kind_used[1]
""")


def test_rows_of_spot_share(program: Program) -> None:
    assert _rows(program, "spot_share") == snapshot("""\
spot_share[0,0,0]: +0.333333 routed_requests_per_s[1,0,0] <= 0.5
spot_share[0,0,1]: +0.666667 routed_requests_per_s[1,0,1] <= 0.5
spot_share[0,1,0]: +1 routed_requests_per_s[1,1,0] <= 0.5
spot_share[0,1,1]: +2 routed_requests_per_s[1,1,1] <= 0.5
""")


def test_rows_of_firm_capacity(program: Program) -> None:
    assert _rows(program, "firm_capacity") == snapshot("""\
firm_capacity[0,0]: +0.5 replicas[0,0] +1 gang_up[1,0] -1 on_demand_nodes[0,0]
    -1 committed_nodes[0] -1 committed_nodes[1] <= 1
firm_capacity[0,1]: +0.5 replicas[0,1] +1 gang_up[1,1] -1 on_demand_nodes[0,1]
    -1 committed_nodes[0] -1 committed_nodes[1] <= 0
firm_capacity[1,0]: +1 replicas[2,0] +2 gang_up[0,0] -1 on_demand_nodes[1,0] <= 0
firm_capacity[1,1]: +1 replicas[2,1] +2 gang_up[0,1] -1 on_demand_nodes[1,1] <= 0
""")


def test_rows_of_spot_capacity(program: Program) -> None:
    assert _rows(program, "spot_capacity") == snapshot("""\
spot_capacity[0,0]: +0.5 replicas[1,0] +1 gang_up[2,0] -1 spot_nodes[0,0] <= 0
spot_capacity[0,1]: +0.5 replicas[1,1] +1 gang_up[2,1] -1 spot_nodes[0,1] <= 0
spot_capacity[1,0]: -1 spot_nodes[1,0] <= 0
spot_capacity[1,1]: -1 spot_nodes[1,1] <= 0
""")


def test_rows_of_whole_nodes() -> None:
    """Three replicas of one GPU take two nodes of two; one node is owned, one may be reserved."""
    pair = offer("2", gpus=2)
    month = offer("1", gpus=2, kind=PriceKind.RESERVED, term_months=1)
    file = workloads(services=[service_entry(3, 3)], slot="24 h", policy={"max_groups": 1})
    of = case(file, [pair, month], serving=[serving(pair, [1])], owned=[(pair, 1)])
    assert _rows(program_of(of), "whole_nodes") == snapshot(
        "whole_nodes[0,0]: -1 <= -2 kind_used[0] +1 on_demand_nodes[0,0] +1 committed_nodes[0]\n"
    )


def test_rows_of_handover_rate(handover_program: Program) -> None:
    assert _rows(handover_program, "handover_rate") == snapshot("""\
handover_rate[0,0,0]: +0.25 handover_requests_per_s[0,0] +1 handover_requests_per_s[0,1]
    -1 replicas[0,0] <= 0
handover_rate[0,0,1]: +0.25 handover_requests_per_s[0,0] +1 handover_requests_per_s[0,1]
    -1 replicas[0,1] <= 0
handover_rate[1,0,0]: +0.25 handover_requests_per_s[1,0] +1 handover_requests_per_s[1,1]
    -1 replicas[1,0] <= 0
handover_rate[1,0,1]: +0.25 handover_requests_per_s[1,0] +1 handover_requests_per_s[1,1]
    -1 replicas[1,1] <= 0
handover_rate[2,0,0]: +0.5 handover_requests_per_s[2,0] +2 handover_requests_per_s[2,1]
    -1 replicas[2,0] <= 0
handover_rate[2,0,1]: +0.5 handover_requests_per_s[2,0] +2 handover_requests_per_s[2,1]
    -1 replicas[2,1] <= 0
""")


def test_rows_of_handover_load(handover_program: Program) -> None:
    assert _rows(handover_program, "handover_load") == snapshot("""\
handover_load[0,0]: 1 <= +0.666667 handover_requests_per_s[0,0]
    +0.666667 handover_requests_per_s[1,0] +0.666667 handover_requests_per_s[2,0]
handover_load[0,1]: 1 <= +2 handover_requests_per_s[0,1] +2 handover_requests_per_s[1,1]
    +2 handover_requests_per_s[2,1]
""")


def test_rows_of_split_pools(split_program: Program) -> None:
    assert _rows(split_program, "split_pools") == snapshot("""\
split_pools[served,0,0]: -1 serving_nodes[0,0] +1 run_nodes[0] +0.5 replicas[0,0]
    -1 committed_nodes[0] -1 committed_nodes[1] <= 1
split_pools[served,0,1]: -1 serving_nodes[0,1] +1 run_nodes[0] +0.5 replicas[0,1]
    -1 committed_nodes[0] -1 committed_nodes[1] <= 0
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
    assert _rows(program, "run_choice") == snapshot("""\
run_choice[0]: 1 <= +1 option_used[1] +1 option_used[2] <= 1
run_choice[1]: 1 <= +1 option_used[0] <= 1
""")


def test_rows_of_run_link(program: Program) -> None:
    assert _rows(program, "run_link") == snapshot("""\
run_link[0,0]: +1 gang_up[0,0] -1 option_used[0] <= 0
run_link[0,1]: +1 gang_up[0,1] -1 option_used[0] <= 0
run_link[1,0]: +1 gang_up[1,0] -1 option_used[1] <= 0
run_link[1,1]: +1 gang_up[1,1] -1 option_used[1] <= 0
run_link[2,0]: +1 gang_up[2,0] -1 option_used[2] <= 0
run_link[2,1]: +1 gang_up[2,1] -1 option_used[2] <= 0
""")


def test_rows_of_run_start(program: Program) -> None:
    assert _rows(program, "run_start") == snapshot("""\
run_start[0,0]: 0 <= +1 gang_start[0,0] -1 gang_up[0,0]
run_start[0,1]: 0 <= +1 gang_start[0,1] -1 gang_up[0,1] +1 gang_up[0,0]
run_start[1,0]: 0 <= +1 gang_start[1,0] -1 gang_up[1,0]
run_start[1,1]: 0 <= +1 gang_start[1,1] -1 gang_up[1,1] +1 gang_up[1,0]
run_start[2,0]: 0 <= +1 gang_start[2,0] -1 gang_up[2,0]
run_start[2,1]: 0 <= +1 gang_start[2,1] -1 gang_up[2,1] +1 gang_up[2,0]
""")


def test_rows_of_run_slots(program: Program) -> None:
    assert _rows(program, "run_slots") == snapshot("""\
run_slots[0]: 0 <= +1 gang_up[0,0] +1 gang_up[0,1] -1 option_used[0]
run_slots[1]: 0 <= +1 gang_up[1,0] +1 gang_up[1,1] -1 option_used[1]
run_slots[2]: 0 <= +1 gang_up[2,0] +1 gang_up[2,1] -2 option_used[2]
""")


def test_rows_of_run_work(program: Program) -> None:
    assert _rows(program, "run_work") == snapshot("""\
run_work[0]: 0 <= +24 gang_up[0,0] +24 gang_up[0,1] -0 gang_start[0,0] -0 gang_start[0,1]
    -20 option_used[0]
run_work[1]: 0 <= +24 gang_up[1,0] +24 gang_up[1,1] -0 gang_start[1,0] -0 gang_start[1,1]
    -24 option_used[1]
run_work[2]: 0 <= +24 gang_up[2,0] +24 gang_up[2,1] -0.5 gang_start[2,0]
    -0.5 gang_start[2,1] -30 option_used[2]
""")


def test_rows_of_run_contiguous(program: Program) -> None:
    assert _rows(program, "run_contiguous") == snapshot(
        "run_contiguous[0]: +1 gang_start[0,0] +1 gang_start[0,1] -1 option_used[0] <= 0\n"
    )


def test_rows_of_steady_limit(program: Program) -> None:
    assert _rows(program, "steady_limit") == snapshot("""\
steady_limit[0]: +1 committed_nodes[1] -2 level_used[0] <= 0
steady_limit[1]: +1 committed_nodes[1] +1 committed_nodes[0] -2 level_used[1] <= 0
""")


def test_rows_of_steady_level(program: Program) -> None:
    assert _rows(program, "steady_level") == snapshot("""\
steady_level[0,0]: +3 level_filled[0,0] +1 committed_nodes[1] -0.5 replicas[0,0] <= 2.5
steady_level[0,1]: +2 level_filled[0,1] +1 committed_nodes[1] -0.5 replicas[0,1] <= 2.5
steady_level[1,0]: +3 level_filled[1,0] +1 committed_nodes[1] +1 committed_nodes[0]
    -0.5 replicas[0,0] <= 2.5
steady_level[1,1]: +2 level_filled[1,1] +1 committed_nodes[1] +1 committed_nodes[0]
    -0.5 replicas[0,1] <= 2.5
""")


def test_rows_of_steady_time(program: Program) -> None:
    assert _rows(program, "steady_time") == snapshot("""\
steady_time[0]: 0 <= +0.5 level_filled[0,0] +0.5 level_filled[0,1] -0.625 level_used[0]
steady_time[1]: 0 <= +0.5 level_filled[1,0] +0.5 level_filled[1,1] -0.5 level_used[1]
""")


def test_rows_of_quota(program: Program) -> None:
    assert _rows(program, "quota") == snapshot("""\
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
    assert _rows(program, "shared_stock") == snapshot("""\
shared_stock[0,0]: +2 on_demand_nodes[0,0] +1 on_demand_nodes[1,0] <= 6
shared_stock[0,1]: +2 on_demand_nodes[0,1] +1 on_demand_nodes[1,1] <= 6
""")


def test_rows_of_upfront_cap(program: Program) -> None:
    assert _rows(program, "upfront_cap") == snapshot(
        "upfront_cap[plan]: +8760 committed_nodes[0] +365 committed_nodes[1] <= 1000\n"
    )


def test_rows_of_budget(program: Program) -> None:
    assert _rows(program, "budget") == snapshot("""\
budget[plan]: +96 on_demand_nodes[0,0] +96 on_demand_nodes[0,1] +60 on_demand_nodes[1,0]
    +60 on_demand_nodes[1,1] +36 spot_nodes[0,0] +36 spot_nodes[0,1] +96 committed_nodes[0]
    +120 committed_nodes[1] +7.5 option_used[0] +0 option_used[1] +0 option_used[2] <= 480
""")


def test_rows_of_term_on_demand(program: Program) -> None:
    assert _folded(term_lines(program, "on_demand")) == snapshot("""\
on_demand: +96 on_demand_nodes[0,0]
on_demand: +96 on_demand_nodes[0,1]
on_demand: +60 on_demand_nodes[1,0]
on_demand: +60 on_demand_nodes[1,1]
""")


def test_rows_of_term_spot(program: Program) -> None:
    assert _folded(term_lines(program, "spot")) == snapshot("""\
spot: +36 spot_nodes[0,0]
spot: +36 spot_nodes[0,1]
""")


def test_rows_of_term_commitments(program: Program) -> None:
    assert _folded(term_lines(program, "commitments")) == snapshot("""\
commitments: +96 committed_nodes[0]
commitments: +120 committed_nodes[1]
""")


def test_rows_of_term_egress(program: Program) -> None:
    assert _folded(term_lines(program, "egress")) == snapshot("""\
egress: +7.5 option_used[0]
egress: +0 option_used[1]
egress: +0 option_used[2]
""")


def _rows(program: Program, family: str) -> str:
    return _folded(lines(program, family))


def _folded(rows: Iterable[str]) -> str:
    """Fold long rows, and keep each coefficient with its column."""
    tied = [re.sub(r"([+-][0-9.]+) ", "\\1\u00a0", row) for row in rows]
    return "\n".join(_FOLD.fill(row) for row in tied).replace("\u00a0", " ") + "\n"


def _empty(program: Program) -> set[str]:
    return {rows.family for rows in program.families if not rows.keys}
