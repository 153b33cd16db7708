"""A plan as a command names it: a file, or the hash of one that is kept."""

import re
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.plan import Plan
from broker.planning.plans import read_plan
from broker.purchases.plan_book import PlanBook
from broker.settings import Settings
from broker.store.database import open_store
from broker.store.place import has_store

_HASH = re.compile(r"[0-9a-f]{8,64}")


def is_hash(given: Path) -> bool:
    """Tell whether a kept plan is meant: no file is there, and it reads as the start of a hash."""
    return _HASH.fullmatch(str(given)) is not None and not given.exists()


def given_plan(given: Path, settings: Settings) -> Plan:
    """Read a plan file, or a kept plan by the first eight digits of its hash, or more.

    Raises:
        ConfigurationError: there is no such file or plan, or the database cannot be used.
    """
    if not is_hash(given):
        return read_plan(given)
    if not has_store(settings):  # looking for what is known makes no database
        raise ConfigurationError(
            f"no kept plans begin with {str(given)!r}",
            hint="a night keeps its plan, and so does approving one; a file needs its path",
        )
    return PlanBook(open_store(settings)).plan(str(given))
