"""The feed behind AWS's on-demand page: plain Linux machines of one location, some 60 kB.

It holds what the price file of a region holds in some hundred rows of half a million: shared
tenancy, no capacity block, no reservation. It names no SKU and no GPU, and its date is that of the
whole feed.
"""

from collections.abc import Iterator

import httpx

from providers.aws.feeds import FeedManifest, FeedRow, PageFeed, parse_feed
from providers.aws.wire import HOURLY, PriceRow, Product, is_accelerated
from providers.kit.parse import Unreadable


def accelerated_rows(reply: httpx.Response, region: str) -> Iterator[PriceRow | Unreadable]:
    """Read the rows of types with accelerators, as those of `region`.

    Raises:
        ProviderError: the feed has another form.
    """
    feed = parse_feed(PageFeed, reply)
    for rows in feed.regions.values():
        for row in rows.values():
            if isinstance(row, Unreadable):
                yield row
            elif is_accelerated(row.instance_type, row.instance_family):
                yield _price_row(row, feed.manifest, region)


def _price_row(row: FeedRow, manifest: FeedManifest, region: str) -> PriceRow:
    sku, _, term = row.rate_code.partition(".")
    product = Product(
        sku=sku,
        family="Compute Instance",
        region=region,
        location_type="AWS Region",
        instance_type=row.instance_type,
        instance_family=row.instance_family,
        vcpus=row.vcpus,
        memory=row.memory,
        storage=row.storage,
        gpus="",
        gpu_memory="",
        tenancy="Shared",
        operating_system=row.operating_system,
        licence=row.licence,
        preinstalled=row.preinstalled,
        operation="RunInstances",
        capacity_status="Used",
        market_option="OnDemand",
    )
    return PriceRow(
        product=product,
        term_type="OnDemand",
        offer_term_code=term.partition(".")[0],
        effective_date=manifest.published_at,
        starting_range="",
        ending_range="",
        unit=HOURLY,
        price=row.price,
        currency=manifest.currency,
        lease="",
        purchase_option="",
        offering_class="",
    )
