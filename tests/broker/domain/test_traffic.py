"""A forecast step by step: what it asks for in each slot, and how it must be written."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from tiny_cases import START, case, offer, service_entry, serving, workloads

from broker.domain.errors import ConfigurationError
from broker.domain.horizon import Horizon
from broker.domain.load import LoadSeries
from broker.domain.traffic import load_requests_per_s, loads_by_size, pinned
from broker.domain.workload import Service, Workloads
from broker.planning.workloads_file import workloads_from
from solver.milp.optimize import optimize
from solver.milp.solve import Limits

TWO_SIZES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.5},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.5},
]


def series_entry(load: Mapping[str, object], **more: object) -> dict[str, object]:
    traffic = {"traffic": {"requests_per_s": load}, "sizes": TWO_SIZES}
    return service_entry(1, 1, **(traffic | more))


def asked(load: Mapping[str, object], **more: object) -> tuple[Service, Horizon]:
    file = workloads(services=[series_entry(load, **more)])
    return file.services[0], file.horizon


def test_a_slot_asks_for_the_highest_step_of_each_size_in_it() -> None:
    rows = [[1, 2, 3, 4, 5, 0], [6, 5, 4, 3, 2, 1]]
    asks = loads_by_size(*asked({"step": "4 h", "by_size": rows}))
    assert asks == ((2, 4, 5), (6, 4, 2))


def test_a_series_that_is_shorter_than_the_horizon_is_repeated() -> None:
    asks = loads_by_size(*asked({"step": "8 h", "by_size": [[1, 2], [4, 3]]}))
    assert asks == ((1, 2, 1), (4, 3, 4))


def test_replicas_that_start_in_time_are_asked_for_before_a_step_begins() -> None:
    load = {"step": "8 h", "by_size": [[1, 9, 1], [1, 1, 1]]}
    assert loads_by_size(*asked(load, start_up="1 s"))[0] == (9, 9, 1)
    assert loads_by_size(*asked(load, start_up="0 s"))[0] == (1, 9, 1)


def test_the_load_of_all_sizes_is_the_sum_of_what_each_has_at_its_highest() -> None:
    service, horizon = asked({"step": "4 h", "by_size": [[1, 2, 0, 0, 0, 0], [4, 3, 0, 0, 1, 0]]})
    assert load_requests_per_s(service, horizon) == (6, 0, 1)


def test_a_series_with_its_own_start_stays_where_it_is_when_the_horizon_moves_on() -> None:
    service, horizon = asked({"step": "8 h", "by_size": [[1, 2, 3], [0, 0, 0]]})
    later = horizon.model_copy(update={"start": START + timedelta(hours=8)})
    assert loads_by_size(service, later)[0] == (1, 2, 3)
    assert loads_by_size(pinned(service, horizon), later)[0] == (2, 3, 1)
    assert loads_by_size(pinned(service, later), horizon)[0] == (3, 1, 2)
    assert pinned(pinned(service, horizon), later) == pinned(service, horizon)


def test_a_curve_asks_for_the_share_of_each_size() -> None:
    curve = {"mean": 2, "peak": 4, "peak_hour": 12}
    service, horizon = asked(curve)
    whole = load_requests_per_s(service, horizon)
    assert loads_by_size(service, horizon) == (tuple(one / 2 for one in whole),) * 2
    assert pinned(service, horizon) is service


def test_a_series_gives_its_mean_and_peak() -> None:
    series = LoadSeries(by_size=((1.0, 2.0, 6.0), (3.0, 0.0, 0.0)))
    assert (series.mean, series.peak) == (4.0, 6.0)


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ({"by_size": [[1, 2, 3]]}, "by_size has 1 rows and sizes has 2 entries"),
        ({"by_size": [[1, 2], [3]]}, "rows of 1 and of 2 steps"),
        ({"by_size": [[0], [0]]}, "at least one figure must be above 0"),
        ({"by_size": [[], []]}, "at least one figure must be above 0"),
        ({"by_size": [[1], [-1]]}, "requests_per_s.by_size[1][0]: -1 is not right"),
        ({"by_size": [[1], [1]], "step": "0 s"}, "step must be longer than nothing"),
        ({"step": "1 h"}, "requests_per_s.by_size: this key is missing"),
        ({"peak": 3}, "requests_per_s.mean: this key is missing"),
    ],
)
def test_a_load_that_cannot_be_read_says_where(load: dict[str, object], told: str) -> None:
    data = workloads(services=[service_entry(1, 1)]).model_dump(by_alias=True)
    data["services"] = [series_entry(load)]
    with pytest.raises(ConfigurationError) as caught:
        workloads_from(data, "file.yaml")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_file_gives_a_series_back() -> None:
    file = workloads(services=[series_entry({"by_size": [[1, 2], [3, 4]], "start": "2026-12-01"})])
    assert Workloads.model_validate_json(file.model_dump_json(by_alias=True)) == file
    assert isinstance(file.services[0].traffic.requests_per_s, LoadSeries)
    assert isinstance(file.services[0].traffic.requests_per_s.start, datetime)


def test_the_program_buys_for_each_step_of_a_series() -> None:
    """One node a replica of 1 request/s of either size: 3, 1 and 5 nodes for 8 h at 2 dollars."""
    box = offer("2.00")
    load = {"step": "8 h", "by_size": [[2, 1, 3], [1, 0, 2]]}
    file = workloads(services=[series_entry(load)])
    solved = optimize(case(file, [box], serving=[serving(box, [1, 1])]), Limits(0.0, 10.0))
    assert solved.total_usd == (3 + 1 + 5) * 8 * 2
