"""A plan's lines of AWS, Azure and GCP as Terraform: node pools, reservations, commitments.

Nothing costs money before a person says so: what is paid whether it is used or not is created where
`commit_money` is set, node pools where `run_nodes` is; both are off by default. A commitment that a
provider has no resource for is a comment that says how to buy it. Every resource type and attribute
is a row of broker/specs/terraform_attributes.csv with the documentation that it was taken from.

Assumed: clusters, roles and subnets are there, and are named by variables; the pools hold the nodes
that the Kubernetes export selects. Times are comments: Terraform holds a state, not a schedule.
"""

from collections.abc import Iterator
from itertools import pairwise

from broker.domain.offer import PriceKind
from broker.domain.plan import Plan
from broker.exports.files import NOTHING_EXECUTED, Executed, ExportFile
from broker.exports.hcl import Block, Expression, Value, hcl_text
from broker.exports.lines import Line, lines
from broker.exports.terraform_clouds import CLOUDS
from broker.exports.terraform_parts import COMMIT, RUN, Cloud, holds_capacity

_HEAD = """\
Written by gpubroker of a purchase plan, {first} to {last}.
Each resource carries the label of its line of the plan (gpubroker-line).
As it stands this creates nothing: see commit_money and run_nodes."""


_EXECUTED_HEAD = """\
Some lines were executed already and are not here. Apply this in a folder of its own: Terraform
destroys what its state has and its files lack."""


def export(plan: Plan, executed: Executed = NOTHING_EXECUTED) -> tuple[ExportFile, ...]:
    """Write main.tf, and a file for each cloud that has lines; without any there is none.

    Lines that were executed already are left out, but for a comment.
    """
    every = [one for one in lines(plan) if one.id not in executed]
    used = {name: [one for one in every if one.offer.provider == name] for name in CLOUDS}
    clouds = {name: of for name, of in used.items() if of}
    if not clouds:
        return ()
    others = [one for one in every if one.offer.provider not in CLOUDS]
    main = (*_main(plan, clouds), *_not_covered(others), *_promised(plan))
    main += tuple(_executed(plan, executed))
    return (
        ExportFile("main.tf", hcl_text(main)),
        *(ExportFile(f"{name}.tf", hcl_text(resources(of, name))) for name, of in clouds.items()),
    )


def resources(of: list[Line], cloud: str) -> tuple[Block, ...]:
    """Write what each line of a cloud needs."""
    return tuple(block for line in of for block in _of_line(line, CLOUDS[cloud]))


def _of_line(line: Line, cloud: Cloud) -> Iterator[Block]:
    yield Block("", (), {}, comments=tuple(_about(line)))
    kind = line.purchase.price_kind
    if kind is PriceKind.CAPACITY_BLOCK:
        yield from cloud.block(line)
        return
    if kind in (PriceKind.RESERVED, PriceKind.CONTRACT):
        yield from cloud.commitment(line)
    steady = _steady_nodes(line)
    if holds_capacity(line, steady):
        yield from cloud.reservation(line, steady)
    yield cloud.pool(line, steady)


def _about(line: Line) -> Iterator[str]:
    shape = line.offer.hardware.shape
    price = f"{line.offer.effective_usd_per_hour:f}"
    yield f"Plan line {line.id}"
    yield (
        f"{shape.gpu_count} {shape.gpu} a node, {price} USD an hour and node, "
        f"{line.purchase.usd:f} USD in the plan"
    )
    for step in line.purchase.steps:
        yield f"  {step.from_at:%Y-%m-%dT%H:%MZ} to {step.to_at:%Y-%m-%dT%H:%MZ}: {step.nodes}"


def _steady_nodes(line: Line) -> int:
    """Count the nodes that the line has all the time; none where there is a gap."""
    steps = line.purchase.steps
    whole = all(one.to_at == after.from_at for one, after in pairwise(steps))
    return min(step.nodes for step in steps) if whole else 0


def _main(plan: Plan, clouds: dict[str, list[Line]]) -> Iterator[Block]:
    horizon = plan.workloads.horizon
    head = _HEAD.format(first=f"{horizon.start:%Y-%m-%d}", last=f"{horizon.end:%Y-%m-%d}")
    sources: dict[str, Value] = {
        CLOUDS[name].provider: {
            "source": f"hashicorp/{CLOUDS[name].provider}",
            "version": CLOUDS[name].version,
        }
        for name in clouds
    }
    required = Block("required_providers", (), sources)
    version: dict[str, Value] = {"required_version": ">= 1.5"}
    yield Block("terraform", (), version, (required,), comments=(head,))
    labels = [line.label for of in clouds.values() for line in of]
    yield _variable(COMMIT, "bool", "Buy what is paid for whether it is used or not.", value=False)
    yield _variable(RUN, "bool", "Create node pools, whose nodes cost by the hour.", value=False)
    yield _variable("lines", "set(string)", "Labels of the plan's lines to create.", value=labels)
    for name in clouds:
        for variable, kind, description in CLOUDS[name].variables:
            yield _variable(variable, kind, description, value=Expression("{}"))


def _variable(name: str, kind: str, description: str, *, value: Value) -> Block:
    attributes: dict[str, Value] = {
        "description": description,
        "type": Expression(kind),
        "default": value,
    }
    return Block("variable", (name,), attributes)


def _not_covered(others: list[Line]) -> Iterator[Block]:
    for line in others:
        yield Block("", (), {}, comments=(f"Not here: {line.id} ({line.offer.provider})",))


def _promised(plan: Plan) -> Iterator[Block]:
    for one in plan.purchases:
        if one.savings is not None:
            said = f"a savings plan of {one.savings.usd_per_hour:.3f} USD/h, bought by hand"
            yield Block("", (), {}, comments=(f"Not here: {one.id}, {said}",))


def _executed(plan: Plan, executed: Executed) -> Iterator[Block]:
    done = [one.id for one in plan.purchases if one.id in executed]
    if done:
        yield Block("", (), {}, comments=(_EXECUTED_HEAD,))
    for line in done:
        yield Block("", (), {}, comments=(f"Not here: {line}, {executed[line]}",))
