"""Budgets: most that may be spent, on all or on a part of the plan."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Protocol, Self

from pydantic import AfterValidator, Field, model_validator

from broker.domain.horizon import Horizon
from broker.domain.quantities import Frozen, Usd, quantize_usd


class Budget(Frozen):
    """Most that may be spent, on the whole plan or on a part of it.

    The part is one of `provider` (who sends the bill), `team` and `workload`. One amount is given:
    `usd_per_hour` holds in every slot, `usd_per_month` on average over the horizon (a month has 730
    hours), `usd` for the whole horizon, `usd_per_calendar_month` in each month of the calendar
    (UTC) for what falls due in it, all of it where only a part of the month is in the horizon.
    Teams and workloads are charged at list prices, see `list_usd_per_hour` in
    broker/domain/list_price.py.
    A budget with `over_usd_per_usd` is soft: it may be exceeded at this price for each dollar over,
    which counts as a cost of the plan.
    """

    provider: str | None = None
    team: str | None = None
    workload: str | None = None
    usd_per_hour: Usd | None = None
    usd_per_month: Usd | None = None
    usd_per_calendar_month: Annotated[
        Usd | None, Field(exclude_if=lambda amount: amount is None)
    ] = None
    usd: Usd | None = None
    over_usd_per_usd: Annotated[Decimal, Field(gt=0), AfterValidator(quantize_usd)] | None = None

    @model_validator(mode="after")
    def _one_part_and_one_amount(self) -> Self:
        parts = [one for one in (self.provider, self.team, self.workload) if one is not None]
        if len(parts) > 1:
            raise ValueError(
                f"names {' and '.join(map(repr, parts))}; a budget is for one provider, team or "
                "workload, or for the whole plan where none is named"
            )
        if len(self._amounts()) != 1:
            raise ValueError(
                "give exactly one of usd_per_hour, usd_per_month, usd_per_calendar_month, usd"
            )
        return self

    @property
    def amount_key(self) -> str:
        """Name the key that holds the amount."""
        return next(iter(self._amounts()))

    @property
    def amount_usd(self) -> Decimal:
        """Give the amount, in the unit of its key."""
        return next(iter(self._amounts().values()))

    @property
    def is_hourly(self) -> bool:
        """Say whether it holds in every slot."""
        return self.usd_per_hour is not None

    @property
    def is_by_month(self) -> bool:
        """Say whether it holds in each month of the calendar."""
        return self.usd_per_calendar_month is not None

    @property
    def is_for_work(self) -> bool:
        """Say whether it is charged by the work of a team or workload, at list prices."""
        return self.team is not None or self.workload is not None

    @property
    def scope(self) -> str:
        """Say what it is for, for people."""
        for word, name in (
            ("provider", self.provider),
            ("team", self.team),
            ("workload", self.workload),
        ):
            if name is not None:
                return f"{word} {name}"
        return "the plan"

    def is_with(self, provider: str) -> bool:
        """Say whether nodes of a provider count, its name in any case."""
        return self.provider is None or self.provider.casefold() == provider.casefold()

    def covers(self, workload: str, team: str | None) -> bool:
        """Say whether it is for the work of a workload, by its name or its team's.

        A day of a batch job is named `job@date`, and is the job's work.
        """
        is_own = self.workload == workload.partition("@")[0]
        return is_own or (self.team is not None and self.team == team)

    def _amounts(self) -> dict[str, Decimal]:
        given = {
            "usd_per_hour": self.usd_per_hour,
            "usd_per_month": self.usd_per_month,
            "usd_per_calendar_month": self.usd_per_calendar_month,
            "usd": self.usd,
        }
        return {key: amount for key, amount in given.items() if amount is not None}


class Labelled(Protocol):
    """A service or run: its name, and the team that it is for."""

    @property
    def name(self) -> str:
        """Give the name."""

    @property
    def team(self) -> str | None:
        """Give the team, if one is named."""


def check_names(budgets: Sequence[Budget], workloads: Sequence[Labelled]) -> None:
    """See that the workloads and teams of budgets are there.

    Raises:
        ValueError: one is not.
    """
    names = {"workload": {one.name for one in workloads}}
    names["team"] = {one.team for one in workloads if one.team is not None}
    for number, budget in enumerate(budgets):
        for word, name in (("workload", budget.workload), ("team", budget.team)):
            if name is not None and name not in names[word]:
                known = ", ".join(sorted(names[word])) or "none"
                raise ValueError(
                    f"policy.budgets[{number}] is for the {word} {name!r}, which no service or run "
                    f"has; there are: {known}"
                )


def check_months(budgets: Sequence[Budget], horizon: Horizon) -> None:
    """See that slots end with the month where a budget is for each month of the calendar.

    Raises:
        ValueError: a slot is in two months.
    """
    for number, budget in enumerate(budgets):
        for start_at, _ in horizon.months()[1:] if budget.is_by_month else ():
            if (start_at - horizon.start) % horizon.slot:
                raise ValueError(
                    f"policy.budgets[{number}].usd_per_calendar_month: a slot of {horizon.slot} "
                    f"from {horizon.start:%Y-%m-%d %H:%M} on crosses the end of the month at "
                    f"{start_at:%Y-%m-%d}; let the horizon start at 00:00 UTC, or write shorter "
                    "slots"
                )
