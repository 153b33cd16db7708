"""What the subject of a cost line names: a workload and a place, or neither."""

from decimal import Decimal

import pytest

from broker.domain.plan import CostLine, Term


@pytest.mark.parametrize(
    ("subject", "workload", "place"),
    [
        ("tune", "tune", ""),
        ("tune@aws/us-east-1", "tune", "aws/us-east-1"),
        ("embed@2026-12-01", "embed@2026-12-01", ""),
        ("embed@2026-12-01@aws/us-east-1", "embed@2026-12-01", "aws/us-east-1"),
    ],
)
def test_a_day_of_a_batch_job_is_no_place(subject: str, workload: str, place: str) -> None:
    line = CostLine(term=Term.EGRESS, subject=subject, usd=Decimal(1))
    assert (line.workload, line.place) == (workload, place)
