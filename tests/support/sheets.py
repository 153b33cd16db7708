"""Price sheets for tests: written into a folder of the test, and read back."""

from datetime import datetime
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer
from broker.specs.load import Specs
from providers.sheet.read import SheetReading, read_sheet

LISTED = (
    "provider,instance_type,gpu_name,gpu_count,gpu_memory_gib,region,zone,"
    "on_demand_usd_h,spot_usd_h,source,commit_or_date,price_basis,note"
)
QUOTED = (
    "provider,instance_type,gpu_name,gpu_count,region,price,currency,price_kind,"
    "term_months,payment,upfront,price_basis,observed_on,max_nodes"
)


class Sheets:
    """Writes a sheet and reads it."""

    def __init__(self, folder: Path, specs: Specs) -> None:
        self._folder = folder
        self._specs = specs

    def read(
        self, text: str, *, name: str = "sheet.csv", as_of: datetime | None = None
    ) -> SheetReading:
        path = self._folder / name
        path.write_text(text, encoding="utf-8")
        return read_sheet(path, self._specs, as_of=as_of)

    def listed(self, *rows: str) -> SheetReading:
        return self.read("\n".join([LISTED, *rows]))

    def quoted(self, *rows: str) -> SheetReading:
        return self.read("\n".join([QUOTED, *rows]))

    def error(self, text: str, *, name: str = "sheet.csv") -> ConfigurationError:
        with pytest.raises(ConfigurationError) as caught:
            self.read(text, name=name)
        return caught.value


def only(reading: SheetReading) -> Offer:
    """Give the one offer of a sheet."""
    (offer,) = reading.offers
    return offer


def reasons(reading: SheetReading) -> list[str]:
    return [rejection.reason for rejection in reading.rejections]
