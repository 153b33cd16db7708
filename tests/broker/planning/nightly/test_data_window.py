"""What data costs from a night on: only what has not been moved, and what is still to be kept."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from solving import assembled, solved
from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.plan import Plan
from broker.planning.differences.lines import Window
from broker.planning.nightly.data_window import egress, egress_after, storage

END = START + timedelta(days=2)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """One replica for two days, and a run on the second."""
    box = offer("1")
    weights = replace(serving(box, [1]), storage_usd_per_hour=Decimal("0.1"), egress_usd=Decimal(3))
    run = replace(training(box, egress_usd="7.5"), storage_usd=Decimal(5))
    window = {"earliest": "2026-12-02", "deadline": "2026-12-03"}
    file = workloads(
        services=[service_entry(1, 1)],
        training=[run_entry(24 * 3600, window=window)],
        slot="24 h",
        days=2,
    )
    of = case(file, [box], serving=[weights], training=[run])
    return assembled(of, solved(of))


def test_storage_has_the_part_of_the_time_at_work(plan: Plan) -> None:
    later = storage(plan, Window(START + timedelta(days=1), END))
    assert later == {"storage of chat@acme/here": Decimal("2.4"), "storage of tune@acme/here": 5}


def test_what_is_there_already_is_not_brought_again(plan: Plan) -> None:
    later = Window(START + timedelta(days=1), END)
    assert egress(plan, Window(START, END)) == {
        "egress of chat": 3,
        "egress of tune": Decimal("7.5"),
    }
    assert egress(plan, later) == {"egress of tune": Decimal("7.5")}
    assert egress_after(plan, plan, later) == {"egress of tune": Decimal("7.5")}
