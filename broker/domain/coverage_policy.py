"""What commitments and spot must be worth: targets over a whole plan."""

from typing import Annotated

from pydantic import Field

from broker.domain.quantities import Frozen, Share


class CoveragePolicy(Frozen):
    """Targets for commitments and spot; by default nothing is asked.

    `min_committed_share` is the least part of the firm work, in node-hours, that does not run on
    nodes rented on demand which no savings plan covers. `min_commitment_utilization` is the least
    part of the hours of committed nodes, machine by machine, and of what each savings plan
    promises, that work fills in the horizon. `spot_discount` is the part by which a spot price must
    be below the on-demand price of the same machine, after what interruptions cost a run; without
    an on-demand price it is not.
    """

    min_committed_share: Share = 0.0
    min_commitment_utilization: Share = 0.0
    spot_discount: Annotated[float, Field(ge=0, lt=1)] = 0.0
