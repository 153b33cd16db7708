"""The adapter for Prime Intellect's list of machines."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import httpx

from broker.domain.errors import ProviderError
from broker.domain.offer import (
    UNKNOWN_REGION,
    Billing,
    Hardware,
    Limits,
    Offer,
    PriceKind,
    Quote,
    Rejection,
    SpotTerms,
    Virtualization,
)
from broker.specs.load import Specs, Unresolved
from providers.kit.access import API_KEY, Access
from providers.kit.adapter import provenance
from providers.kit.doors import Door, place_near, read_doors, sold_singly, type_of_shape
from providers.kit.duplicates import cheapest
from providers.kit.gpus import gpu_of
from providers.kit.parse import Unreadable, parse
from providers.primeintellect.wire import Machine, Page

URL = "https://api.primeintellect.ai/api/v1/availability/gpus"
PAGE_ROWS = 100
ATTEMPTS = 3
"""How often a page is asked for while it is empty."""

_TIERS = {"secure_cloud": "secure", "community_cloud": "community"}
_SOLD_OUT = ("unavailable", "out of stock", "out_of_stock")


class PrimeIntellect:
    """Adapter for Prime Intellect's list of machines."""

    name = "primeintellect"
    keys: tuple[str, ...] = (API_KEY,)

    def __init__(self, specs: Specs, access: Access) -> None:
        self._specs = specs
        self._access = access
        self._doors = read_doors(specs.providers)

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        """Ask for every page.

        Raises:
            ProviderError: a page that should have rows is empty each time it is asked for.
        """
        page, seen, total = 1, 0, 1
        while seen < total:
            reply = self._page(http, page, seen)
            found = parse(Page, reply)
            yield reply
            page, seen, total = page + 1, seen + len(found.items), found.total_count

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        """Make an offer of each machine in stock; of two that are the same, the cheaper."""
        yield from cheapest(
            self._offer(row, reply) for reply in replies for row in parse(Page, reply).items
        )

    def _page(self, http: httpx.Client, page: int, seen: int) -> httpx.Response:
        """Ask for a page until it has rows, or says that those seen are all there are."""
        params = {"page": str(page), "page_size": str(PAGE_ROWS)}
        for _ in range(ATTEMPTS):
            reply = http.get(URL, params=params, headers=self._access.bearer())
            found = parse(Page, reply)
            if found.items or 0 < found.total_count <= seen:
                return reply
        raise ProviderError(
            f"page {page} of Prime Intellect's list is empty, which it is by mistake at times",
            hint="try again; the offers of the last refresh are kept",
        )

    def _offer(self, row: Machine | Unreadable, reply: httpx.Response) -> Offer | Rejection:
        if isinstance(row, Unreadable):
            return self._rejection("a machine", row.reason, row.detail)
        if refused := _refused(row):
            return self._rejection(row.name, refused.reason, refused.detail)
        region = row.data_center or row.country or UNKNOWN_REGION
        door = self._doors.behind(self.name, row.provider, region)
        gpu = self._gpu(row, door)
        if isinstance(gpu, Unresolved):
            return self._rejection(row.name, gpu.reason, gpu.detail)
        cloud_type = self._cloud_type(row, door, gpu)
        parts = row.components
        usd_per_hour = parts.gpus_usd + parts.host_usd + parts.disk_usd
        return Offer(
            provider=self.name,
            instance_type=row.name,
            place=place_near(self._specs, door.operator, region, row.country or ""),
            price_kind=row.kind,
            hardware=self._hardware(row, door, gpu, cloud_type),
            usd_per_hour=usd_per_hour,
            quote=Quote(amount=usd_per_hour, currency="USD"),
            provenance=provenance(reply),
            tier=_TIERS.get(row.security or "", row.security or ""),
            operator=door.operator,
            components=parts if usd_per_hour > parts.gpus_usd else None,
            billing=Billing(prepaid=True if row.prepaid_time else None),
            spot=SpotTerms() if row.kind is PriceKind.SPOT else None,
            limits=Limits(
                stock_level=(row.stock_status or "").lower() or None,
                stock_pool=door.pool(cloud_type, tier=_cloud_tier(row)),
            ),
            warnings=tuple(_warnings(row, door)),
        )

    def _gpu(self, row: Machine, door: Door) -> str | Unresolved:
        """Read the GPU off the cloud's own type, then off the model and its socket."""
        known = self._specs.node(door.operator, row.cloud_type)
        model = (f"{row.gpu_type} {row.socket or ''}", row.gpu_type)
        return gpu_of(
            self._specs,
            model if known else (row.cloud_type, *model),
            known=known,
            gpu_count=Fraction(row.gpu_count),
            memory_gib=row.gpu_memory_gb,
            provider=self.name,
        )

    def _cloud_type(self, row: Machine, door: Door, gpu: str) -> str:
        """Give the type's name at its cloud; empty where it cannot be told."""
        match row.provider:
            case "runpod":
                return f"{row.gpu_count}x {row.cloud_type}"
            case "oblivus":
                return type_of_shape(
                    self._specs,
                    door.operator,
                    gpu=gpu,
                    gpu_count=Fraction(row.gpu_count),
                    vcpus=row.vcpu.count if row.vcpu else None,
                    host_memory_gib=row.memory.count if row.memory else None,
                )
            case _:
                return row.cloud_type

    def _hardware(self, row: Machine, door: Door, gpu: str, cloud_type: str) -> Hardware:
        hardware = self._specs.hardware(
            door.operator,
            cloud_type,
            gpu=gpu,
            gpu_count=Fraction(row.gpu_count),
            vcpus=row.vcpu.count if row.vcpu else None,
            host_memory_gib=row.memory.count if row.memory else None,
            virtualization=Virtualization.CONTAINER if row.is_pod else Virtualization.UNKNOWN,
        )
        return sold_singly(hardware)

    def _rejection(self, subject: str, reason: str, detail: str) -> Rejection:
        return Rejection(provider=self.name, subject=subject, reason=reason, detail=detail)


def _refused(row: Machine) -> Unresolved | None:
    """Say why a row is no offer, whatever its GPU is."""
    if row.gpu_count < 1 or row.gpu_type == "CPU_NODE":
        return Unresolved("not_a_gpu", f"{row.gpu_count} of {row.gpu_type}")
    if (row.stock_status or "").lower() in _SOLD_OUT:
        return Unresolved("no_capacity", f"stock is {row.stock_status}")
    if row.prices.currency.upper() != "USD":
        return Unresolved("unknown_currency", f"priced in {row.prices.currency}")
    if row.components.gpus_usd <= 0:
        return Unresolved("no_price", f"{row.kind} {row.components.gpus_usd}")
    return None


def _cloud_tier(row: Machine) -> str:
    """Name the class of service as the cloud itself does: only RunPod has any."""
    return _TIERS.get(row.security or "", "") if row.is_pod else ""


def _warnings(row: Machine, door: Door) -> Iterator[str]:
    if door.inferred:
        yield f"taken for a machine of {door.operator}, as names or figures are the same"
    if row.is_pod and row.disk and row.disk.extra_usd:
        yield f"{row.disk.default_count} GB of disk are taken to be in the price; more is extra"
    if row.prices.is_variable:
        yield "the price is variable: it may change with what is chosen, or with time"
    if row.prepaid_time:
        yield f"is paid ahead, prepaid time {row.prepaid_time} (in no documented unit)"
