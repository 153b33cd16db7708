"""The settings file: TOML, with a table for each provider, read whole or refused with the reason.

database = "postgresql://..."          # a setting by its name

[providers.lambda]                     # a provider's keys and regions
api_key = "..."
regions = ["us-east-1"]
"""

import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path

import platformdirs

from broker.domain.errors import ConfigurationError

FILE_NAME = "settings.toml"
KEY_FIELDS = ("api_key", "client_id", "client_secret", "access_key_id", "secret_access_key")
"""What a key of a provider may be called; one may stand before it, as in `amd_api_key`."""

PROVIDERS = "providers"
REGIONS = "regions"
_NEAR = 0.6


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """What a settings file says: settings by name, keys by `provider_field`, regions."""

    path: Path
    values: Mapping[str, object] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    regions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def default_path() -> Path:
    """Give the file in the platform's folder for configuration."""
    return platformdirs.user_config_path("gpubroker") / FILE_NAME


def read_settings_file(path: Path, names: Collection[str]) -> SettingsFile:
    """Read a file whose settings may be those named; what their values are is checked later.

    Raises:
        ConfigurationError: it cannot be read, is no TOML, or has a key that there is not.
    """
    data = _parsed(path)
    values = {name: value for name, value in data.items() if name != PROVIDERS}
    _check_names(path, values, names)
    keys: dict[str, str] = {}
    regions: dict[str, tuple[str, ...]] = {}
    for provider, entries in _tables(path, data.get(PROVIDERS, {})):
        for name, value in _entries(path, provider, entries, names):
            if isinstance(value, tuple):
                regions[provider.lower()] = value
            else:
                keys[f"{provider.lower()}_{name}"] = value
    return SettingsFile(path, values, keys, regions)


def is_open_to_others(path: Path) -> bool:
    """Tell whether other users of the machine may read or write a file, where rights tell that."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    has_rights = path.absolute().drive == ""  # Windows keeps them elsewhere
    return has_rights and stat.S_ISREG(mode) and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def _parsed(path: Path) -> Mapping[str, object]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as cause:
        raise ConfigurationError(
            f"cannot read the settings file {str(path)!r}: {cause.strerror}",
            hint="check GPUBROKER_SETTINGS_FILE and the rights of the file, or run: gpubroker init",
        ) from cause
    except UnicodeDecodeError as cause:
        raise _wrong(path, "it is not UTF-8 text", "save it as UTF-8") from cause
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as cause:
        problem = f"broken TOML: {str(cause)[:1].lower()}{str(cause)[1:]}"
        hint = 'text stands in quotes (name = "text"), and a key stands once in its table'
        raise _wrong(path, problem, hint) from cause
    except (ValueError, RecursionError) as cause:  # thousands of digits or of brackets
        raise _wrong(
            path, "broken TOML: it is too long or deep", "look for endless values"
        ) from cause


def _check_names(path: Path, values: Mapping[str, object], names: Collection[str]) -> None:
    for name in values:
        if name in ("keys", REGIONS):
            hint = f"write {REGIONS if name == REGIONS else 'api_key'} below [{PROVIDERS}.NAME]"
            raise _wrong(path, f"{name}: a provider's own stand in a table of its own", hint)
        if name not in names:
            raise _unknown(path, name, (*names, PROVIDERS))


def _tables(path: Path, tables: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    if not isinstance(tables, Mapping):
        hint = f"write [{PROVIDERS}.lambda] and its keys below it"
        raise _wrong(path, f"{PROVIDERS} is no table", hint)
    for provider, entries in tables.items():
        if not isinstance(entries, Mapping):
            hint = f"write [{PROVIDERS}.{provider}] and its keys below it"
            raise _wrong(path, f"{PROVIDERS}.{provider} is no table", hint)
        yield provider, entries


def _entries(
    path: Path, provider: str, entries: Mapping[str, object], names: Collection[str]
) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """List the keys and the regions of one provider's table; empty ones are as if not there."""
    for name, value in entries.items():
        where = f"[{PROVIDERS}.{provider}] {name}"
        if name == REGIONS:
            if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
                raise _wrong(path, f"{where}: {value!r} is no list", 'write ["us-east-1"]')
            yield name, tuple(value)
        elif name in KEY_FIELDS or name.endswith(tuple(f"_{one}" for one in KEY_FIELDS)):
            if not isinstance(value, str):  # which is not shown, as it is a secret
                raise _wrong(path, f"{where}: a key is text", f'write {name} = "…"')
            if value:
                yield name, value
        elif name in names:
            problem = f"{where}: this is no key of a provider, but a setting"
            raise _wrong(path, problem, f"move {name} above the first [table] of the file")
        else:
            raise _unknown(path, name, (*KEY_FIELDS, REGIONS), f"[{PROVIDERS}.{provider}] ")


def _unknown(path: Path, name: str, known: Collection[str], table: str = "") -> ConfigurationError:
    near = get_close_matches(name.lower(), sorted(known), 1, _NEAR)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif table:
        hint = f"there are: {', '.join(known)}"
    else:
        hint = "docs/settings.md lists what there is; a provider's keys stand in [providers.NAME]"
    return _wrong(path, f"{table}{name}: there is no such key", hint)


def _wrong(path: Path, problem: str, hint: str) -> ConfigurationError:
    return ConfigurationError(f"settings file {str(path)!r}: {problem}", hint=hint)
