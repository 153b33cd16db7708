"""Ids of providers: other people's names for them lead to ours."""

from collections.abc import Mapping
from dataclasses import dataclass

from broker.specs.tables import read_table, text


@dataclass(frozen=True, slots=True)
class ProviderIds:
    """Our id of each other name, all in lower case."""

    ids: Mapping[str, str]

    def of(self, provider: str) -> str:
        """Give our id; a name that is not listed is its own id."""
        lowered = provider.strip().lower()
        return self.ids.get(lowered, lowered)


def read_provider_ids() -> ProviderIds:
    """Read the other names of providers."""
    rows = read_table("provider_aliases.csv")
    return ProviderIds({text(row, "alias"): text(row, "provider") for row in rows})
