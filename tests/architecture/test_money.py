import ast
import re
from collections.abc import Iterator

MONEY = re.compile(r"(^|_)(usd|eur|price|prices|cost|amount|upfront|dollars)(_|$)")
SOLVERS_OWN = {
    "broker/planning/strategy_search.py: at_least_usd": "a bound, which is the solver's own figure",
    "broker/planning/watching.py: best_usd": "as the solver tells it while it goes on",
    "broker/planning/watching.py: bound_usd": "a bound, which is the solver's own figure",
}
RATES_NOT_MONEY = {
    "broker/domain/policy.py: price_trend_per_year",
    "broker/settings.py: max_price_change",
}

READS_NO_PRICE = {
    "broker/purchases/identity.py": "a plan has its money as text",
    "broker/settings.py": "lists of names",
    "cli/plan.py": "a plan has its money as text",
    "providers/aws/price_json.py": "names of fields",
    "providers/kit/recorded.py": "hands the numbers on as they print",
}


def annotated(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """List every annotated name: fields, variables, parameters, results of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.annotation
        elif isinstance(node, ast.arg) and node.annotation is not None:
            yield node.arg, node.annotation
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.name, node.returns


def floats_for_money(path: str, tree: ast.Module) -> set[str]:
    return {
        f"{path}: {name}"
        for name, annotation in annotated(tree)
        if MONEY.search(name)
        and any(isinstance(one, ast.Name) and one.id == "float" for one in ast.walk(annotation))
    }


def test_no_money_is_annotated_as_a_float_outside_the_solver(
    product: dict[str, ast.Module],
) -> None:
    found = {
        one
        for path, tree in product.items()
        if not path.startswith("solver/")
        for one in floats_for_money(path, tree)
    }
    assert found == SOLVERS_OWN.keys() | RATES_NOT_MONEY


def test_a_float_for_money_would_be_found() -> None:
    source = "def total_usd(rows: list[Row]) -> float: ...\nprice: float | None = None\nrate: float"
    assert floats_for_money("x", ast.parse(source)) == {"x: total_usd", "x: price"}


def test_no_price_is_read_through_a_float(product: dict[str, ast.Module]) -> None:
    """`json.loads` without `parse_float` makes floats; who calls it so reads no price."""
    without = {
        path
        for path, tree in product.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "json.loads"
        and "parse_float" not in {word.arg for word in node.keywords}
    }
    assert without == READS_NO_PRICE.keys()


def test_a_decimal_is_made_of_no_float(product: dict[str, ast.Module]) -> None:
    """A float that becomes a Decimal keeps its error; text and whole numbers have none."""
    for path, tree in product.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Decimal" and node.args:
                assert not isinstance(node.args[0], ast.BinOp), f"{path}: {ast.unparse(node)}"
                value = node.args[0]
                is_float = isinstance(value, ast.Constant) and isinstance(value.value, float)
                assert not is_float, f"{path}: {ast.unparse(node)}"
