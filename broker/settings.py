"""Every setting, from environment variables with the prefix GPUBROKER_."""

import json
import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from broker.domain.errors import ConfigurationError

PREFIX = "GPUBROKER_"
KEY_ENDINGS = ("_api_key", "_client_id", "_client_secret", "_access_key_id", "_secret_access_key")
"""A variable of the environment that ends so is a key of a provider."""

_REGIONS_ENDING = "_regions"


class _ByProvider(PydanticBaseSettingsSource):
    """Gathers the variables that are named after a provider: keys and regions."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        """Leave single fields to the other sources."""
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, object]:
        """Collect keys and regions from the environment.

        Raises:
            SettingsError: a list of regions is no JSON.
        """
        named = {
            name.removeprefix(PREFIX).lower(): value
            for name, value in os.environ.items()  # noqa: TID251 - this is where they are read
            if name.startswith(PREFIX) and value
        }
        keys = {name: value for name, value in named.items() if name.endswith(KEY_ENDINGS)}
        regions = {
            name.removesuffix(_REGIONS_ENDING): _listed(name, value)
            for name, value in named.items()
            if name.endswith(_REGIONS_ENDING)
        }
        return {"keys": keys, "regions": regions}


def _listed(name: str, value: str) -> tuple[str, ...]:
    try:
        read: object = json.loads(value)
    except ValueError:
        read = None
    if not (isinstance(read, list) and all(isinstance(one, str) for one in read)):
        variable = f"{PREFIX}{name.upper()}"
        raise SettingsError(f'{variable}: write a list as JSON: {variable}=["us-east-1"]')
    return tuple(read)


class Settings(BaseSettings):
    """What the user sets once: where the catalog lies, keys, limits. Secrets never print."""

    model_config = SettingsConfigDict(env_prefix="GPUBROKER_", frozen=True, extra="ignore")

    data_dir: Path = Field(default_factory=lambda: platformdirs.user_data_path("gpubroker"))
    """Folder of the database and of plans that are kept."""

    database: Annotated[SecretStr | None, Field(repr=False)] = None
    """SQLAlchemy URL of a PostgreSQL database for a team; without one, SQLite in `data_dir`."""

    keys: Annotated[Mapping[str, SecretStr], Field(repr=False)] = Field(default_factory=dict)
    """Keys of providers by name: `lambda_api_key` from GPUBROKER_LAMBDA_API_KEY."""

    regions: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Regions to read by provider, from GPUBROKER_<PROVIDER>_REGIONS; none named are all."""

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

    slack_webhook_url: Annotated[SecretStr | None, Field(repr=False)] = None
    """Where alerts go on Slack: an incoming webhook."""

    webhook_url: str | None = None
    """Where alerts go as signed JSON."""

    webhook_secret: Annotated[SecretStr | None, Field(repr=False)] = None
    """What the JSON of alerts is signed with (HMAC-SHA256)."""

    smtp_host: str | None = None
    smtp_port: Annotated[int, Field(gt=0, lt=65536)] = 587
    smtp_user: str | None = None
    smtp_password: Annotated[SecretStr | None, Field(repr=False)] = None
    smtp_starttls: bool = True
    mail_from: str | None = None
    mail_to: tuple[str, ...] = ()
    """Whom alerts are mailed to."""

    alert_file: Path | None = None
    """A file that alerts are appended to, one JSON object a line."""

    @classmethod
    def settings_customise_sources(  # noqa: PLR0917 - the library's signature
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read what is passed, then the environment; keys and regions are named by provider."""
        del dotenv_settings, file_secret_settings
        return init_settings, _ByProvider(settings_cls), env_settings

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
            f"settings: {error}", hint="correct or unset the environment variable"
        ) from error
