"""Constants of an installed module, read from its text: importing it may need a cloud's own SDK."""

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path


@cache
def text_of(package: str, path: str) -> ast.Module:
    """Parse one file of an installed package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed")
    return ast.parse((Path(spec.origin).parent / path).read_text(encoding="utf-8"))


def constant(package: str, path: str, name: str) -> object:
    """Read what a module sets a name to, where it is written out, in frozenset() too.

    Raises:
        SystemExit: the package no longer has it.
    """
    for node in text_of(package, path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            value = node.value  # type: ignore[union-attr]  # both kinds of assignment have one
            return ast.literal_eval(value.args[0] if isinstance(value, ast.Call) else value)
    raise SystemExit(f"{package}/{path} has no {name}: look up where its regions are now")


@cache
def bases(package: str, path: str) -> set[str]:
    """Name the base classes of all classes of a module."""
    classes = [node for node in ast.walk(text_of(package, path)) if isinstance(node, ast.ClassDef)]
    return {base.id for one in classes for base in one.bases if isinstance(base, ast.Name)}
