"""A forecast step by step, asked of a plan whose horizon began on another day."""

from datetime import timedelta
from decimal import Decimal

from tiny_cases import START, case, service_entry, workloads

from broker.domain.plan import Status
from broker.domain.traffic import loads_by_size
from broker.planning.bare_plan import bare_plan
from broker.planning.nightly.rolling import over_its_own
from solver.milp.optimum import Optimum

SERIES = {"requests_per_s": {"step": "8 h", "by_size": [[1, 2, 3, 4, 5, 6]]}}


def test_a_plan_is_held_to_the_forecast_of_its_own_days() -> None:
    """Tonight's forecast begins a day after the plan did, so its first step is the plan's fourth.

    The plan covers 1 and 2 December; tonight's horizon is 2 and 3 December, and repeats from there.
    """
    service = service_entry(1, 1, traffic=SERIES)
    file = workloads(services=[service], days=2)
    nothing = Optimum(Status.OPTIMAL, Decimal(0), Decimal(0), 0.0)
    plan = bare_plan(nothing, case(file, []))
    later = file.horizon.model_copy(update={"start": START + timedelta(days=1)})
    tonight = file.model_copy(update={"horizon": later})
    assert loads_by_size(tonight.services[0], later) == ((1, 2, 3, 4, 5, 6),)
    held = over_its_own(tonight, plan)
    assert held.horizon == file.horizon
    assert loads_by_size(held.services[0], held.horizon) == ((4, 5, 6, 1, 2, 3),)
