"""Every setting: from environment variables with the prefix GPUBROKER_, then from a file.

The file is `settings.toml` in the platform's folder for configuration, or the one that
GPUBROKER_SETTINGS_FILE names. The environment wins.
"""

import json
import os
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self, get_args

import platformdirs
from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from broker.domain.errors import ConfigurationError
from broker.settings_file import (
    KEY_FIELDS,
    SettingsFile,
    default_path,
    is_open_to_others,
    read_settings_file,
)

PREFIX = "GPUBROKER_"
FILE_VARIABLE = f"{PREFIX}SETTINGS_FILE"
KEY_ENDINGS = tuple(f"_{field}" for field in KEY_FIELDS)
"""A variable of the environment that ends so is a key of a provider."""

_REGIONS_ENDING = "_regions"
_NO_SETTINGS = ("debug", "settings_file")
"""Variables that are read elsewhere: by the command line, and to find the file."""


def _expanded(path: Path) -> Path:
    """Put the home folder in place of a `~`.

    Raises:
        ValueError: there is no such user, or no home folder; or no path has such a character.
    """
    if "\0" in str(path):
        raise ValueError("a path has no character of the number 0")
    try:
        return path.expanduser()
    except RuntimeError as cause:
        raise ValueError(f"{str(path)!r} begins with the home of nobody; write it out") from cause


_UserPath = Annotated[Path, AfterValidator(_expanded)]


class _ByProvider(PydanticBaseSettingsSource):
    """Gathers the variables that are named after a provider: keys and regions."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        """Leave single fields to the other sources."""
        del field
        return None, field_name, False

    def __call__(self) -> dict[str, object]:
        """Collect keys and regions from the environment.

        Raises:
            SettingsError: a list is no JSON.
        """
        named = _variables()
        if "mail_to" in named:  # the library's own error names neither the variable nor the remedy
            _listed("mail_to", named["mail_to"], "ops@example.com")
        keys = {name: value for name, value in named.items() if name.endswith(KEY_ENDINGS)}
        regions = {
            name.removesuffix(_REGIONS_ENDING): _listed(name, value, "us-east-1")
            for name, value in named.items()
            if name.endswith(_REGIONS_ENDING)
        }
        return {"keys": keys, "regions": regions}


def _listed(name: str, value: str, example: str) -> tuple[str, ...]:
    try:
        read: object = json.loads(value)
    except (ValueError, RecursionError):
        read = None
    if not (isinstance(read, list) and all(isinstance(one, str) for one in read)):
        variable = f"{PREFIX}{name.upper()}"
        raise SettingsError(
            f'{variable}: {value!r} is no list of texts: write it as JSON: {variable}=["{example}"]'
        )
    return tuple(read)


class Settings(BaseSettings):
    """What the user sets once: where the catalog lies, keys, limits. Secrets never print."""

    model_config = SettingsConfigDict(
        env_prefix="GPUBROKER_",
        env_ignore_empty=True,
        frozen=True,
        extra="ignore",
        allow_inf_nan=False,
        hide_input_in_errors=True,  # it may be a secret
    )

    data_dir: _UserPath = Field(default_factory=lambda: platformdirs.user_data_path("gpubroker"))
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

    stale_after_h_spot: Annotated[float, Field(gt=0)] = 24.0
    """Age in hours from which a spot price is shown and not planned with."""

    stale_after_h_other: Annotated[float, Field(gt=0)] = 14 * 24.0
    """The same for other prices; a price sheet's rows hold by their own dates."""

    min_usd_per_gpu_hour: Annotated[Decimal, Field(ge=0)] = Decimal("0.02")
    """Trust gate: an offer below is quarantined; each GPU model has a closer band of its own."""

    max_usd_per_gpu_hour: Annotated[Decimal, Field(gt=0)] = Decimal(60)
    """Trust gate: an offer above is quarantined."""

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
    """The mail server by which alerts are mailed."""

    smtp_port: Annotated[int, Field(gt=0, lt=65536)] = 587
    """Its port."""

    smtp_user: str | None = None
    """Who logs in at it; none sends without a login."""

    smtp_password: Annotated[SecretStr | None, Field(repr=False)] = None
    """The password of the login."""

    smtp_starttls: bool = True
    """Whether the connection is encrypted before anything is said."""

    mail_from: str | None = None
    """Whom the mail is from."""

    mail_to: tuple[str, ...] = ()
    """Whom alerts are mailed to; in the environment a list as JSON."""

    alert_file: _UserPath | None = None
    """A file that alerts are appended to, one JSON object a line."""

    price_jump_min_usd_per_day: Annotated[Decimal, Field(ge=0)] = Decimal(10)
    """A dearer price of what the plan in force uses is told of if it costs this much a day."""

    @field_validator("keys")
    @classmethod
    def _without_blanks(cls, keys: Mapping[str, SecretStr]) -> Mapping[str, SecretStr]:
        """Drop the blanks around keys, such as the line break at the end of a mounted secret."""
        sent = {name: key.get_secret_value().strip() for name, key in keys.items()}
        return {name: SecretStr(key) for name, key in sent.items() if key}

    @model_validator(mode="after")
    def _band_is_one(self) -> Self:
        if self.min_usd_per_gpu_hour >= self.max_usd_per_gpu_hour:
            raise ValueError(
                f"min_usd_per_gpu_hour {self.min_usd_per_gpu_hour} is not below "
                f"max_usd_per_gpu_hour {self.max_usd_per_gpu_hour}; every offer would be held back"
            )
        return self

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


def load_settings(warn: Callable[[str], None] = lambda _: None) -> Settings:
    """Read the settings from the environment and the file; `warn` is told what is unsafe.

    Raises:
        ConfigurationError: the file cannot be used, or a value is not one that its setting takes.
    """
    file = settings_file()
    named = _variables()
    given: dict[str, object] = {
        name: _as_written(file, name, value)
        for name, value in file.values.items()
        if name not in named
    }
    given["keys"] = {name: key for name, key in file.keys.items() if name not in named}
    given["regions"] = {
        provider: regions
        for provider, regions in file.regions.items()
        if f"{provider}{_REGIONS_ENDING}" not in named
    }
    unsafe = open_secrets(file)
    if unsafe:
        warn(unsafe)
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        raise _wrong_values(error, file, given) from error


def settings_path() -> Path:
    """Give the settings file: the one that the environment names, else the platform's.

    Raises:
        ConfigurationError: it is named by a home folder that nobody has.
    """
    named = _variables().get("settings_file")
    try:
        return Path(named).expanduser() if named else default_path()
    except RuntimeError as cause:
        raise ConfigurationError(
            f"{FILE_VARIABLE}: {named!r} begins with the home of nobody",
            hint="write the path out, from / on",
        ) from cause


def settings_file() -> SettingsFile:
    """Read the settings file; where none is named there need be none.

    Raises:
        ConfigurationError: it cannot be used, or the one that is named is not there.
    """
    path = settings_path()
    if "settings_file" not in _variables() and not path.exists():
        return SettingsFile(path)
    return read_settings_file(path, Settings.model_fields)


def open_secrets(file: SettingsFile) -> str:
    """Warn of a file with keys or passwords that other users may read; empty where all is well."""
    has_some = file.keys or any(is_secret(name) for name in file.values)
    if not (has_some and is_open_to_others(file.path)):
        return ""
    return (
        f"settings file {str(file.path)!r} holds secrets and other users may read it: "
        f"chmod 600 {file.path}"
    )


def is_secret(name: str) -> bool:
    """Tell whether a setting is never to be shown."""
    return name == "keys" or SecretStr in _types(Settings.model_fields[name].annotation)


def named_variables() -> tuple[str, ...]:
    """Name the variables of the environment that set something, without their values."""
    return tuple(sorted(f"{PREFIX}{name.upper()}" for name in _variables()))


def unknown_variables() -> tuple[str, ...]:
    """Name the variables that look like ours and set nothing.

    They are no error: Kubernetes makes variables named after a service of its own accord.
    """
    known = {*Settings.model_fields, *_NO_SETTINGS}
    endings = (*KEY_ENDINGS, _REGIONS_ENDING)
    names = (name for name in _variables() if name not in known and not name.endswith(endings))
    return tuple(sorted(f"{PREFIX}{name.upper()}" for name in names))


def _variables() -> dict[str, str]:
    """Gather what the environment says, by the name of the setting; an empty one says nothing."""
    return {
        name[len(PREFIX) :].lower(): value
        for name, value in os.environ.items()  # noqa: TID251 - this is where they are read
        if name.upper().startswith(PREFIX) and value
    }


def _as_written(file: SettingsFile, name: str, value: object) -> object:
    """Take a path of the file from the file's folder, if it is not a whole one."""
    is_path = Path in _types(Settings.model_fields[name].annotation)
    if is_path and isinstance(value, str) and value and not value.startswith("~"):
        return file.path.absolute().parent / value
    return value


def _types(annotation: object) -> tuple[object, ...]:
    arguments = get_args(annotation)
    return (annotation, *(one for part in arguments for one in _types(part)))


def _wrong_values(
    error: ValidationError, file: SettingsFile, given: Mapping[str, object]
) -> ConfigurationError:
    """Say of each wrong value where it was read, and show it if it is no secret."""
    told, hint = [], "correct or unset the environment variable"
    for problem in error.errors(include_url=False):
        name = str(problem["loc"][0]) if problem["loc"] else ""
        message = problem["msg"].removeprefix("Value error, ").replace("tuple", "list")
        if name:
            shown = "" if is_secret(name) else f"{_shown(problem['input'])} is not right: "
            message = f"{shown}{message[:1].lower()}{message[1:]}"
        if name in given and name not in ("keys", "regions"):
            told.append(f"settings file {str(file.path)!r}: {name}: {message}")
            hint = "correct the file, or take the line out"
        elif name:
            told.append(f"{PREFIX}{name.upper()}: {message}")
        else:  # two settings together, from wherever they are
            told.append(f"settings: {message}")
            hint = f"correct it in the environment or in {str(file.path)!r}"
    return ConfigurationError("\n".join(told), hint=hint)


def _shown(value: object) -> str:
    return str(value) if isinstance(value, Decimal) else repr(value)
