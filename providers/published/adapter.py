"""The adapter of a published price sheet: it reads a file of the package and asks nobody.

Some providers name their prices on a web page only. What the page said on a day lies beside this
module as a price sheet (docs/price-sheets.md), one row a machine, region and price kind, each with
its own day and address. An offer of it has the evidence `sheet` and the age of that day, so a
person sees how old it is, however often the catalog is refreshed. A row whose price is known to
move, or to have left the page, ends with `valid_until`: it is shown and no longer planned with.

To bring a sheet up to date, read the page again and write its day into the rows that it confirms.
"""

from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import Offer, Rejection
from broker.specs.load import Specs
from providers.kit.access import Access
from providers.sheet.read import read_sheet_text


class PublishedSheet:
    """Adapter for a price sheet of the package: NAME.csv; `page` is where its prices stand."""

    name: str
    page: str
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        del access  # nothing is asked, so no key is needed
        self._specs = specs

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Give the sheet as the reply of its page; `http` is not used."""
        del http
        sheet = files(__package__).joinpath(f"{self.name}.csv").read_bytes()
        yield httpx.Response(200, content=sheet, request=httpx.Request("GET", self.page))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Read the rows of the sheet.

        Raises:
            ProviderError: a row speaks of another provider.
            ConfigurationError: a cell cannot be read.
        """
        for reply in replies:
            sheet = read_sheet_text(reply.text, Path(f"{self.name}.csv"), self._specs)
            for offer in sheet.offers:
                if offer.provider != self.name:
                    raise ProviderError(
                        f"{self.name}.csv has a price of {offer.provider!r}",
                        hint="move the row to the sheet of its provider",
                    )
                yield offer
            yield from sheet.rejections
