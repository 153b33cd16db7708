"""What is rented by the day alone does not look as if it were rented throughout."""

import csv
import io
from functools import lru_cache

from rich.console import Console
from solving import assembled, solved
from tiny_cases import case, offer, service_entry, serving, workloads

from broker.domain.plan import Plan
from broker.exports import markdown, spreadsheet
from broker.exports.html.page import export as html
from broker.reports.plan_rows import buy_rows, work_rows
from broker.reports.plan_view import plan_page

BOX = offer("2")
UP = "up 16 of 32 h"
"""From 08:00 to 16:00 of each of two days."""


@lru_cache(maxsize=1)
def by_day() -> Plan:
    load = {"requests_per_s": {"step": "8 h", "by_size": [[0.0, 2.0, 0.0]]}}
    file = workloads(services=[service_entry(1, 1, traffic=load, min_replicas=0)], days=2)
    of = case(file, [BOX], serving=[serving(BOX, [1])])
    return assembled(of, solved(of))


def test_rows_count_the_hours_and_none_of_the_pause() -> None:
    (row,) = buy_rows(by_day())
    assert (row.fewest_nodes, row.most_nodes, row.up_h) == (0, 2, 16)
    (work,) = work_rows(by_day())
    assert (work.fewest, work.most) == (0, 2)


def test_reports_for_people_say_for_how_much_of_the_time_nodes_are_rented() -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(plan_page(by_day()))
    (md,) = markdown.export(by_day())
    for text in (console.export_text(), md.text, html(by_day())[0].text):
        assert UP in text
        assert "0–2" in text


def test_a_spreadsheet_has_the_hours() -> None:
    (file,) = spreadsheet.export(by_day())
    row = next(csv.DictReader(io.StringIO(file.text)))
    assert (row["fewest_nodes"], row["most_nodes"], row["up_h"]) == ("0", "2", "16.0")


def test_nothing_is_said_of_what_is_rented_throughout() -> None:
    file = workloads(services=[service_entry(1, 1)])
    of = case(file, [BOX], serving=[serving(BOX, [1])])
    plan = assembled(of, solved(of))
    (row,) = buy_rows(plan)
    assert (row.fewest_nodes, row.most_nodes, row.up_h) == (1, 1, 24)
    assert "up " not in markdown.export(plan)[0].text
