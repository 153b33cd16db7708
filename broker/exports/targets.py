"""Where a line is launched: the cloud, region, machine and GPU in the words of a launching tool.

A line that a tool cannot launch as the plan means it has no target but a reason: another machine
under the same name would not be what was priced and sized.
"""

import re
from dataclasses import dataclass
from types import MappingProxyType

from broker.domain.offer import UNKNOWN_REGION, Offer, PriceKind
from broker.exports.lines import Line
from broker.specs.launchers import (
    Lack,
    LaunchCloud,
    Launchers,
    LaunchGpu,
    MachineNames,
    RegionNames,
)

_CONTINENTS = {"us": "NA", "sa": "SA", "eu": "EU", "ap": "AS", "me": "AS", "af": "AF", "oc": "OC"}
"""Vast's continents by ours; SkyPilot keeps them in a region's name."""

_COMMERCIAL = "commercial"

_MACHINE_NAMES = MappingProxyType(
    {
        MachineNames.SAME: (),
        MachineNames.UNNAMED: ((r"^.*$", ""),),
        MachineNames.UNLESS_ATTACHED: ((r"^.*\+.*$", ""),),
        MachineNames.HOST: ((r"\+.*$", ""),),
        MachineNames.UNCOUNTED: ((r"^\d+x ", ""),),
        MachineNames.COUNT_LAST: ((r"^(\d+)x (.*)$", r"\2-\1x"),),
        MachineNames.SPACED: ((r"^([^_]*)_", r"\1 "),),
        MachineNames.WITHOUT_CPUS: ((r"-\d+c$", ""),),
        MachineNames.NODE_ID: ((r"^(.{36})-.*$", r"\1"),),
        MachineNames.SHADEFORM: (("_", "-"), (r"^([^-]*)-", r"\1_"), (r"G(x|$)", r"GB\1")),
    }
)
"""What to replace in a provider's own name of a machine, in this order."""


@dataclass(frozen=True, slots=True)
class Target:
    """What to ask a tool for. `machine` is empty where the tool names machines otherwise.

    `to_do` is what comes before the first launch there, for a person.
    """

    cloud: LaunchCloud
    region: str
    zone: str
    machine: str
    gpu: LaunchGpu
    gpu_count: int
    to_do: str


@dataclass(frozen=True, slots=True)
class Unlaunchable:
    """Why a tool cannot launch a line."""

    reason: str


def target_of(line: Line, launchers: Launchers, tool: str) -> Target | Unlaunchable:
    """Say a line's place and machine in a tool's words, or why it has none."""
    offer = line.offer
    cloud = launchers.clouds.get(offer.provider)
    if cloud is None:
        return Unlaunchable(f"{tool} has no machines of {offer.provider} that we can name")
    refused = _refusal(line, cloud, tool)
    if refused:
        return Unlaunchable(refused)
    model = offer.hardware.shape.gpu
    gpu = launchers.gpu(cloud.cloud, model, offer.instance_type)
    if gpu is None:
        return Unlaunchable(f"{tool} has no name for {model} on {cloud.cloud}")
    machine = _machine(offer, cloud.machines)
    if not machine and not gpu.is_exact:
        return Unlaunchable(
            f"{tool} calls other cards {gpu.name} too on {cloud.cloud}, so it could launch "
            f"another machine than the {model} that was planned"
        )
    region, zone = _region(offer, cloud.regions)
    is_known = not cloud.known_regions or region in cloud.known_regions
    if not is_known and not cloud.more_regions:
        return Unlaunchable(f"{tool} does not know {region} of {cloud.cloud}")
    return Target(
        cloud=cloud,
        region=region,
        zone=zone,
        machine=machine,
        gpu=gpu,
        gpu_count=int(offer.hardware.shape.gpu_count),
        to_do="" if is_known else f"To launch in {region}, first {cloud.more_regions}",
    )


def _refusal(line: Line, cloud: LaunchCloud, tool: str) -> str:
    offer = line.offer
    if offer.place.region == UNKNOWN_REGION:
        return "the offer names no region"
    if offer.place.partition != _COMMERCIAL:
        return f"{tool} launches nothing in the {offer.place.partition} partition"
    if cloud.tiers and offer.tier and offer.tier not in cloud.tiers:
        return f"{tool} does not launch the tier {offer.tier} of {offer.provider}"
    if not cloud.tiers and offer.tier:
        return f"{tool} has no word for the tier {offer.tier} of {offer.provider}"
    if line.purchase.price_kind is PriceKind.SPOT and Lack.SPOT in cloud.lacks:
        return f"{tool} does not launch spot machines of {offer.provider}"
    return ""


def _machine(offer: Offer, names: MachineNames) -> str:
    """Give the tool's name of the machine, empty where it has none of its own."""
    name = offer.instance_type
    for pattern, replacement in _MACHINE_NAMES[names]:
        name = re.sub(pattern, replacement, name)
    return name


def _region(offer: Offer, names: RegionNames) -> tuple[str, str]:
    """Give the tool's name of the region, and of the zone where our region is one."""
    own = offer.place.region
    match names:
        case RegionNames.RUNPOD_COUNTRY:
            parts = own.split("-")
            if len(parts) == 1:
                return own, ""
            return (parts[0] if parts[0] in {"US", "CA"} else parts[1]), own
        case RegionNames.VAST_CONTINENT:
            continent = _CONTINENTS.get(offer.place.continent or "", "")
            place = own if ", " in own else f", {own}"
            return f"{place}, {continent}", ""
        case RegionNames.COUNTRY_FIRST:
            state, _, country = own.rpartition(", ")
            return "-".join(part for part in (country, state) if part).lower().replace(" ", ""), ""
        case RegionNames.SAME:
            return own, ""
