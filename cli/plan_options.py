"""The options of every command that makes plans."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from broker.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from broker.domain.plan import SolveSettings

_LONGEST_S = 86_400
_LARGEST_SEED = 2**31 - 1  # the solver keeps it in 32 bits

WorkloadsArgument = Annotated[
    Path, typer.Argument(metavar="WORKLOADS", help="Workloads file (YAML or JSON).")
]
PlanArgument = Annotated[
    Path,
    typer.Argument(
        metavar="PLAN", help="A plan file, or the first digits of a kept plan's hash (8 or more)."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Write the plan as JSON to this file, too."),
]
TimeLimitOption = Annotated[
    float,
    typer.Option("--time-limit", metavar="SECONDS", help="End the search after so many seconds."),
]
AllTimeLimitOption = Annotated[
    float,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="End all searches together after so many seconds; half of it is the joint plan's.",
    ),
]
GapOption = Annotated[
    float,
    typer.Option(
        "--gap",
        metavar="FRACTION",
        help="End it when the cost is proven to be so close to the least possible.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Seed of the search.")]
ExplainTimeLimitOption = Annotated[
    float,
    typer.Option(
        "--time-limit", metavar="SECONDS", help="Plan anew for about so many seconds in all."
    ),
]


def solve_settings(gap: float, time_limit_s: float, seed: int) -> "SolveSettings":
    """Gather the options of a search.

    Raises:
        ConfigurationError: one of them is out of its range.
    """
    from broker.domain.plan import SolveSettings  # noqa: PLC0415 - keeps `--help` quick

    if not 0 <= gap < 1:
        raise ConfigurationError(
            f"--gap {gap:g} is no share from 0 up to 1", hint="write 0.01 for one percent"
        )
    check_time_limit(time_limit_s)
    if not 0 <= seed <= _LARGEST_SEED:
        raise ConfigurationError(
            f"--seed {seed} is not between 0 and {_LARGEST_SEED}", hint="write a number such as 0"
        )
    return SolveSettings(gap_fraction=gap, time_limit_s=time_limit_s, seed=seed)


def check_time_limit(seconds: float) -> None:
    """Hold a time limit to what one may wait for.

    Raises:
        ConfigurationError: it is none, or more than a day.
    """
    if not 0 < seconds <= _LONGEST_S:
        raise ConfigurationError(
            f"--time-limit {seconds:g} is not between 0 and {_LONGEST_S} seconds",
            hint="write 60 for a minute",
        )
