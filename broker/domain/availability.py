"""Availability: what a service keeps up for when something fails."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from broker.domain.quantities import Frozen


class Availability(Frozen):
    """What must hold when something fails: the load is carried without the spares.

    `max_provider_share` is of the replicas in each user region, at any time; rounded up, but two
    replicas or more are never all with one provider where it is below 1. The smaller of this and
    the policy's holds. In each of `min_zones` zones there is a replica at all times.
    With `spare_zone` what is left after the loss of any zone carries the load.
    """

    spare_replicas: Annotated[int, Field(ge=0)] = 0
    max_provider_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    min_zones: Annotated[int, Field(ge=1)] = 1
    spare_zone: bool = False

    @model_validator(mode="after")
    def _a_zone_is_left(self) -> Self:
        if self.spare_zone and self.min_zones == 1:
            raise ValueError("spare_zone needs a zone to be left; make min_zones 2 or more")
        return self
