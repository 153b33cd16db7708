import httpx
import pytest

from broker.domain.errors import ProviderError
from broker.domain.offer import Evidence, Offer, PriceKind
from broker.settings import Settings
from broker.specs.load import Specs
from providers.kit.recorded import recorded_client
from providers.registry import EXAMPLES, PROVIDERS, adapters
from providers.sheet.example import WARNING, ExampleContract


def test_every_row_of_the_example_is_a_contract_that_says_what_it_is(specs: Specs) -> None:
    (adapter,) = adapters(specs, Settings(keys={}), EXAMPLES)
    with recorded_client(adapter.name) as http:
        rows = list(adapter.offers_in(adapter.fetch(http)))
    offers = [row for row in rows if isinstance(row, Offer)]
    assert len(offers) == len(rows) == 3
    for offer in offers:
        assert (offer.provider, offer.price_kind) == (adapter.name, PriceKind.CONTRACT)
        assert offer.commitment is not None
        assert offer.provenance.evidence is Evidence.EXAMPLE
        assert "invented" in offer.provenance.source
        assert offer.warnings[0] == WARNING


def test_an_example_never_bears_the_name_of_who_sells(specs: Specs) -> None:
    (adapter,) = adapters(specs, Settings(keys={}), EXAMPLES)
    (reply,) = adapter.fetch(httpx.Client())
    lambdas = httpx.Response(200, text=reply.text.replace(ExampleContract.name, "lambda"))
    with pytest.raises(ProviderError, match="has a price of 'lambda'"):
        list(adapter.offers_in([lambdas]))
    assert not set(EXAMPLES) & set(PROVIDERS)
