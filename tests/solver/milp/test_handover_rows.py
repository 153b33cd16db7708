"""The rows of handovers, on the case of two machines and two days that test_rows.py describes."""

import pytest
from inline_snapshot import snapshot
from rows_text import rows_text
from solving import program_of
from two_by_two import two_by_two

from solver.milp.program import Program


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(two_by_two(start_up="10 min"))


def test_rows_of_handover_rate(program: Program) -> None:
    assert rows_text(program, "handover_rate") == snapshot("""\
handover_rate[0,0,0]: +0.5 handover_requests_per_s[0,0] +2 handover_requests_per_s[0,1]
    -1 replicas[0,0] <= 0
handover_rate[0,0,1]: +0.5 handover_requests_per_s[0,0] +2 handover_requests_per_s[0,1]
    -1 replicas[0,1] <= 0
handover_rate[1,0,0]: +0.5 handover_requests_per_s[1,0] +2 handover_requests_per_s[1,1]
    -1 replicas[1,0] <= 0
handover_rate[1,0,1]: +0.5 handover_requests_per_s[1,0] +2 handover_requests_per_s[1,1]
    -1 replicas[1,1] <= 0
handover_rate[2,0,0]: +0.5 handover_requests_per_s[2,0] +2 handover_requests_per_s[2,1]
    -1 replicas[2,0] <= 0
handover_rate[2,0,1]: +0.5 handover_requests_per_s[2,0] +2 handover_requests_per_s[2,1]
    -1 replicas[2,1] <= 0
handover_rate[3,0,0]: +0.25 handover_requests_per_s[3,0] +1 handover_requests_per_s[3,1]
    -1 replicas[3,0] <= 0
handover_rate[3,0,1]: +0.25 handover_requests_per_s[3,0] +1 handover_requests_per_s[3,1]
    -1 replicas[3,1] <= 0
handover_rate[4,0,0]: +0.25 handover_requests_per_s[4,0] +1 handover_requests_per_s[4,1]
    -1 replicas[4,0] <= 0
handover_rate[4,0,1]: +0.25 handover_requests_per_s[4,0] +1 handover_requests_per_s[4,1]
    -1 replicas[4,1] <= 0
""")


def test_rows_of_handover_load(program: Program) -> None:
    assert rows_text(program, "handover_load") == snapshot("""\
handover_load[0,0]: 1 <= +0.666667 handover_requests_per_s[0,0]
    +0.666667 handover_requests_per_s[1,0] +0.666667 handover_requests_per_s[2,0]
    +0.666667 handover_requests_per_s[3,0] +0.666667 handover_requests_per_s[4,0]
handover_load[0,1]: 1 <= +2 handover_requests_per_s[0,1] +2 handover_requests_per_s[1,1]
    +2 handover_requests_per_s[2,1] +2 handover_requests_per_s[3,1]
    +2 handover_requests_per_s[4,1]
""")
