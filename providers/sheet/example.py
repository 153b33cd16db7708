"""An example of a contract: a price sheet that shows what private quotes look like.

Contract prices are private: no provider can be asked for them, and no reply of one can be recorded.
So that the recordings have that price kind too, `fixtures/sheet/example-contract.csv` goes with
them, read like every price sheet. It is composed by hand, its prices are invented, and nobody sells
at them: each offer has the evidence `example` and a warning, and no plan uses it unless
`policy.providers.allow` names it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Offer, Rejection
from broker.specs.load import Specs
from providers.kit.access import Access
from providers.kit.recorded import recorded_file
from providers.sheet.read import read_sheet_text

WARNING = "an example of a contract: its price is invented, nobody sells at it"

_FILE = "example-contract.csv"
_URL = f"file:///fixtures/sheet/{_FILE}"


class ExampleContract:
    """Adapter for the example; only recordings have it."""

    name = "example-contract"
    keys: tuple[str, ...] = ()

    def __init__(self, specs: Specs, access: Access) -> None:
        del access  # nothing is asked, so no key is needed
        self._specs = specs

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Give the sheet; `http` is not used."""
        del http
        sheet = recorded_file("sheet", _FILE)
        yield httpx.Response(200, content=sheet, request=httpx.Request("GET", _URL))

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Read the rows, and mark each offer as an example.

        Raises:
            ProviderError: a row bears the name of somebody who might sell.
            ConfigurationError: a cell cannot be read.
        """
        for reply in replies:
            sheet = read_sheet_text(reply.text, Path(_FILE), self._specs)
            for offer in sheet.offers:
                if offer.provider != self.name:
                    raise ProviderError(
                        f"{_FILE} has a price of {offer.provider!r}",
                        hint=f"an example bears no name but {self.name!r}",
                    )
                yield _as_example(offer)
            yield from sheet.rejections


def _as_example(offer: Offer) -> Offer:
    seen = offer.provenance.model_copy(update={"evidence": Evidence.EXAMPLE})
    return offer.model_copy(update={"provenance": seen, "warnings": (WARNING, *offer.warnings)})
