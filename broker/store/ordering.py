"""Texts in one order on every database: that of their code points, as Python sorts them.

PostgreSQL sorts by the language of the database unless it is told otherwise.
"""

from typing import Any

from sqlalchemy import SQLColumnExpression
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class CodePoints(FunctionElement[str]):
    """A column of text, to order by."""

    name = "code_points"
    inherit_cache = True


def code_points(column: SQLColumnExpression[str]) -> ColumnElement[str]:
    """Order by a column of text as Python sorts it."""
    return CodePoints(column)


@compiles(CodePoints)
def _plain(element: CodePoints, compiler: SQLCompiler, **more: Any) -> str:  # noqa: ANN401 - the library's signature
    return compiler.process(element.clauses, **more)


@compiles(CodePoints, "postgresql")
def _in_postgres(element: CodePoints, compiler: SQLCompiler, **more: Any) -> str:  # noqa: ANN401 - the same
    return f'{compiler.process(element.clauses, **more)} COLLATE "C"'
