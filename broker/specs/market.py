"""What a GPU goes for and where a machine is sold: what a price is held against.

    market price of a model = median over its sellers of each seller's median price per GPU-hour

Each seller counts once, so that a cloud which lists a machine in fifty regions weighs no more than
one with a single price. Prices are those of public lists; spot stands beside on demand, as the two
move apart. Where the sellers are too few or fall into two groups, the row's source says what stands
there instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from broker.specs.tables import read_table, text


@dataclass(frozen=True, slots=True)
class MarketPrice:
    """The usual price of one GPU for an hour in dollars; None where spot is hardly sold."""

    on_demand_usd_per_gpu_hour: Decimal
    spot_usd_per_gpu_hour: Decimal | None
    as_of: date
    source: str


@dataclass(frozen=True, slots=True)
class SoldIn:
    """The regions in which a provider sells machine types, by (provider, prefix of the type).

    Price lists name regions where no data centre has the machine; a type without a row is taken
    to be sold wherever it has a price.
    """

    regions: Mapping[tuple[str, str], frozenset[str]]

    def elsewhere(self, provider: str, instance_type: str, region: str) -> frozenset[str]:
        """Give the regions that sell a type where `region` does not, else none."""
        lowered = instance_type.lower()
        for (seller, prefix), regions in self.regions.items():
            if seller == provider and lowered.startswith(prefix):
                return frozenset() if region in regions else regions
        return frozenset()


def read_market_prices() -> Mapping[str, MarketPrice]:
    """Read the market price of each GPU model that has one, by its name."""
    return {
        text(row, "gpu"): MarketPrice(
            on_demand_usd_per_gpu_hour=Decimal(text(row, "on_demand_usd_per_gpu_hour")),
            spot_usd_per_gpu_hour=_usd(row["spot_usd_per_gpu_hour"]),
            as_of=date.fromisoformat(text(row, "as_of")),
            source=text(row, "source"),
        )
        for row in read_table("market_prices.csv")
    }


def read_sold_in() -> SoldIn:
    """Read where machine types are sold."""
    return SoldIn(
        {
            (text(row, "provider"), text(row, "type_prefix")): frozenset(
                text(row, "regions").split("|")
            )
            for row in read_table("sold_in.csv")
        }
    )


def _usd(cell: str | None) -> Decimal | None:
    return None if cell is None else Decimal(cell)
