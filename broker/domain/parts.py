"""Parts that several kinds of workload have: names, counts, windows, data sets."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from broker.domain.quantities import Frozen, Instant, SizeGb

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$")]
Tokens = Annotated[float, Field(gt=0, le=1e21)]
"""Work of a run or batch job: far more than any was ever done; beyond, a solver cannot count."""
MOST = 1_000_000_000
"""No number of GPUs, nodes or copies is larger: more is a slip, which no solver counts."""
Count = Annotated[int, Field(ge=1, le=MOST)]


class Window(Frozen):
    """When a run may work."""

    earliest: Instant
    deadline: Instant

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.deadline <= self.earliest:
            raise ValueError(
                f"deadline {self.deadline:%Y-%m-%d %H:%M} is not after "
                f"earliest {self.earliest:%Y-%m-%d %H:%M}; move one of them"
            )
        return self


class DataSet(Frozen):
    """Where a run's data lies (provider/region) and how large it is, in GB."""

    at: str
    size: SizeGb
