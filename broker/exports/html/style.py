"""The colours of the page, light and dark, and how charts wear them.

Charts are drawn in the light colours; the page's style sheet exchanges each of them for a variable,
so that one drawing serves both. The four kinds differ in lightness too, for who sees few hues.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from broker.exports.buying import Kind

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
TEXT_PX = 12


@dataclass(frozen=True, slots=True)
class Colour:
    """One colour by day and by night."""

    light: str
    dark: str


COLOURS: Mapping[str, Colour] = MappingProxyType(
    {
        "paper": Colour("#ffffff", "#12171d"),
        "panel": Colour("#f5f7f9", "#1a2129"),
        "ink": Colour("#18212b", "#e9eef3"),
        "muted": Colour("#566270", "#a7b3bf"),
        "line": Colour("#dde3e9", "#303a45"),
        "accent": Colour("#0b5394", "#8cc4ff"),
        "alarm": Colour("#a3280f", "#ff9f86"),
        "alarmpaper": Colour("#fdf3f0", "#2b1d1a"),
        "owned": Colour("#39434e", "#f0f3f6"),
        "reserved": Colour("#0072b2", "#4ba3e3"),
        "ondemand": Colour("#d07c00", "#f2b040"),
        "spot": Colour("#b3478a", "#e58cc3"),
        "other": Colour("#8a949e", "#78838e"),
        "tint": Colour("#cfe2f3", "#1d3a52"),
        "deeptint": Colour("#a3c8e8", "#2a5578"),
    }
)

KIND_NAMES: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.OWNED: "owned",
        Kind.RESERVED: "reserved",
        Kind.ON_DEMAND: "ondemand",
        Kind.SPOT: "spot",
        Kind.OTHER: "other",
    }
)
"""The name of each kind among the colours."""


def colour(name: str) -> str:
    """Give the colour that a chart is drawn with."""
    return COLOURS[name].light


def kind_colour(kind: Kind) -> str:
    """Give the colour of a kind."""
    return colour(KIND_NAMES[kind])
