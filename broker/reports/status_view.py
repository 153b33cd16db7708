"""What is shown of the catalog's coverage: by provider, by GPU, or both, and by price kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from broker.reports import words
from broker.reports.formats import Column, Plain, Report, RowT
from broker.reports.layout import Fit
from broker.reports.rows import CoverageRow, KindRow, StatusRow

_Covered = TypeVar("_Covered", CoverageRow, StatusRow)
_EXAMPLE = "example"
_KINDS = ("on_demand", "spot", "reserved", "savings_plan", "capacity_block", "contract", "owned")


@dataclass(frozen=True, slots=True)
class Line:
    """Cells of the matrix on one line of a table, and what it is of."""

    name: str
    of: str
    cells: tuple[CoverageRow, ...]


def coverage_report(
    cells: tuple[CoverageRow, ...],
    providers: tuple[StatusRow, ...],
    kinds: tuple[KindRow, ...],
    *,
    facts: Mapping[str, Plain],
) -> Report[CoverageRow]:
    """Write the whole matrix for a machine, the providers and the price kinds beside it."""
    return Report(
        schema="gpubroker.status/1",
        name="coverage",
        row_type=CoverageRow,
        rows=cells,
        columns=(),
        facts=facts,
        beside={"providers": providers, "price_kinds": kinds},
    )


def providers_table(
    providers: tuple[StatusRow, ...], cells: Sequence[CoverageRow]
) -> Report[StatusRow]:
    """Show each provider: offers by price kind, what is held or stale, the oldest, the last run."""
    cells = _sold(cells)
    columns = (
        Column[StatusRow]("provider", lambda row: row.provider),
        *(_kind_count(kind) for kind in _kinds(cells)),
        Column[StatusRow]("held", lambda row: _count(sum(row.quarantined.values())), "right"),
        Column[StatusRow]("stale", lambda row: _count(row.stale), "right", spare=1),
        Column[StatusRow]("oldest", lambda row: _oldest(row.oldest_age_h, row.stale), "right"),
        Column[StatusRow]("newest", lambda row: words.age(row.newest_age_h), "right", spare=4),
        Column[StatusRow](
            "rejected", lambda row: _count(sum(row.rejected.values())), "right", spare=3
        ),
        Column[StatusRow]("last run", lambda row: row.last_run.replace("_", " "), spare=2),
    )
    return _table(StatusRow, _sold(providers), columns)


def kinds_table(kinds: tuple[KindRow, ...]) -> Report[KindRow]:
    """Show each price kind: its offers, by how many it is sold, how providers call it."""
    columns = (
        Column[KindRow]("price kind", lambda row: _heading(row.price_kind)),
        Column[KindRow]("offers", lambda row: _count(row.offers), "right"),
        Column[KindRow]("by", lambda row: _count(row.sellers), "right"),
        Column[KindRow]("what is so called, or counts as it", _called, fit=Fit.WRAP),
    )
    return _table(KindRow, kinds, columns)


def gpus_table(cells: Sequence[CoverageRow]) -> Report[Line]:
    """Show each GPU model: by how many it is sold, offers by price kind, held ones, the oldest."""
    cells = _sold(cells)
    lines = _grouped(cells, lambda cell: (cell.gpu, ""))
    columns = (
        Column[Line]("GPU", lambda line: line.name),
        Column[Line]("by", lambda line: _count(len(_sellers(line))), "right"),
        *(_line_count(kind) for kind in _kinds(cells)),
        Column[Line]("held", lambda line: _count(_held(line.cells)), "right"),
        Column[Line]("stale", lambda line: _count(_stale(line.cells)), "right", spare=1),
        Column[Line]("oldest", lambda line: _oldest_of(line.cells), "right"),
    )
    return _table(Line, lines, columns)


def matrix_table(cells: Sequence[CoverageRow]) -> Report[Line]:
    """Show each GPU model of each provider: offers by price kind, and the oldest of each kind."""
    cells = _sold(cells)
    lines = _grouped(cells, lambda cell: (cell.gpu, cell.provider))
    columns = (
        Column[Line]("GPU", lambda line: line.name),
        Column[Line]("provider", lambda line: line.of),
        *(_line_count(kind, aged=True) for kind in _kinds(cells)),
        Column[Line]("held", lambda line: _count(_held(line.cells)), "right"),
    )
    return _table(Line, lines, columns)


def _called(row: KindRow) -> str:
    said = ", ".join(row.called)
    if not row.examples:
        return said
    which = "all of these are examples" if row.examples == row.offers else "some are examples"
    return f"{said}; {which}, which nobody sells"


def _sold(rows: Sequence[_Covered]) -> tuple[_Covered, ...]:
    """Leave out what has nothing but examples, unless that is all there is."""
    sold = tuple(row for row in rows if set(row.evidence) != {_EXAMPLE})
    return sold or tuple(rows)


def _table(
    row_type: type[RowT], rows: tuple[RowT, ...], columns: tuple[Column[RowT], ...]
) -> Report[RowT]:
    return Report("gpubroker.status/1", "rows", row_type, rows, columns, {})


def _grouped(
    cells: Iterable[CoverageRow], name: Callable[[CoverageRow], tuple[str, str]]
) -> tuple[Line, ...]:
    found: dict[tuple[str, str], list[CoverageRow]] = {}
    for cell in cells:
        found.setdefault(name(cell), []).append(cell)
    return tuple(Line(*names, tuple(of)) for names, of in sorted(found.items()))


def _kinds(cells: Iterable[CoverageRow]) -> tuple[str, ...]:
    sold = {cell.price_kind for cell in cells}
    return tuple(kind for kind in _KINDS if kind in sold)


def _kind_count(kind: str) -> Column[StatusRow]:
    return Column(_heading(kind), lambda row: _count(row.price_kinds.get(kind, 0)), "right")


def _line_count(kind: str, *, aged: bool = False) -> Column[Line]:
    def text(line: Line) -> str:
        of = [cell for cell in line.cells if cell.price_kind == kind and cell.offers]
        count = _count(sum(cell.offers for cell in of))
        return f"{count} {_oldest_of(of)}" if aged and of else count

    return Column(_heading(kind), text, "right")


def _heading(kind: str) -> str:
    return words.price_kind(kind, None, None)


def _sellers(line: Line) -> set[str]:
    return {cell.provider for cell in line.cells if cell.offers}


def _held(cells: Iterable[CoverageRow]) -> int:
    held = Counter[str]()
    for cell in cells:
        held.update(cell.quarantined)
    return held.total()


def _stale(cells: Iterable[CoverageRow]) -> int:
    return sum(cell.stale for cell in cells)


def _oldest_of(cells: Iterable[CoverageRow]) -> str:
    of = tuple(cells)
    ages = [cell.oldest_age_h for cell in of if cell.oldest_age_h is not None]
    return _oldest(max(ages, default=None), _stale(of))


def _oldest(age_h: float | None, stale: int) -> str:
    """Show the age of the oldest, with a mark if any is too old to plan with."""
    return words.age(age_h) + ("!" if stale else "")


def _count(number: int) -> str:
    """Show a count; a matrix with a zero in every other cell is hard to read."""
    return f"{number:,}" if number else "·"
