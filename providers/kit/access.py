"""What the settings hold for one provider: its keys, and which regions to read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import SecretStr

from broker.domain.errors import ProviderError

API_KEY = "api_key"


@dataclass(frozen=True, slots=True)
class Access:
    """Keys by field (`api_key`, `client_id`, `client_secret`), and regions; empty means all."""

    keys: Mapping[str, SecretStr] = field(default_factory=dict)
    regions: tuple[str, ...] = ()

    def key(self, name: str = API_KEY) -> SecretStr | None:
        """Give a key, None where the user has set none.

        Raises:
            ProviderError: no header takes it; it is not shown.
        """
        key = self.keys.get(name)
        if key is not None and not _can_be_sent(key.get_secret_value()):
            raise ProviderError(
                f"its {name} has a line break or a letter that no key has",
                hint="put the real one into the settings; gpubroker doctor names where it stands",
            )
        return key

    def bearer(self, name: str = API_KEY) -> dict[str, str]:
        """Make the headers that carry a key as a bearer token; none without a key."""
        key = self.key(name)
        return {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}

    def header(self, header: str, name: str = API_KEY) -> dict[str, str]:
        """Make a header of the provider's own that carries a key as it is; none without a key."""
        key = self.key(name)
        return {header: key.get_secret_value()} if key else {}


def _can_be_sent(key: str) -> bool:
    return key.isascii() and key.isprintable()
