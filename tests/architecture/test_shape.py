import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 400
LONGEST_FUNCTION = 40
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function, path: str) -> int:
    """Count its lines; a command's options are its parameters, so there they do not count."""
    first = function.body[0].lineno if path.startswith("cli/") else function.lineno
    return (function.end_lineno or first) - first + 1


def test_a_file_reads_in_one_sitting(everything: dict[str, ast.Module]) -> None:
    lines = {path: (ROOT / path).read_text(encoding="utf-8").count("\n") for path in everything}
    assert {path: count for path, count in lines.items() if count > LONGEST_FILE} == {}


def test_a_function_fits_a_screen(everything: dict[str, ast.Module]) -> None:
    """Those of tests may be one long literal: a case, a table."""
    assert {
        f"{path}: {one.name}": length(one, path)
        for path, tree in everything.items()
        for one in functions(tree)
        if length(one, path) > LONGEST_FUNCTION and not path.startswith("tests/")
    } == {}


def test_most_functions_are_short(product: dict[str, ast.Module]) -> None:
    lengths = [length(one, path) for path, tree in product.items() for one in functions(tree)]
    assert sum(count < 25 for count in lengths) > 0.9 * len(lengths)


def test_what_is_public_has_a_docstring(product: dict[str, ast.Module]) -> None:
    bare = [path for path, tree in product.items() if not ast.get_docstring(tree)]
    bare += [
        f"{path}: {name}"
        for path, tree in product.items()
        if "/migrations/" not in path  # the steps of a migration are named by its framework
        for name, node in public(tree)
        if not ast.get_docstring(node)
    ]
    assert bare == []


def public(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from (
                    (f"{node.name}.{one.name}", one)
                    for one in node.body
                    if isinstance(one, Function) and not one.name.startswith("_")
                )


def test_a_docstring_begins_with_one_sentence(product: dict[str, ast.Module]) -> None:
    for path, tree in product.items():
        for name, node in public(tree) if "/migrations/" not in path else ():
            first = (ast.get_docstring(node) or "").split("\n\n")[0]
            assert first.endswith((".", "?")), f"{path}: {name}"


def test_an_init_holds_a_docstring_and_at_most_one_list(product: dict[str, ast.Module]) -> None:
    for path, tree in product.items():
        if path.endswith("__init__.py"):
            kept = [one for one in tree.body[1:] if not isinstance(one, ast.ImportFrom)]
            assert len(kept) <= 1, path
            imports = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
            assert bool(imports) <= bool(kept), f"{path} re-exports"


def test_no_module_is_called_utils(everything: dict[str, ast.Module]) -> None:
    assert [path for path in everything if Path(path).stem in ("utils", "helpers", "common")] == []


def test_the_lock_names_no_index_and_pins_every_hash() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    pins = [line for line in lock.splitlines() if "==" in line and not line.startswith(" ")]
    assert len(pins) > 40
    assert [line for line in pins if not line.endswith("\\")] == []
