"""Why a row of a sheet, or one of its prices, did not become an offer."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """The closed set of reasons; docs/price-sheets.md explains each to a person."""

    NO_PRICE = "no_price"
    COMPONENT_PRICE = "component_price"
    AGGREGATE_PRICE = "aggregate_price"
    INDICATIVE_PRICE = "indicative_price"
    AUCTION_FLOOR = "auction_floor"
    SPOT_NOT_BELOW_ON_DEMAND = "spot_not_below_on_demand"
    COMMUNITY_LISTED_AS_SPOT = "community_listed_as_spot"
    SPOT_LISTED_AS_ON_DEMAND = "spot_listed_as_on_demand"
    UNDATED_SPOT = "undated_spot"
    WINDOWS_PRICE = "windows_price"
    PRICE_OF_ANOTHER_MODEL = "price_of_another_model"
    NOT_A_NODE = "not_a_node"
    MANAGED_SERVICE = "managed_service"
    NO_TERM = "no_term"
    NO_WINDOW = "no_window"
    UNKNOWN_GPU = "unknown_gpu"
    AMBIGUOUS_GPU = "ambiguous_gpu"
    MIG_SLICE = "mig_slice"
    NOT_A_GPU = "not_a_gpu"
    NO_GPU_COUNT = "no_gpu_count"
    CONTRADICTS_KNOWN_INSTANCE = "contradicts_known_instance"
    CONTRADICTS_KNOWN_MODEL = "contradicts_known_model"
    DATED_LATER = "dated_later"
    DUPLICATE_KEY = "duplicate_key"


@dataclass(frozen=True, slots=True)
class Refused:
    """A reason with what was read, for a person."""

    reason: Reason
    detail: str
