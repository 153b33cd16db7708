"""Spot: the public feed's price of a type in a region, with the Spot Advisor's interruptions.

The feed knows no zones, though the price differs between them by a factor of five; an offer says
so in its warnings. The advisor's bucket is the share of instances that were interrupted in the
last month; a type that it does not list is unknown, which is not the lowest bucket.
"""

import re
from collections.abc import Iterator, Mapping

import httpx

from broker.domain.offer import Offer, PriceKind, Quote, Rejection, SpotTerms
from broker.specs.load import Specs
from providers.aws.feeds import SpotAdvisor, SpotFeed, SpotRegion, SpotSize
from providers.aws.machines import hardware_of_type
from providers.aws.price_list import BY_THE_SECOND
from providers.aws.wire import (
    PROVIDER,
    USD,
    Problem,
    is_accelerated,
    is_elsewhere,
    positive_usd,
    rejection,
)
from providers.kit.adapter import provenance
from providers.kit.parse import Unreadable

NOTICE_S = 120.0
"""AWS warns two minutes before it reclaims an instance."""

REGION_WIDE_PRICE = "region_wide_spot_price"

_OLD_NAMES = {
    "us-east": "us-east-1",
    "us-west": "us-west-1",
    "eu-ireland": "eu-west-1",
    "apac-sin": "ap-southeast-1",
    "apac-syd": "ap-southeast-2",
    "apac-tokyo": "ap-northeast-1",
}
_BETWEEN = re.compile(r"(\d+)-(\d+)%")
_BELOW = re.compile(r"<(\d+)%")
_ABOVE = re.compile(r">(\d+)%")
_PERCENT = 100.0
_PER_HOUR = "perhr"

Interruptions = Mapping[tuple[str, str], tuple[float, float]]
"""Share interrupted in a month, from and to, by (region, instance type)."""


def interruptions_in(advisor: SpotAdvisor) -> Interruptions:
    """Read the buckets of Linux instances by their labels."""
    buckets = {one.index: _bucket(one.label) for one in advisor.ranges}
    found = {}
    for region, systems in advisor.spot_advisor.items():
        for instance_type, entry in systems.get("Linux", {}).items():
            if isinstance(entry, Unreadable):
                continue  # unknown, as a type that is not listed
            bucket = buckets.get(entry.range_index)
            if bucket is not None:
                found[region, instance_type] = bucket
    return found


def _bucket(label: str) -> tuple[float, float] | None:
    """Read "5-10%", "<5%" or ">20%"; the feed's own upper bounds are not those of the labels."""
    if between := _BETWEEN.fullmatch(label):
        return int(between[1]) / _PERCENT, int(between[2]) / _PERCENT
    if below := _BELOW.fullmatch(label):
        return 0.0, int(below[1]) / _PERCENT
    if above := _ABOVE.fullmatch(label):
        return int(above[1]) / _PERCENT, 1.0
    return None


def offers_in_spot_feed(
    feed: SpotFeed,
    reply: httpx.Response,
    specs: Specs,
    *,
    regions: tuple[str, ...],
    interruptions: Interruptions,
) -> Iterator[Offer | Rejection]:
    """Make the spot offers of `regions`, or of all where none is named."""
    if feed.config.rate != _PER_HOUR:
        yield _rejection("all", "all", Problem("other_unit", f"the rate is {feed.config.rate!r}"))
        return
    parts = {_OLD_NAMES.get(part.region, part.region): part for part in feed.config.regions}
    for region in regions or parts:
        if is_elsewhere(region):
            continue
        if region not in parts:
            yield _rejection(region, "all", Problem("region_not_listed", "not in the spot feed"))
            continue
        for size in _sizes(parts[region]):
            if isinstance(size, Unreadable):
                yield _rejection(region, "unreadable", Problem(size.reason, size.detail))
                continue
            terms = SpotTerms(
                notice_s=NOTICE_S, monthly_interruption=interruptions.get((region, size.size))
            )
            offer = _offer(size, region, terms, reply=reply, specs=specs)
            yield _rejection(region, size.size, offer) if isinstance(offer, Problem) else offer


def _sizes(region: SpotRegion) -> Iterator[SpotSize | Unreadable]:
    for family in region.families:
        for size in family.sizes:
            if isinstance(size, Unreadable) or is_accelerated(size.size):
                yield size


def _rejection(region: str, what: str, problem: Problem) -> Rejection:
    return rejection(f"{region}/{what}@spot", problem)


def _offer(
    size: SpotSize, region: str, terms: SpotTerms, *, reply: httpx.Response, specs: Specs
) -> Offer | Problem:
    text = _linux_price(size)
    if text is None:
        return Problem("no_linux_price", "the feed has no Linux column in dollars")
    usd = positive_usd(text)
    if isinstance(usd, Problem):
        return usd
    hardware = hardware_of_type(specs, size.size)
    if isinstance(hardware, Problem):
        return hardware
    return Offer(
        provider=PROVIDER,
        instance_type=size.size,
        place=specs.place(PROVIDER, region),
        price_kind=PriceKind.SPOT,
        hardware=hardware,
        usd_per_hour=usd,
        quote=Quote(amount=usd, currency=USD),
        provenance=provenance(reply),
        billing=BY_THE_SECOND,
        spot=terms,
        warnings=(REGION_WIDE_PRICE,),
    )


def _linux_price(size: SpotSize) -> str | None:
    for value in size.values:
        if value.name == "linux":
            return value.prices.get(USD)
    return None
