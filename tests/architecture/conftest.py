import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def product() -> dict[str, ast.Module]:
    """Give the syntax tree of every module of the product, by its path."""
    return _trees("broker", "providers", "solver", "cli")


@pytest.fixture(scope="session")
def everything(product: dict[str, ast.Module]) -> dict[str, ast.Module]:
    """Give those of the tools and tests, too."""
    return {**product, **_trees("tools", "tests")}


def _trees(*folders: str) -> dict[str, ast.Module]:
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths
    }
