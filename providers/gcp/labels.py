"""The English text of a SKU, which is all that says what it prices: which part, sold how.

    Spot Preemptible A3 Instance Core running in Americas         core of a3        spot
    Nvidia H100 Mega 80GB GPU attached to DWS Defined Duration …  gpu h100-mega     flex-start
    Commitment v1: A2 Cpu in Americas for 1 Year                  core of a2        one year

What stands before "running in" or "in", without the words of the market, must be a name that is
known as a whole: "Nvidia Tesla A100 GPU" is the start of no other name then, and a new family is a
rejection instead of a wrong price. Text and usage type are both read, as either alone misleads: a
flex-start SKU has the usage type OnDemand, and so had spot SKUs of the B200.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from providers.gcp.wire import PartKind, Problem


class Market(StrEnum):
    """How a part is sold."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    FLEX_START = "flex_start"
    CALENDAR = "calendar_mode"
    ONE_YEAR = "commit_1_year"
    THREE_YEARS = "commit_3_years"


class Part(NamedTuple):
    """A part of a machine: the cores of a family, one model of GPU."""

    kind: PartKind
    of: str

    def __str__(self) -> str:
        """Name the part for a person."""
        return f"{self.kind} {self.of}"


class Label(NamedTuple):
    """What a SKU prices."""

    part: Part
    market: Market


LOCAL_SSD = Part(PartKind.DISK, "local-ssd")

_HOSTS = {
    "a2": "a2",
    "a3": "a3",
    "a3plus": "a3plus",
    "a3ultra": "a3ultra",
    "a3 ultra": "a3ultra",
    "g2": "g2",
    "g4": "g4",
    "n1 predefined": "n1",
}
_GPUS = {
    "nvidia tesla t4 gpu": "t4",
    "nvidia tesla p4 gpu": "p4",
    "nvidia tesla p100 gpu": "p100",
    "nvidia tesla v100 gpu": "v100",
    "nvidia tesla a100 gpu": "a100-40",
    "nvidia tesla a100 80gb gpu": "a100-80",
    "nvidia l4 gpu": "l4",
    "nvidia h100 80gb gpu": "h100",
    "nvidia h100 80gb plus gpu": "h100-mega",
    "nvidia h100 80gb mega gpu": "h100-mega",
    "nvidia h100 mega 80gb gpu": "h100-mega",
    "h200 141gb gpu": "h200",
    "nvidia h200 141gb gpu": "h200",
    "a4 nvidia b200 (1 gpu slice)": "b200",
    "a4x nvidia gb200 (1 gpu slice)": "gb200",
    "a4x max nvidia gb300 (1 gpu slice)": "gb300",
    "rtx 6000 96gb": "rtx-pro-6000",
    "rtx 6000 96gb gpu": "rtx-pro-6000",
    "1/8 vgpu no lssd": "rtx-pro-6000-eighth",
}


def _names() -> Mapping[str, Part]:
    names = {name: Part(PartKind.GPU, gpu) for name, gpu in _GPUS.items()}
    for name, host in _HOSTS.items():
        for core in ("instance core", "core", "cpu"):
            names[f"{name} {core}"] = Part(PartKind.CORE, host)
        for ram in ("instance ram", "ram"):
            names[f"{name} {ram}"] = Part(PartKind.RAM, host)
    names["ssd backed local storage"] = names["local ssd"] = LOCAL_SSD
    return MappingProxyType(names)


_NAMES = _names()
_IN_COMMITMENTS = {"cpu": Part(PartKind.CORE, "n1"), "ram": Part(PartKind.RAM, "n1")}
"""A commitment that names no family is for N1."""

_MARKET_WORDS = re.compile(
    r"^(?:spot preemptible|preemptible|dws defined duration|dws calendar mode|reserved"
    r"|commitment(?: v\d+)?:)\s+"
)
_PLACE = re.compile(r"\s(?:attached to|running in|in)\s")
_CONCERNS = re.compile(r"\b(?:v?gpu|nvidia|rtx|a2|a3(?:plus|ultra)?|a4x?|g2|g4|n1 predefined)\b")
_OTHER_PRODUCT = re.compile(
    r"\b(?:custom|extended|sole tenancy|premium|suspended|virtual workstation|overcommit)\b"
)
_MARKET_IN_TEXT = (
    ("preemptible", Market.SPOT),
    ("dws defined duration", Market.FLEX_START),
    ("calendar mode", Market.CALENDAR),
)
_MARKET_OF_USAGE_TYPE = {"OnDemand": Market.ON_DEMAND, "Preemptible": Market.SPOT}
_TERM = re.compile(r"\bfor (\d+) years?\b")
_TERMS = {
    ("1", "Commit1Yr"): Market.ONE_YEAR,
    ("3", "Commit3Yr"): Market.THREE_YEARS,
}


def read_label(description: str, usage_type: str) -> Label | Problem | None:
    """Tell what a SKU prices; None where it is no business of a machine with GPUs."""
    text = " ".join(description.lower().split())
    part = _part(text)
    if part is None and not _CONCERNS.search(text):
        return None
    if _OTHER_PRODUCT.search(text):
        return Problem("other_product", "custom, sole-tenant, premium or workstation prices")
    if part is None:
        return Problem("unknown_part", "the text names no part that is known")
    market = _market(text, usage_type)
    return market if isinstance(market, Problem) else Label(part, market)


def _part(text: str) -> Part | None:
    name = _MARKET_WORDS.sub("", _PLACE.split(text, maxsplit=1)[0].strip())
    if text.startswith("commitment") and name in _IN_COMMITMENTS:
        return _IN_COMMITMENTS[name]
    return _NAMES.get(name)


def _market(text: str, usage_type: str) -> Market | Problem:
    if text.startswith("commitment") or usage_type.startswith("Commit"):
        return _commitment(text, usage_type)
    for words, market in _MARKET_IN_TEXT:
        if words in text:
            return market
    if text.startswith("reserved"):
        return Problem("reservation_placeholder", "a reservation that is not in calendar mode")
    unknown = Problem("unknown_usage_type", f"usage type {usage_type!r}")
    return _MARKET_OF_USAGE_TYPE.get(usage_type, unknown)


def _commitment(text: str, usage_type: str) -> Market | Problem:
    years = _TERM.search(text)
    market = _TERMS.get((years[1] if years else "", usage_type))
    if market is None:
        return Problem("unknown_term", f"usage type {usage_type!r} of {text!r}")
    return market
