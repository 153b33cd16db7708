"""The dollars of every term of the objective, on the case of test_rows.py."""

from pathlib import Path

import pytest
from inline_snapshot import snapshot
from solving import program_of
from two_by_two import two_by_two

from solver.milp.dump import term_lines
from solver.milp.objective import TERMS
from solver.milp.program import Program

ELSEWHERE = {
    "blocks": "test_blocks.py",
    "over_budget": "test_budgets.py",
    "churn": "test_churn.py",
    "savings_plans": "test_savings.py",
    "savings_cover": "test_savings.py",
    "storage": "test_data_costs.py",
}
"""Terms that this case has none of, and the file that has them."""


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(two_by_two())


def test_every_term_has_its_dollars_here() -> None:
    names = {one.__name__ for one in TERMS}
    assert {f"test_rows_of_term_{name}" for name in names - set(ELSEWHERE)} <= set(globals())
    for name, file in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text(encoding="utf-8")
        assert f'lines(program_of(of), "{name}")) == [' in text


def test_rows_of_term_on_demand(program: Program) -> None:
    assert _terms(program, "on_demand") == snapshot("""\
on_demand: +96 on_demand_nodes[0,0]
on_demand: +96 on_demand_nodes[0,1]
on_demand: +60 on_demand_nodes[1,0]
on_demand: +60 on_demand_nodes[1,1]
""")


def test_rows_of_term_spot(program: Program) -> None:
    assert _terms(program, "spot") == snapshot("""\
spot: +36 spot_nodes[0,0]
spot: +36 spot_nodes[0,1]
""")


def test_rows_of_term_commitments(program: Program) -> None:
    assert _terms(program, "commitments") == snapshot("""\
commitments: +96 committed_nodes[0]
commitments: +120 committed_nodes[1]
""")


def test_rows_of_term_egress(program: Program) -> None:
    assert _terms(program, "egress") == snapshot("""\
egress: +7.5 option_used[0]
egress: +0 option_used[1]
egress: +0 option_used[2]
""")


def _terms(program: Program, term: str) -> str:
    return "".join(f"{line}\n" for line in term_lines(program, term))
