import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_children(forked_children: None) -> None:
    """Plan in child processes that begin at once."""
