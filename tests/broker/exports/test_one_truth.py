"""One plan, many forms: every total in every one of them is the plan's."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from report_plans import report_plan
from rich.console import Console

from broker.domain.plan import Plan
from broker.exports.forms import export
from broker.reports.formats import Format, as_text
from broker.reports.plan_view import plan_page, plan_report

_CENT = Decimal("0.01")
_HALF_CENT = Decimal("0.005")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return report_plan()


class _Tables(HTMLParser):
    """Reads the cells of all tables, and the text of the element with the id `total`."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.total = ""
        self._in_cell = self._in_total = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in {"td", "th"}:
            self.tables[-1][-1].append("")
            self._in_cell = True
        if tag == "small":
            self._in_cell = False
        if ("id", "total") in attrs:
            self._in_total = True

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._in_cell = False
        self._in_total = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.tables[-1][-1][-1] += data
        if self._in_total:
            self.total += data


def _usd(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("*", "").strip())


def _same(rounded: Iterable[Decimal], whole: Decimal) -> bool:
    """Tell whether amounts in cents add up to a whole, each off by half a cent at most."""
    given = list(rounded)
    return abs(sum(given, Decimal(0)) - whole) <= _HALF_CENT * (len(given) + 1)


def test_the_json_adds_up(plan: Plan) -> None:
    told = json.loads(plan.model_dump_json(by_alias=True))
    lines = sum(Decimal(line["usd"]) for line in told["cost_lines"])
    assert lines == Decimal(told["total_usd"]) == plan.total_usd


def test_the_table_shows_the_total_and_parts_that_add_up_to_it(plan: Plan) -> None:
    out = io.StringIO()
    Console(file=out, width=120).print(plan_page(plan))
    text = out.getvalue()
    total = re.search(r"^Total +([\d,.]+)", text, re.MULTILINE)
    assert total
    assert _usd(total[1]) == plan.total_usd.quantize(_CENT)
    parts = text.split("What it costs")[1].split("cash due")[0]
    amounts = [_usd(one) for one in re.findall(r"([\d,]+\.\d\d) +[\d.]+%", parts)]
    assert _same(amounts, plan.total_usd)


def test_the_csv_of_the_plan_has_the_purchases_and_the_total(plan: Plan) -> None:
    rows = list(csv.DictReader(io.StringIO(as_text(plan_report(plan), Format.CSV))))
    assert sum(Decimal(row["usd"]) for row in rows) == sum(one.usd for one in plan.purchases)
    facts = json.loads(as_text(plan_report(plan), Format.JSON), parse_float=Decimal)
    assert facts["total_usd"] == plan.total_usd


def test_the_spreadsheet_adds_up_to_the_micro_dollar(plan: Plan) -> None:
    rows = list(csv.DictReader(io.StringIO(export(plan, "csv")[0].text, newline="")))
    assert sum(Decimal(row["usd"]) for row in rows) == plan.total_usd
    weeks = [Decimal(usd) for row in rows for name, usd in row.items() if "usd_week_" in name]
    assert sum(weeks) == plan.total_usd
    for name in ("upfront_usd", "later_usd"):
        told = sum(Decimal(row[name]) for row in rows if row[name])
        assert told == sum(getattr(one, name) for one in plan.purchases)


def test_the_page_shows_the_total_and_tables_that_add_up_to_it(plan: Plan) -> None:
    page = _Tables()
    page.feed(export(plan, "html")[0].text)
    assert _usd(page.total) == plan.total_usd.quantize(_CENT)
    summed = [table for table in page.tables if any(row[0].strip() == "total" for row in table)]
    assert len(summed) == 4  # purchases, by part, by kind, by week
    for table in summed:
        from_end = table[0].index("USD") - len(table[0])
        *parts, total = [row[from_end] for row in table[1:]]
        assert _usd(total) == plan.total_usd.quantize(_CENT)
        assert _same((_usd(part) for part in parts), plan.total_usd)


def test_the_bars_by_provider_add_up_to_the_total(plan: Plan) -> None:
    chart = export(plan, "html")[0].text.split('id="by-provider-t"')[1].split("</svg>")[0]
    amounts = [_usd(one) for one in re.findall(r">([\d,]+\.\d\d) \(\d+%\)<", chart)]
    assert len(amounts) == 3  # owned nodes are paid to nobody
    assert _same(amounts, plan.total_usd)


def test_the_markdown_shows_the_total_and_tables_that_add_up_to_it(plan: Plan) -> None:
    text = export(plan, "markdown")[0].text
    total = re.search(r"\| total \| \*\*([\d,.]+) USD\*\*", text)
    assert total
    assert _usd(total[1]) == plan.total_usd.quantize(_CENT)
    tables = list(_share_tables(text))
    assert len(tables) == 4  # by part, kind, provider and week
    for *parts, whole in tables:
        assert whole == plan.total_usd.quantize(_CENT)
        assert _same(parts, plan.total_usd)


def _share_tables(text: str) -> Iterator[list[Decimal]]:
    _, _, after = text.partition("## What it costs")
    costs, _, _ = after.partition("## Compared")
    for table in costs.strip().split("\n\n"):
        yield [_usd(line.split(" | ")[1]) for line in table.splitlines()[2:]]


@pytest.mark.parametrize("form", ["focus", "focus-1.2"])
def test_the_bill_costs_what_the_plan_costs(form: str, plan: Plan) -> None:
    files = export(plan, form)
    rows = [
        row
        for file in files
        if file.name.endswith(".csv")
        for row in csv.DictReader(io.StringIO(file.text, newline=""))
    ]
    assert sum(Decimal(row["EffectiveCost"]) for row in rows) == plan.total_usd
