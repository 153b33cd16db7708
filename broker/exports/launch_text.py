"""What the files of a launching tool say to people, and the scripts that both tools run."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.exports.launches import LINE_LABEL, Launch, LeftOut, is_committed, price_cap
from broker.exports.lines import Line, ServingShare

_INDENT = "  "
_SHOWN_DIGITS = 12
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Written:
    """A file of an export, what it launches, and the command for it."""

    launch: Launch
    file: str
    command: str


def head(launch: Launch, command: str, notes: Iterable[str]) -> tuple[str, ...]:
    """Say on top of a file what it is of, what it costs, when, and how to launch it."""
    return (
        f"gpubroker plan line {launch.line.id}",
        _work(launch),
        _price(launch.line),
        *_times(launch),
        *notes,
        *((launch.target.to_do,) if launch.target.to_do else ()),
        f"Launch it: {command}",
    )


def ending_at(end: datetime, command: Sequence[str]) -> str:
    """Run a command until an instant: WINDOW_END of the environment, by default that of the plan.

    Past it the script fails at once, which keeps a launcher from starting it over and over.
    """
    return (
        f'end="${{WINDOW_END:-{stamp(end)}}}"\n'
        'left=$(( $(date -u -d "$end" +%s) - $(date -u +%s) ))\n'
        f"{over('$left')}"
        f'exec timeout --kill-after=60s "$left" {_wrapped(command)}\n'
    )


def over(left: str) -> str:
    """Fail where no time is left."""
    return (
        f'if [ "{left}" -le 0 ]; then\n'
        f'{_INDENT}echo "the window of the plan ended at $end" >&2\n'
        f"{_INDENT}exit 1\n"
        "fi\n"
    )


def stamp(at: datetime) -> str:
    """Write an instant as programs read it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def required(name: str, hint: str) -> str:
    """Stop a script where a variable of the environment is empty."""
    return f'if [ -z "${name}" ]; then\n{_INDENT}echo "{hint}" >&2\n{_INDENT}exit 1\nfi\n'


def read_me(plan: Plan, intro: str, written: Sequence[Written], left_out: Sequence[LeftOut]) -> str:
    """List what is launched with which command, and every line that is not, with the reason."""
    first, last = plan.workloads.horizon.start, plan.workloads.horizon.end
    cost = f"{plan.status.value}, {plan.total_usd:,.2f} USD"
    catalog = plan.catalog.snapshot[:_SHOWN_DIGITS]
    parts = [
        intro,
        f"The plan is from {_date(first)} to {_date(last)} ({cost}; catalog {catalog}).\n",
        *_launched(written),
        *not_launched(left_out),
    ]
    return "\n".join(parts)


def not_launched(left_out: Sequence[LeftOut]) -> Iterator[str]:
    """List the lines, and the workloads on them, that a tool does not launch, and why."""
    if left_out:
        yield "## Not launched\n"
        yield from (_left_out(one) for one in left_out)


def _launched(written: Sequence[Written]) -> Iterator[str]:
    if not written:
        yield "Nothing of it can be launched with this tool.\n"
        return
    yield "## Launched\n"
    for one in written:
        yield (
            f"- `{one.file}`: {_work(one.launch)}  \n"
            f"{_INDENT}{_price(one.launch.line)}  \n"
            f"{_INDENT}{LINE_LABEL}: `{one.launch.line.label}`  \n"
            f"{_INDENT}`{one.command}`\n"
        )


def _left_out(one: LeftOut) -> str:
    subject = f", {one.subject}" if one.subject else ""
    label = f"{_INDENT}{LINE_LABEL}: `{one.label}`"
    return f"- `{one.line}`{subject}: {one.reason}.  \n{label}\n"


def _work(launch: Launch) -> str:
    share = launch.share
    if not isinstance(share, ServingShare):
        one = share.assignment
        gang = f"{one.candidate.nodes} node{'s' * (one.candidate.nodes > 1)}"
        return f"The run {one.run} on {gang} ({one.candidate.layout}), {one.tokens:.3g} tokens."
    least, most = share.least_replicas, share.most_replicas
    count = f"{least} to {most}" if least < most else str(most)
    peak = max(step.requests_per_s for step in share.steps)
    candidate = share.assignment.candidate
    return (
        f"The service {share.assignment.service} for {share.assignment.user_region}: "
        f"{count} replica{'s' * (most > 1)} ({candidate.laid_out}, {candidate.precision}), "
        f"{peak:.3g} requests/s at most."
    )


def _price(line: Line) -> str:
    gpus, hours = line.offer.hardware.shape, line.purchase.node_hours
    kind = line.purchase.price_kind.value.replace("_", "-")
    cap = price_cap(line)
    price = f"{_usd(line.offer.effective_usd_per_hour)} USD an hour and node"
    if line.purchase.price_kind is PriceKind.OWNED:
        return f"Nodes of {gpus.gpu_count} {gpus.gpu}, {kind}; {hours:.4g} node-hours."
    limit = f", at most {cap:.2f}" if cap is not None else ", committed"
    return f"Nodes of {gpus.gpu_count} {gpus.gpu}, {kind}: {price}{limit}; {hours:.4g} node-hours."


def _usd(usd: Decimal) -> str:
    """Write dollars with cents, and with what is finer than cents."""
    exact = usd.normalize()
    return f"{max(usd.quantize(_CENT), exact, key=_decimals):f}"


def _decimals(usd: Decimal) -> int:
    exponent = usd.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _times(launch: Launch) -> Iterator[str]:
    for piece in launch.pieces:
        yield f"From {_date(piece.from_at)} to {_date(piece.to_at)}."
    if len(launch.pieces) > 1:
        yield "Launch each of these times anew, its end in WINDOW_END."
    if is_committed(launch.line):
        yield "The nodes are committed: they are paid for whether they run or not."


def _date(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _wrapped(command: Sequence[str]) -> str:
    """Write a command, its options on lines of their own."""
    lines: list[str] = []
    for word in command:
        if word.startswith("--") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return f" \\\n{_INDENT}".join(lines)
