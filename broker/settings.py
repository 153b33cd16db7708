"""Every setting, from environment variables with the prefix GPUBROKER_."""

from decimal import Decimal
from pathlib import Path

import platformdirs
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What the user sets once: where the catalog lies, keys, limits. Secrets never print."""

    model_config = SettingsConfigDict(env_prefix="GPUBROKER_", frozen=True, extra="ignore")

    data_dir: Path = Field(default_factory=lambda: platformdirs.user_data_path("gpubroker"))
    """Folder of the catalog database."""

    lambda_api_key: SecretStr | None = None
    runpod_api_key: SecretStr | None = None
    vast_api_key: SecretStr | None = None

    aws_regions: tuple[str, ...] = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1")
    """Regions whose AWS price files are read; each is some hundred megabytes."""

    provider_timeout_s: float = 600.0
    """Longest time that one provider may take in a refresh."""

    request_timeout_s: float = 30.0
    """Longest time to wait for one reply."""

    stale_after_h_spot: float = 24.0
    stale_after_h_other: float = 14 * 24.0

    min_usd_per_gpu_hour: Decimal = Decimal("0.02")
    max_usd_per_gpu_hour: Decimal = Decimal(40)
    """Trust gate: an offer outside this band is quarantined."""

    max_price_change: float = 0.4
    """Trust gate: a larger relative change since the last refresh is quarantined."""

    @property
    def database_url(self) -> str:
        """Give the SQLAlchemy URL of the catalog."""
        return f"sqlite:///{self.data_dir / 'catalog.sqlite3'}"
