"""The rules of a workloads file as ladders: from the value that it has to ever looser ones.

A step is the smallest change worth naming (a slot, a GPU, ten milliseconds), so that "one step
less" means something. What a step changes is worked out on the workloads that it is applied to;
so the steps of several rules can be taken together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from broker.domain.workload import Workloads
from broker.planning.tree import Tree, with_value

Edits = Mapping[str, object]
"""New values by their dotted paths in the workloads file, entries of lists by their number."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its path as people read it, its value, and looser values step by step.

    `edits` and `text` are for steps from 1 to `steps`. Where `is_sized` the options have to be
    sized anew; else the case stays and only its rules change. `can_save` is false of rules that
    make no plan cheaper.
    """

    path: str
    value: str
    steps: int
    edits: Callable[[Workloads, int], Edits]
    text: Callable[[int], str]
    is_sized: bool = False
    can_save: bool = True

    def at(self, workloads: Workloads, step: int) -> Workloads:
        """Take so many steps; none leaves the workloads as they are."""
        return edited(workloads, self.edits(workloads, step)) if step else workloads

    def said(self, step: int) -> str:
        """Write the value after so many steps."""
        return self.text(step) if step else self.value


def edited(workloads: Workloads, edits: Edits) -> Workloads:
    """Put other values into workloads; the rules of the file hold for what comes out."""
    data: Tree = workloads.model_dump(by_alias=True)
    for path, value in edits.items():
        data = with_value(data, path, value)
    return Workloads.model_validate(data, strict=False)


def ladder(
    path: str, place: str, value: str, values: Sequence[tuple[object, str]], *, is_sized: bool
) -> Rule:
    """Make a rule of a few looser values, each with its text, the nearest first."""
    return Rule(
        path=path,
        value=value,
        steps=len(values),
        edits=lambda _, step: {place: values[step - 1][0]},
        text=lambda step: values[step - 1][1],
        is_sized=is_sized,
    )


def without_entry(path: str, entry: str, listed: Callable[[Workloads], Sequence[str]]) -> Rule:
    """Make a rule of one entry of a list, which may be taken out."""
    return Rule(
        path=path,
        value=entry,
        steps=1,
        edits=lambda workloads, _: {path: tuple(one for one in listed(workloads) if one != entry)},
        text=lambda _: f"without {entry}",
        is_sized=True,
    )


def duration(length: timedelta) -> str:
    """Write a length of time in the unit that people use for it."""
    seconds = length.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:g} ms"
    return f"{seconds:g} s" if seconds < 3600 else f"{seconds / 3600:g} h"  # noqa: PLR2004 - an hour
