"""Every setting, from environment variables with the prefix GPUBROKER_."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from broker.domain.errors import ConfigurationError


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

    provider_timeout_s: Annotated[float, Field(gt=0)] = 600.0
    """Longest time that one provider may take in a refresh."""

    request_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest time to wait for one reply."""

    stale_after_h_spot: float = 24.0
    stale_after_h_other: float = 14 * 24.0

    min_usd_per_gpu_hour: Decimal = Decimal("0.02")
    max_usd_per_gpu_hour: Decimal = Decimal(60)
    """Trust gate: an offer outside this band is quarantined; each GPU model has a closer one."""

    min_share_of_market: Annotated[float, Field(ge=0, lt=1)] = 0.25
    """Trust gate: on demand below this share of what the GPU model goes for is quarantined."""

    min_spot_share_of_market: Annotated[float, Field(ge=0, lt=1)] = 0.35
    """Trust gate: spot below this share of what the GPU model goes for on spot is quarantined."""

    min_committed_share_of_market: Annotated[float, Field(ge=0, lt=1)] = 0.2
    """Trust gate: the same for reservations, plans, blocks and contracts, against on demand."""

    max_multiple_of_market: Annotated[float, Field(gt=1)] = 10.0
    """Trust gate: a price above this multiple of what the GPU model goes for is quarantined."""

    max_price_change: Annotated[float, Field(gt=0)] = 0.4
    """Trust gate: a larger relative change since the last observation is quarantined."""

    min_spot_share: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Trust gate: spot below this share of the same machine's on-demand price is quarantined."""

    max_row_drop: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Trust gate: a provider that lists fewer rows by more than this share keeps its old offers."""

    @property
    def database_path(self) -> Path:
        """Give the file of the catalog."""
        return self.data_dir / "catalog.sqlite3"

    @property
    def database_url(self) -> str:
        """Give the SQLAlchemy URL of the catalog."""
        return f"sqlite:///{self.database_path}"


def load_settings() -> Settings:
    """Read the settings from the environment.

    Raises:
        ConfigurationError: a variable has a value that its setting cannot take.
    """
    try:
        return Settings()
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name = "_".join(str(part) for part in problem["loc"][:1])
        raise ConfigurationError(
            f"GPUBROKER_{name.upper()}: {problem['msg']}",
            hint="correct or unset the environment variable",
        ) from error
    except SettingsError as error:  # a list that is no JSON
        raise ConfigurationError(
            f"settings: {error}", hint='write a list as JSON: GPUBROKER_AWS_REGIONS=["us-east-1"]'
        ) from error
