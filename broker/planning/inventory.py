"""What a plan may use of the inventory: nodes that are paid for, where the policy lets work stand.

A policy on providers, regions and certifications holds for all nodes that work is on, however they
are paid for. So what it forbids of the inventory stays unused, and a warning says so.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from broker.domain.case import OwnedNodes
from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer
from broker.domain.workload import Workloads
from broker.planning.filters import Freshness, why_unusable


@dataclass(frozen=True, slots=True)
class UsableInventory:
    """Owned nodes that work may be on, offers that describe them, and what is said of the rest."""

    owned: tuple[OwnedNodes, ...]
    offers: tuple[Offer, ...]
    warnings: tuple[str, ...]


def usable_inventory(
    workloads: Workloads, offers: Iterable[Offer], freshness: Freshness
) -> UsableInventory:
    """Part what of the inventory may be used from what the policy forbids.

    Raises:
        ConfigurationError: the inventory names a machine that is not in the catalog.
    """
    sold: dict[str, list[Offer]] = defaultdict(list)
    names = {one.offer for one in workloads.inventory}
    for offer in offers:
        if offer.machine in names:
            sold[offer.machine].append(offer)
    owned, described, warnings = [], list[Offer](), []
    for number, one in enumerate(workloads.inventory):
        if one.offer not in sold:
            raise ConfigurationError(
                f"inventory[{number}].offer: no machine {one.offer!r} in the catalog",
                hint="write provider/instance-type/region as `gpubroker offers` shows it, "
                "or describe the hardware in a price sheet and pass it with --sheet",
            )
        reasons = {
            offer.key: why_unusable(offer, workloads.policy, freshness) for offer in sold[one.offer]
        }
        usable = [offer for offer in sold[one.offer] if reasons[offer.key] is None]
        if usable:
            owned.append(OwnedNodes(one.offer, one.nodes, one.until, one.isolated_for))
            described.extend(usable)
        else:
            reason = reasons[min(reasons)]
            warnings.append(f"inventory: what is owned of {one.offer} is not used: {reason}")
    return UsableInventory(tuple(owned), tuple(described), tuple(warnings))
