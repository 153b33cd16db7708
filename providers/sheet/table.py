"""From a file to rows of text: CSV with a header, or YAML with a list of mappings.

YAML is composed into nodes and never into Python values, so a price stays the digits that were
written and every error can name its line.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from broker.domain.errors import ConfigurationError
from providers.sheet.cells import Row
from providers.sheet.columns import DOCUMENTED, Column, read_header

_YAML = (".yaml", ".yml")
_NULLS = ("", "~", "null")


def read_table(path: Path) -> tuple[Row, ...]:
    """Read every row of a sheet as text.

    Raises:
        ConfigurationError: there is no such file, it is no CSV or YAML, or it holds no rows.
    """
    if path.suffix.lower() not in (".csv", *_YAML):
        raise ConfigurationError(
            f"{path}: a price sheet is a .csv, .yaml or .yml file", hint="save it as one of these"
        )
    return table_in(_read_text(path), path)


def table_in(text: str, path: Path) -> tuple[Row, ...]:
    """Read every row of a sheet whose text is at hand; `path` names it and tells its form.

    Raises:
        ConfigurationError: it is no CSV or YAML, or it holds no rows.
    """
    is_yaml = path.suffix.lower() in _YAML
    rows = tuple(_yaml_rows(path, text) if is_yaml else _csv_rows(path, text))
    if not rows:
        raise ConfigurationError(f"{path}: the sheet holds no rows", hint=DOCUMENTED)
    return rows


def _read_text(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as cause:
        raise ConfigurationError(
            f"{path}: there is no such file", hint="check the path of the price sheet"
        ) from cause
    except OSError as cause:
        raise ConfigurationError(
            f"{path}: the file cannot be read ({cause.strerror})", hint="check its permissions"
        ) from cause
    except UnicodeDecodeError as cause:
        line = cause.object.count(b"\n", 0, cause.start) + 1
        raise ConfigurationError(
            f"{path}, line {line}: byte 0x{cause.object[cause.start]:02x} is not UTF-8",
            hint="save the sheet with the encoding UTF-8",
        ) from cause
    if not text.strip():
        raise ConfigurationError(f"{path}: the file is empty", hint=DOCUMENTED)
    return text


def _csv_rows(path: Path, text: str) -> Iterator[Row]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(lines)]
        while header and not header[-1]:
            header.pop()
        if len(header) <= 1 and any(mark in text for mark in ";\t"):
            raise ConfigurationError(
                f"{path}: the header has no commas", hint="save the sheet with commas between cells"
            )
        columns = read_header(path, header)
        for number, cells in enumerate(lines, start=2):
            if any(cell.strip() for cell in cells):
                yield _csv_row(path, f"row {number}", columns, cells)
    except csv.Error as cause:
        raise ConfigurationError(
            f"{path}, line {lines.line_num}: this is no CSV ({cause})",
            hint="quote cells that hold commas, quotes or line breaks",
        ) from cause


def _csv_row(path: Path, where: str, columns: tuple[Column, ...], cells: list[str]) -> Row:
    extra = any(cell.strip() for cell in cells[len(columns) :])
    if len(cells) < len(columns) or extra:
        raise ConfigurationError(
            f"{path}, {where}: {len(cells)} cells, the header has {len(columns)}",
            hint="quote cells that hold commas, and end no row early",
        )
    texts = (cell.strip() for cell in cells[: len(columns)])
    return Row(
        path=path,
        where=where,
        columns={column.name: column for column in columns},
        cells={column.name: text for column, text in zip(columns, texts, strict=True)},
    )


def _yaml_rows(path: Path, text: str) -> Iterator[Row]:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as cause:
        mark = getattr(cause, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(
            f"{path}{line}: this is no YAML", hint="write a list of mappings; " + DOCUMENTED
        ) from cause
    if not isinstance(root, yaml.SequenceNode):
        raise ConfigurationError(
            f"{path}: the sheet is no list", hint="start every entry with '- provider: ...'"
        )
    entries = [_yaml_entry(path, node) for node in root.value]
    headers = dict.fromkeys(header for _, cells in entries for header in cells)
    columns = read_header(path, tuple(headers)) if entries else ()
    known = {column.header: column for column in columns}
    for where, cells in entries:
        yield Row(
            path=path,
            where=where,
            columns={column.name: column for column in columns},
            cells={known[header].name: cell for header, cell in cells.items()},
        )


def _yaml_entry(path: Path, node: yaml.Node) -> tuple[str, Mapping[str, str]]:
    where = f"line {node.start_mark.line + 1}"
    if not isinstance(node, yaml.MappingNode):
        raise ConfigurationError(
            f"{path}, {where}: this entry is no mapping", hint="write 'key: value' lines"
        )
    cells: dict[str, str] = {}
    for key, value in node.value:
        header = _yaml_text(path, key)
        if header in cells:
            raise ConfigurationError(
                f"{path}, line {key.start_mark.line + 1}: {header!r} is given twice",
                hint="keep one of them",
            )
        cells[header] = _yaml_text(path, value)
    return where, cells


def _yaml_text(path: Path, node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        text = str(node.value).strip()
        return "" if node.style is None and text.lower() in _NULLS else text
    parts = node.value if isinstance(node, yaml.SequenceNode) else ()
    if parts and all(isinstance(part, yaml.ScalarNode) for part in parts):
        return ";".join(str(part.value).strip() for part in parts)
    raise ConfigurationError(
        f"{path}, line {node.start_mark.line + 1}: a value is a text, a number or a list",
        hint=DOCUMENTED,
    )
