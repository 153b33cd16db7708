"""What each key of a workloads file means: for the schema that editors read, and for the docs."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from pydantic import JsonValue

from broker.specs.load import load_specs

KEYS_FILE = "workloads_keys.yaml"
_BAR = " | "


@dataclass(frozen=True, slots=True)
class KeyText:
    """The meaning of a key, and the unit of its value where it has one."""

    text: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.text} Unit: {self.unit}." if self.unit else self.text


def key_texts() -> dict[str, dict[str, KeyText]]:
    """Read the texts by the class that holds the key, and by the key."""
    import yaml  # noqa: PLC0415 - only a schema and the docs need it

    regions = ", ".join(load_specs().user_regions)
    written = files("broker.reports").joinpath(KEYS_FILE).read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(written.replace("{user_regions}", regions))
    return {
        owner: {key: _key_text(text) for key, text in entries.items()}
        for owner, entries in found.items()
    }


def described(schema: dict[str, JsonValue], root: str) -> dict[str, JsonValue]:
    """Put the texts into a JSON Schema whose own class is `root`."""
    texts = key_texts()
    definitions = schema.get("$defs")
    parts = dict(definitions) if isinstance(definitions, dict) else {}
    parts = {name: _with_texts(part, texts.get(name, {})) for name, part in parts.items()}
    whole = _with_texts(schema, texts.get(root, {}))
    return {**whole, "$defs": parts} if isinstance(whole, dict) else schema


def _with_texts(part: JsonValue, texts: Mapping[str, KeyText]) -> JsonValue:
    properties = part.get("properties") if isinstance(part, dict) else None
    if not (isinstance(part, dict) and isinstance(properties, dict)):
        return part
    told: dict[str, JsonValue] = {
        key: {**value, "description": str(texts[key])}
        if key in texts and isinstance(value, dict)
        else value
        for key, value in properties.items()
    }
    return {**part, "properties": told}


def _key_text(written: str) -> KeyText:
    unit, _, text = written.rpartition(_BAR)
    return KeyText(text, unit)
