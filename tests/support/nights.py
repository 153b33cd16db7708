"""Nights for tests: a small run to plan, shops that sell nodes for it, and the services over them.

The run takes one H100 for some hours, so that each night is solved in a moment.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import httpx
from price_lists import PriceList, Shop

from broker.domain.plan import SolveSettings
from broker.planning.nightly.asked import NightWish
from broker.planning.nightly.service import NightlyService
from broker.planning.service import PlanningService
from broker.settings import Settings
from broker.store.place import Place
from providers.kit.adapter import Adapter

SOLVE = SolveSettings(gap_fraction=0.0, time_limit_s=30, seed=0)
EVENING = datetime(2026, 11, 28, 22, tzinfo=UTC)
RUN = """\
schema: gpubroker.workloads/1
horizon: {start: 2026-12-01, days: 2, slot: 6h}
policy: {churn: {usd_per_moved_node: 1}}
training:
  - name: tune
    model: mistral-7b
    method: lora
    tokens: 3.0e+8
    window: {earliest: 2026-12-01, deadline: 2026-12-03}
    hardware: {gpus: [1]}
"""


class ShopPlanning(PlanningService):
    """Plans over one provider of its own, `acme`, that sells single H100s."""

    shop: Shop

    def _adapters(self, names: Iterable[str] | None, *, recorded: bool) -> tuple[Adapter, ...]:
        del names, recorded
        return (PriceList(),)

    def _live_client(self, provider: str) -> httpx.Client:
        return self.shop.client(provider)


class Nights:
    """The nights of one workloads file over a store of its own, at hours that are set by hand."""

    def __init__(self, place: Place, folder: Path, text: str = RUN) -> None:
        self.workloads = folder / "team.yaml"
        if not self.workloads.exists():
            self.workloads.write_text(text, encoding="utf-8")
        self.alerts = folder / "alerts.jsonl"
        self.now = EVENING
        self.shop = Shop({"box": "2.00"}, seen_at=EVENING)
        is_file = isinstance(place, Path)
        self.settings = Settings(
            data_dir=place.parent if isinstance(place, Path) else folder,
            database=None if is_file else place,
            alert_file=self.alerts,
        )

    def service(self) -> NightlyService:
        """Open the door as a new process does."""
        planning = ShopPlanning(self.settings, lambda: self.now)
        planning.shop = self.shop
        self.shop.seen_at = self.now
        return NightlyService(planning)

    def told(self) -> list[str]:
        """List the titles of the messages that arrived, with what each brings news of."""
        if not self.alerts.exists():
            return []
        return self.alerts.read_text(encoding="utf-8").splitlines()


def wish(*, on: date | None = None, again: bool = False, dry_run: bool = False) -> NightWish:
    return NightWish(SOLVE, on=on, again=again, dry_run=dry_run)
