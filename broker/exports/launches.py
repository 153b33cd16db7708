"""What a plan has to launch with a tool: services and runs of its lines, and what is left out."""

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from broker.domain.gpu import Stack
from broker.domain.offer import PriceKind
from broker.domain.plan import Plan, RunStep
from broker.exports.files import NOTHING_EXECUTED, Executed, line_label
from broker.exports.lines import Line, ServingShare, TrainingShare, lines
from broker.exports.targets import Target, Unlaunchable, target_of
from broker.specs.launchers import Lack, Launchers

Share = ServingShare | TrainingShare

LINE_LABEL = "gpubroker-line"
WORKLOAD_LABEL = "gpubroker-workload"
COMMITMENT_LABEL = "gpubroker-commitment"
ISOLATED_TAINT = "gpubroker-isolated"
"""The mark of nodes that are one workload's: it keeps all others off them."""

_PRICE_MARGIN = Decimal("1.1")
_CENT = Decimal("0.01")
_BY_THE_HOUR = frozenset({PriceKind.ON_DEMAND, PriceKind.SPOT})
_STACKS = frozenset({Stack.CUDA, Stack.ROCM})
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")
_LONGEST_WORDS = 28
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Launch:
    """A service or a run on a line, and where it is launched.

    `name` is the same in every export of the plan: a letter, then letters, digits and dashes, 40
    at most.
    """

    name: str
    line: Line
    share: Share
    target: Target

    @property
    def workload(self) -> str:
        """Name the service or the run."""
        if isinstance(self.share, ServingShare):
            return self.share.assignment.service
        return self.share.assignment.workload

    @property
    def window(self) -> tuple[datetime, datetime]:
        """Give the first and the last instant of the work."""
        steps = self.pieces
        return steps[0].from_at, steps[-1].to_at

    @property
    def pieces(self) -> tuple[RunStep, ...]:
        """Give the times without a gap in which the work is up."""
        found: list[RunStep] = []
        is_service = isinstance(self.share, ServingShare)
        for step in self.share.steps if is_service else self.share.assignment.steps:
            start = step.from_at
            if found and found[-1].to_at == start:
                start = found.pop().from_at
            found.append(RunStep(from_at=start, to_at=step.to_at))
        return tuple(found)

    @property
    def is_spot(self) -> bool:
        """Say whether the line's nodes may be taken away."""
        return self.line.purchase.price_kind is PriceKind.SPOT

    @property
    def labels(self) -> dict[str, str]:
        """Mark what is launched with the plan's line."""
        return labels_of(self.line) | {WORKLOAD_LABEL: _NOT_A_WORD.sub("-", self.workload)}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line of the plan by its id, or a workload on it, that the tool does not launch, and why."""

    line: str
    subject: str
    reason: str

    @property
    def label(self) -> str:
        """Name the line where only letters, digits and dashes may stand."""
        return line_label(self.line)


def launches(
    plan: Plan, launchers: Launchers, tool: str, executed: Executed = NOTHING_EXECUTED
) -> tuple[Launch | LeftOut, ...]:
    """List what to launch, in the order of the plan's lines; nothing is launched twice."""
    every = lines(plan)
    nodes = (
        found
        for line in every
        for found in (
            (LeftOut(line.id, "", executed[line.id]),)
            if line.id in executed
            else _of_line(line, every, launchers, tool)
        )
    )
    return (*nodes, *promises(plan, executed))


def promises(plan: Plan, executed: Executed = NOTHING_EXECUTED) -> Iterator[LeftOut]:
    """List the savings plans, which no tool that launches nodes can buy."""
    for one in plan.purchases:
        if one.savings is not None:
            said = f"a savings plan of {one.savings.usd_per_hour:.3f} USD an hour is bought by hand"
            yield LeftOut(one.id, "", executed.get(one.id, said))


def labels_of(line: Line) -> dict[str, str]:
    """Mark a line: its stable label, and what it is committed to."""
    labels = {LINE_LABEL: line.label}
    if is_committed(line):
        terms = line.purchase.id.rpartition("@")[2] or line.purchase.price_kind.value
        labels[COMMITMENT_LABEL] = _NOT_A_WORD.sub("-", terms.lower()).strip("-")
    return labels


def isolated_for(line: Line) -> str | None:
    """Name the workload that alone may be on the line's nodes, as the value of their taint."""
    name = line.purchase.isolated_for
    return None if name is None else short_name(name)


def is_committed(line: Line) -> bool:
    """Say whether the nodes are paid for whether they run or not."""
    return line.purchase.price_kind not in _BY_THE_HOUR


def price_cap(line: Line) -> Decimal | None:
    """Give the dollars per hour and node not to pay more than; None for what is committed.

    It is a tenth above the plan's price: a dearer machine is another decision.
    """
    if is_committed(line):
        return None
    return (line.offer.usd_per_hour * _PRICE_MARGIN).quantize(_CENT, rounding=ROUND_CEILING)


def short_name(words: str, of: str = "") -> str:
    """Name a thing by words, and by what else tells it apart; fit for every tool."""
    shown = _NOT_A_WORD.sub("-", words.lower()).strip("-")[:_LONGEST_WORDS].strip("-")
    if not shown[:1].isalpha():
        shown = f"w-{shown}"
    return f"{shown}-{hashlib.sha256(f'{words} {of}'.encode()).hexdigest()[:_DIGITS]}"


def copies_on_node(launch: Launch) -> int:
    """Count the replicas of a service that one of its nodes carries."""
    if not isinstance(launch.share, ServingShare):
        return 1
    fit = launch.target.gpu_count // launch.share.assignment.candidate.layout.gpus
    return max(1, min(fit, launch.share.most_replicas))


def nodes_of(launch: Launch) -> int:
    """Count the whole nodes that a launch takes at most."""
    if isinstance(launch.share, ServingShare):
        return math.ceil(launch.share.most_replicas / copies_on_node(launch))
    return launch.share.assignment.candidate.nodes


def _of_line(
    line: Line, every: tuple[Line, ...], launchers: Launchers, tool: str
) -> Iterator[Launch | LeftOut]:
    shares: tuple[Share, ...] = (*line.serving, *line.training)
    if not shares:
        yield LeftOut(line.id, "", "nothing of the plan runs on it")
        return
    target = target_of(line, launchers, tool)
    for share in shares:
        subject = _subject(share)
        if isinstance(target, Unlaunchable):
            yield LeftOut(line.id, subject, target.reason)
            continue
        reason = _refusal(line, share, target, every)
        if reason:
            yield LeftOut(line.id, subject, reason)
        else:
            yield Launch(_name(line, share, subject), line, share, target)


def _refusal(line: Line, share: Share, target: Target, every: tuple[Line, ...]) -> str:
    lacks, stack = target.cloud.lacks, line.offer.hardware.stack
    if stack not in _STACKS:
        return f"there is no recipe for {stack.value} accelerators"
    if stack is Stack.ROCM and Lack.DOCKER in lacks:
        return f"it starts no container image on {target.cloud.cloud}, which ROCm needs"
    if isinstance(share, ServingShare):
        return _no_service(share, target)
    if not share.is_home:
        return f"its nodes are part of the gang that is launched under {_home(share, every)}"
    if share.assignment.candidate.nodes > 1 and Lack.MULTI_NODE in lacks:
        return f"it launches no gang of nodes on {target.cloud.cloud}"
    return ""


def _no_service(share: ServingShare, target: Target) -> str:
    if share.assignment.candidate.gpu_slice is not None:
        return "it cuts no GPU into MIG slices; the Kubernetes export asks for them"
    if share.assignment.candidate.pool is not None:
        return "it joins no pools of prompts and answers; the Kubernetes export writes both"
    return f"it opens no ports on {target.cloud.cloud}" if Lack.PORTS in target.cloud.lacks else ""


def _home(share: TrainingShare, every: tuple[Line, ...]) -> str:
    return next(
        line.label
        for line in every
        for other in line.training
        if other.is_home and other.assignment is share.assignment
    )


def _subject(share: Share) -> str:
    if isinstance(share, ServingShare):
        return f"{share.assignment.service}-{share.assignment.user_region}"
    return share.assignment.run


def _name(line: Line, share: Share, subject: str) -> str:
    return short_name(subject, of=f"{line.id} {share.assignment.candidate.id}")
