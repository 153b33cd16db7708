"""Where the store lies: a SQLite file, or a PostgreSQL database by its URL.

A URL holds a password, so it is a secret: messages have its user, host and name, and nothing else.
"""

import hashlib
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from broker.domain.errors import ConfigurationError
from broker.settings import Settings

Place = Path | SecretStr
"""The file of a SQLite database, or the URL of a PostgreSQL one."""

SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
CONNECT_S = 10
"""Longest time to wait for a server, unless the URL says another (`connect_timeout`)."""

_FORM = "GPUBROKER_DATABASE=postgresql://user:password@host:5432/name"
_DIGITS = 12


def store_place(settings: Settings) -> Place:
    """Say where the settings want the store: the team's database, else a file."""
    return settings.database or settings.database_path


def has_store(settings: Settings) -> bool:
    """Tell whether there may be something in the store: a team's database, or a file."""
    return settings.database is not None or settings.database_path.exists()


def check_url(url: SecretStr) -> None:
    """Find out whether a URL can be one of PostgreSQL, without showing it.

    Raises:
        ConfigurationError: it cannot.
    """
    given = url.get_secret_value()
    scheme, _, rest = given.partition("://")
    if scheme not in SCHEMES or not rest:
        shown = f"{scheme}://" if rest else "it"
        raise ConfigurationError(
            f"GPUBROKER_DATABASE is no URL of PostgreSQL: {shown} is not understood",
            hint=f"write {_FORM}, or unset it to use a file in GPUBROKER_DATA_DIR",
        )
    if not _is_readable(given):
        raise ConfigurationError(
            "GPUBROKER_DATABASE cannot be read: its host, port or password is not written as in "
            "a URL",
            hint=f"write {_FORM}; in the password, @ is %40, / is %2F, : is %3A, # is %23",
        )


def driver_url(url: SecretStr) -> str:
    """Write a URL as the driver itself reads it.

    Raises:
        ConfigurationError: it cannot be one of PostgreSQL.
    """
    check_url(url)
    return f"postgresql://{url.get_secret_value().partition('://')[2]}"


def shown(place: Place) -> str:
    """Name a place in messages and file names: never with a password."""
    if isinstance(place, Path):
        return str(place)
    if not _is_readable(place.get_secret_value()):
        return "GPUBROKER_DATABASE"
    parts = urlsplit(place.get_secret_value())
    query = dict(parse_qsl(parts.query))
    user = parts.username or query.get("user", "")
    host = parts.hostname or query.get("host", "")
    port = f":{parts.port}" if parts.port else ""
    return f"postgresql://{user}{'@' * bool(user)}{host}{port}{parts.path}"


def without_secrets(text: str, place: Place) -> str:
    """Take the passwords of a place out of what a driver says."""
    if isinstance(place, Path):
        return text
    parts = urlsplit(place.get_secret_value())
    secrets = {value for name, value in parse_qsl(parts.query) if "password" in name}
    secrets |= {parts.password or "", unquote(parts.password or "")}
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def listing_path(settings: Settings) -> Path:
    """Name the file of the listing: beside the SQLite file, or in the data folder by database."""
    place = store_place(settings)
    if isinstance(place, Path):
        return place.with_name(f"{place.stem}-listing.sqlite3")
    parts = urlsplit(place.get_secret_value())
    digest = hashlib.sha256(f"{shown(place)}?{parts.query}".encode()).hexdigest()[:_DIGITS]
    return settings.data_dir / f"catalog-{digest}-listing.sqlite3"


def _is_readable(url: str) -> bool:
    """Tell whether every part of a URL is where it seems to be."""
    try:
        parts = urlsplit(url)
        return parts.scheme in SCHEMES and parts.netloc.count("@") <= 1 and parts.port != 0
    except ValueError:  # a port that is no number
        return False
