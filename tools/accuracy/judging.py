"""What every kind of measurement is judged with: one verdict a row, and summaries of many."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

_TOP_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Verdict:
    """One measurement beside its prediction; without one, `reason` says why it is refused.

    `predicted`, `low`, `high` and `measured` are in the unit of the measurement; `low` to `high` is
    the 90 % band. `naive` are the predictions of baselines, by name.
    """

    id: str
    gpu: str
    kind: str
    metric: str
    measured: float
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    label: str = ""
    reason: str = ""
    naive: Mapping[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float | None:
        """Give |predicted − measured| / measured; None where refused."""
        if self.predicted is None or not self.measured:
            return None
        return abs(self.predicted / self.measured - 1)

    @property
    def is_within(self) -> bool | None:
        """Say whether the measurement lies in the band; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class Summary:
    """A group of verdicts: counts, errors in percent, and the share that the bands hold."""

    group: str
    rows: int
    refused: int
    median_percent: float | None
    top_percent: float | None
    within_share: float | None
    naive_percent: Mapping[str, float]


def summaries(verdicts: Sequence[Verdict], key: Callable[[Verdict], str]) -> list[Summary]:
    """Summarize by a key, in the order of the groups' names."""
    groups: dict[str, list[Verdict]] = {}
    for one in verdicts:
        groups.setdefault(key(one), []).append(one)
    return [summary(name, groups[name]) for name in sorted(groups)]


def summary(name: str, verdicts: Sequence[Verdict]) -> Summary:
    """Summarize one group; the top error is the 90th percentile."""
    errors = sorted(one.error for one in verdicts if one.error is not None)
    held = [one.is_within for one in verdicts if one.is_within is not None]
    return Summary(
        group=name,
        rows=len(verdicts),
        refused=sum(one.predicted is None for one in verdicts),
        median_percent=percent(errors, 0.5),
        top_percent=percent(errors, _TOP_SHARE),
        within_share=sum(held) / len(held) if held else None,
        naive_percent=_naive(verdicts),
    )


def percent(errors: Sequence[float], share: float) -> float | None:
    """Give a quantile of sorted errors in percent; None of none."""
    if not errors:
        return None
    place = min(len(errors) - 1, round(share * (len(errors) - 1)))
    return 100 * errors[place]


def _naive(verdicts: Iterable[Verdict]) -> dict[str, float]:
    errors: dict[str, list[float]] = {}
    for one in verdicts:
        for name, guess in one.naive.items():
            if one.measured:
                errors.setdefault(name, []).append(abs(guess / one.measured - 1))
    return {name: 100 * median(found) for name, found in errors.items()}
