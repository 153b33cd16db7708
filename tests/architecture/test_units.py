import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

import broker.domain

PAGE = Path(__file__).parents[2] / "docs" / "units.md"
NUMBERS = (int, float, Decimal, Fraction)


def table(heading: str) -> dict[str, str]:
    """Read the two columns of the table under a heading of docs/units.md."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].split("\n## ")[0]
    return dict(re.findall(r"^\| `(.+?)` \| (.+?) \|$", section, flags=re.MULTILINE))


def classes() -> Iterator[type]:
    for module in pkgutil.iter_modules(broker.domain.__path__, "broker.domain."):
        found = importlib.import_module(module.name)
        for one in vars(found).values():
            is_own = isinstance(one, type) and one.__module__ == module.name
            if is_own and (issubclass(one, BaseModel) or is_dataclass(one)):
                yield one


def numbers() -> Iterator[tuple[str, str, object]]:
    """List the numeric fields of the domain: class, field, annotation."""
    for one in classes():
        for name, hint in get_type_hints(one).items():
            if name in getattr(one, "__annotations__", {}) and is_numeric(hint):
                yield one.__name__, name, hint


def is_numeric(hint: object) -> bool:
    """Tell a number, also one that may be unknown, and a tuple or mapping of numbers."""
    if hint in NUMBERS:
        return True
    inner = [one for one in get_args(hint) if not _is_no_number(one)]
    return bool(inner) and all(is_numeric(one) for one in inner)


def _is_no_number(hint: object) -> bool:
    """Pass over what may stand beside a number: None, text, a word such as `auto`."""
    return hint in (type(None), Ellipsis, str) or get_origin(hint) is Literal


def has_unit(name: str, suffixes: dict[str, str], counts: dict[str, str]) -> bool:
    return any(name == one or name.endswith(f"_{one}") for one in (*suffixes, *counts))


def test_the_page_of_units_is_read() -> None:
    assert {"usd", "gib", "tokens_per_s"} <= table("Suffixes").keys()
    assert {"nodes", "gpus"} <= table("Counts").keys()
    assert "Quote.amount" in table("Names without a unit")


def test_every_number_of_the_domain_says_its_unit() -> None:
    suffixes, counts = table("Suffixes"), table("Counts")
    exceptions = table("Names without a unit")
    found = [(owner, name) for owner, name, _ in numbers()]
    assert len(found) > 80
    without = {f"{owner}.{name}" for owner, name in found if not has_unit(name, suffixes, counts)}
    assert without == exceptions.keys()


def test_every_suffix_and_count_on_the_page_is_used() -> None:
    names = [name for _, name, _ in numbers()]
    for one in (*table("Suffixes"), *table("Counts")):
        assert any(name == one or name.endswith(f"_{one}") for name in names), one


def test_dollars_in_the_domain_are_decimals() -> None:
    dollars = [(owner, name, hint) for owner, name, hint in numbers() if "usd" in name.split("_")]
    assert len(dollars) > 10
    for owner, name, hint in dollars:
        kinds = {one for one in (hint, *get_args(hint)) if one in NUMBERS}
        assert kinds == {Decimal}, f"{owner}.{name}"


@pytest.mark.parametrize(
    ("name", "says"),
    [("memory_gib", True), ("memory", False), ("nodes", True), ("subnodes", False)],
)
def test_a_name_says_its_unit_at_its_end(name: str, says: bool) -> None:  # noqa: FBT001 - a table
    assert has_unit(name, table("Suffixes"), table("Counts")) is says
