"""What pods and clusters have in common: the GPU behind an id, the place behind another."""

import re

from broker.domain.offer import Place
from broker.specs.load import Specs, Unresolved
from providers.runpod.prices import NAME
from providers.runpod.wire import Where

GIB_PER_GB = 10**9 / 2**30
BILLING_STEP_S = 1.0
DISK = "disk is billed apart, and at a higher price while the pod is stopped"

_SLICE = re.compile(r"\bMIG\b")
_DATA_CENTER = re.compile(r"(?P<area>[A-Z]{2,3})-(?P<place>[A-Z]+)-\d+")
_COUNTRY_LETTERS = 2
_CONTINENTS = {"EU": "eu", "EUR": "eu", "AP": "ap", "SEA": "ap", "OC": "oc"}


def gpu_model(specs: Specs, gpu_id: str, memory_gb: float | None) -> str | Unresolved:
    """Give the canonical name of a GPU type; a slice of a GPU is none."""
    if _SLICE.search(gpu_id):
        return Unresolved("mig_slice", f"{gpu_id!r} is a part of a GPU")
    return specs.resolve_gpu(gpu_id, memory_gib=memory_gb, provider=NAME)


def place_of(specs: Specs, where: Where) -> Place:
    """Place a page as the tables have it, else in the country that its id names."""
    region = where.data_center_id or where.country_code or ""
    place = specs.place(NAME, region)
    if place.country:
        return place
    country, continent = where.country_code, place.continent
    if where.data_center_id:
        country, continent = area(where.data_center_id)
    return place.model_copy(update={"country": country, "continent": continent})


def area(data_center: str) -> tuple[str | None, str | None]:
    """Read country and continent off an id such as US-KS-2 or EUR-IS-1; None where it has none."""
    found = _DATA_CENTER.fullmatch(data_center)
    if found is None:
        return None, None
    region, place = found["area"], found["place"]
    if region in ("US", "CA"):  # what follows is a state or a city
        return region, "us"
    return (place if len(place) == _COUNTRY_LETTERS else None), _CONTINENTS.get(region)
