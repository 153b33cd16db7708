"""Recorded offers whose prices move as the market did: one catalog for each day of a history.

The history has the median price of a GPU at a provider on each day. A recorded offer of the same
provider, GPU and price kind costs what it was recorded at, times what that median is to the
history's first day.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from statistics import median

import httpx

from broker.domain.offer import Evidence, Offer, Rejection
from broker.domain.quantities import quantize_usd
from broker.planning.service import PlanningService
from providers.kit.adapter import Adapter, provenance, stamp
from providers.registry import adapters

Name = tuple[str, str, str]
"""Provider, GPU model and price kind."""

_GPUS = {
    "L40S": "L40S",
    "A100_SXM_80GB": "A100-80-SXM",
    "A100_PCIE_80GB": "A100-80-PCIe",
    "H100_SXM": "H100-SXM",
    "H100_PCIE": "H100-PCIe",
    "H200": "H200-SXM",
}
_HOUR = time(3, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class History:
    """The price of each name on each day, as a factor of the first day's; gaps are filled."""

    days: tuple[date, ...]
    factors: Mapping[Name, Sequence[Decimal]]


def read_history(path: Path, first: date, days: int) -> History:
    """Read so many days of price moves of single GPUs."""
    prices: dict[Name, dict[date, list[Decimal]]] = defaultdict(lambda: defaultdict(list))
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            on = date.fromisoformat(row["date"])
            is_wanted = row["gpu_name"] in _GPUS and row["gpu_count"] == "1"
            if is_wanted and 0 <= (on - first).days < days and row["price_median_usd"]:
                name = (row["provider"], _GPUS[row["gpu_name"]], row["kind"])
                prices[name][on].append(Decimal(row["price_median_usd"]))
    all_days = tuple(date.fromordinal(first.toordinal() + number) for number in range(days))
    return History(
        all_days,
        {name: _factors(of, all_days) for name, of in prices.items() if first in of},
    )


class _Moved:
    """An adapter of the recorded offers of one provider at the prices of a day."""

    def __init__(self, name: str, offers: Sequence[Offer], factors: Mapping[Name, Decimal]) -> None:
        self.name = name
        self._offers = offers
        self._factors = factors

    def fetch(self, http: httpx.Client) -> Iterator[httpx.Response]:
        yield http.get(f"https://{self.name}.example/prices")

    def offers_in(self, replies: Iterable[httpx.Response]) -> Iterator[Offer | Rejection]:
        for reply in replies:
            for offer in self._offers:
                name = (self.name, offer.hardware.shape.gpu, offer.price_kind.value)
                usd = quantize_usd(offer.usd_per_hour * self._factors.get(name, Decimal(1)))
                seen = {"usd_per_hour": usd, "provenance": provenance(reply)}
                yield offer.model_copy(update=seen | {"components": None})


class Replay(PlanningService):
    """Plans over recorded offers at the prices of `today`, an index into the history's days."""

    history: History
    today: int = 0
    recorded_offers: Mapping[str, Sequence[Offer]]

    @property
    def instant(self) -> datetime:
        return datetime.combine(self.history.days[self.today], _HOUR)

    def load(self, history: History) -> None:
        """Read the recordings of the history's providers, once."""
        self.history = history
        names = {provider for provider, _, _ in history.factors}
        reader = self._reader(recorded=True)
        known = tuple(name for name in self.providers if name in names)
        self.recorded_offers = {
            one.name: reader.read(one).offers for one in adapters(self.specs, self.settings, known)
        }

    def _adapters(self, names: Iterable[str] | None, *, recorded: bool) -> tuple[Adapter, ...]:
        del names, recorded
        factors = {name: of[self.today] for name, of in self.history.factors.items()}
        return tuple(_Moved(one, of, factors) for one, of in self.recorded_offers.items())

    def _live_client(self, provider: str) -> httpx.Client:
        del provider

        def answer(request: httpx.Request) -> httpx.Response:
            del request
            reply = httpx.Response(200)
            stamp(reply, observed_at=self.instant, evidence=Evidence.LIVE)
            return reply

        return httpx.Client(transport=httpx.MockTransport(answer))


def _factors(prices: Mapping[date, Sequence[Decimal]], days: Sequence[date]) -> Sequence[Decimal]:
    base = median(prices[days[0]])
    found: list[Decimal] = []
    for day in days:
        found.append(median(prices[day]) / base if day in prices else found[-1])
    return found
