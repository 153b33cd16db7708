"""What the GCP tests share: the tables, a reader of SKUs by hand, the rows of the recordings."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import pytest
from gcp_skus import Row, page

from broker.domain.offer import Offer, Rejection
from broker.specs.load import Specs, load_specs
from providers.gcp.adapter import GcpCloud
from providers.kit.access import Access
from providers.kit.recorded import recorded_client

Read = Callable[..., tuple[dict[str, Offer], list[Rejection]]]


@pytest.fixture(scope="session")
def specs() -> Specs:
    return load_specs()


@pytest.fixture
def read(specs: Specs) -> Read:
    """Read pages of SKUs; the offers by key, and the rejections."""

    def read_pages(
        *pages: Iterable[Row], regions: tuple[str, ...] = ()
    ) -> tuple[dict[str, Offer], list[Rejection]]:
        cloud = GcpCloud(specs, Access(regions=regions))
        rows = list(cloud.offers_in(page(one) for one in pages))
        offers = {row.key: row for row in rows if isinstance(row, Offer)}
        return offers, [row for row in rows if isinstance(row, Rejection)]

    return read_pages


@pytest.fixture(scope="session")
def recorded(specs: Specs) -> Mapping[str, Offer]:
    """Give the offers of the recordings, by key without the provider."""
    cloud = GcpCloud(specs, Access())
    with recorded_client("gcp") as http:
        rows = list(cloud.offers_in(cloud.fetch(http)))
    return {row.key.removeprefix("gcp/"): row for row in rows if isinstance(row, Offer)}


@pytest.fixture(scope="session")
def refused(specs: Specs) -> Sequence[Rejection]:
    """Give the rejections of the recordings."""
    cloud = GcpCloud(specs, Access())
    with recorded_client("gcp") as http:
        return [row for row in cloud.offers_in(cloud.fetch(http)) if isinstance(row, Rejection)]
