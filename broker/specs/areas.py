"""Areas: how a row of a table says where it holds, from one region to everywhere.

    us-east-1               one region, by the provider's own id
    country:CN              every region of a country
    continent:oc            every region of a continent
    partition:government    what a provider runs apart from its commercial cloud
    (empty)                 every region

A region that nothing is known of has its own id and "everywhere" alone.
"""

from broker.domain.offer import UNKNOWN_REGION, Place

COMMERCIAL = "commercial"
EVERYWHERE = ""


def areas_of(place: Place) -> tuple[str, ...]:
    """Name the areas that a place lies in, the narrowest first, as rows write them."""
    areas = [] if is_unknown(place) else [area(place.region)]
    if place.country:
        areas.append(area(f"country:{place.country}"))
    if place.continent:
        areas.append(area(f"continent:{place.continent}"))
    return (*areas, EVERYWHERE)


def guarded_areas_of(place: Place) -> tuple[str, ...]:
    """Name the areas whose rows hold for a place, where another partition is another cloud.

    What is said of a commercial cloud is not said of the one that a government or China has.
    """
    if place.partition == COMMERCIAL:
        return areas_of(place)
    return (area(place.region), area(f"partition:{place.partition}"))


def area(written: str) -> str:
    """Write an area in the one way in which rows and places can be compared."""
    return written.strip().lower()


def is_unknown(place: Place) -> bool:
    """Tell whether a place is none that its source names."""
    return area(place.region) in ("", UNKNOWN_REGION)
