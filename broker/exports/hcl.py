"""HCL as people write it: blocks with aligned attributes, and blocks that are only a comment."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Expression:
    """HCL that stands as it is: a reference, a condition."""

    text: str


Value: TypeAlias = "str | int | bool | Expression | Sequence[Value] | Mapping[str, Value]"
"""What an attribute may be."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block: `resource "type" "name" {...}`; `comments` stand above it.

    A block that `is_off` is written as comments.
    """

    kind: str
    labels: tuple[str, ...]
    attributes: Mapping[str, Value]
    blocks: tuple["Block", ...] = ()
    comments: tuple[str, ...] = ()
    is_off: bool = False


def hcl_text(blocks: Sequence[Block]) -> str:
    """Write blocks one after another."""
    return "\n".join("".join(f"{line}\n" for line in _block(one)) for one in blocks)


def _block(one: Block) -> Iterator[str]:
    for comment in one.comments:
        yield from (f"# {line}".rstrip() for line in comment.splitlines())
    if not one.kind:
        return
    labels = "".join(f" {_quoted(label)}" for label in one.labels)
    lines = [f"{one.kind}{labels} {{", *_body(one), "}"]
    yield from (f"# {line}" if one.is_off else line for line in lines)


def _body(one: Block) -> Iterator[str]:
    for is_long, group in groupby(_written(one.attributes), key=lambda pair: "\n" in pair[1]):
        pairs = list(group)
        room = 0 if is_long else max(len(name) for name, _ in pairs)
        for name, text in pairs:
            yield from (f"{_INDENT}{line}" for line in f"{name:<{room}} = {text}".splitlines())
    for number, inner in enumerate(one.blocks):
        if number or one.attributes:
            yield ""
        yield from (f"{_INDENT}{line}".rstrip() for line in _block(inner))


def _written(attributes: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    return ((name, _value(value)) for name, value in attributes.items())


def _value(value: Value) -> str:
    match value:
        case Expression():
            return value.text
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _quoted(value)
        case Mapping():
            return _map(value)
        case _:
            return f"[{', '.join(map(_value, value))}]"


def _map(value: Mapping[str, Value]) -> str:
    """Write a map of values of one line each."""
    if not value:
        return "{}"
    names = {name: _quoted(name) for name in value}
    room = max(map(len, names.values()))
    lines = [f"{_INDENT}{names[name]:<{room}} = {_value(one)}\n" for name, one in value.items()]
    return "{\n" + "".join(lines) + "}"


def _quoted(text: str) -> str:
    """Quote a text; no part of it is taken for a template."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped.replace("${", "$${").replace("%{", "%%{") + '"'
