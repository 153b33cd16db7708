"""What a night is asked to do, and the instant that it stands for."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from broker.domain.errors import ConfigurationError
from broker.domain.plan import SolveSettings
from broker.planning.catalog_view import CatalogSource

Progress = Callable[[str], None]
STORE, RECORDED = "store", "recorded"


@dataclass(frozen=True, slots=True)
class NightWish:
    """How a night is to be run.

    Prices come from the store, which is refreshed first, or from the recordings or a sheet. `on` is
    the date of the night, None for today's in UTC. `again` runs one that is done once more. A dry
    run asks no provider, keeps nothing and tells nobody.
    """

    solve: SolveSettings
    recorded: bool = False
    sheet: Path | None = None
    on: date | None = None
    again: bool = False
    dry_run: bool = False

    @property
    def catalog(self) -> str:
        """Name where prices come from."""
        if self.sheet is not None:
            return f"sheet {os.path.realpath(self.sheet)}"
        return RECORDED if self.recorded else STORE

    @property
    def is_of_store(self) -> bool:
        """Tell whether prices come from the store."""
        return self.catalog == STORE

    @property
    def source(self) -> CatalogSource:
        """Give the source of prices; the store's is as it stands now."""
        return CatalogSource(recorded=self.recorded, sheet=self.sheet)

    def instant(self, now: datetime) -> datetime:
        """Give the instant of the night: now, at this hour of its date.

        Raises:
            ConfigurationError: the date is to come, and prices are to come from the store.
        """
        if self.on is None or self.on == now.date():
            return now
        if self.is_of_store and self.on > now.date():
            raise ConfigurationError(
                f"--date {self.on} is to come; today is {now.date()} (UTC)",
                hint="leave --date out to run tonight's, or name a past date to make it up",
            )
        return datetime.combine(self.on, now.timetz())

    def refreshes(self, now: datetime) -> bool:
        """Tell whether providers are asked: for tonight's prices, unless nothing may be kept."""
        is_today = self.on is None or self.on == now.date()
        return self.is_of_store and is_today and not self.dry_run
