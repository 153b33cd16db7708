"""Plans to export for the interop check: one of every name, and one of every trouble.

`recorded` buys a node of each kind of machine and place that the recordings offer, so that every
name that we could write is read by the packages. `mixed` has what a plan can make of a line: gangs
over two purchases, spot, replicas smaller than a node, weights in other formats.
"""

from collections.abc import Iterator, Mapping, Sequence

from export_plans import Parts, bought, machine, plan, served, trained
from tiny_cases import run_entry, service_entry

from broker.domain.gpu import Precision
from broker.domain.offer import UNKNOWN_REGION, Evidence, Offer, PriceKind
from broker.domain.plan import Plan
from broker.planning.service import open_service
from broker.settings import load_settings

_PLANNED = frozenset(PriceKind) - {PriceKind.SAVINGS_PLAN}
_DAY = 24.0


def sample_plans() -> Mapping[str, Plan]:
    """Give the plans by their names."""
    return {"mixed": _mixed(), "recorded": _recorded()}


def _mixed() -> Plan:
    rented = machine("aws/p5.48xlarge/us-east-1")
    reserved = machine("aws/p5.48xlarge/us-east-1", kind=PriceKind.RESERVED, usd="25")
    spot = machine("aws/g6e.12xlarge/us-west-2", "L40S", 4, "4", kind=PriceKind.SPOT)
    far = machine("gcp/a3-highgpu-8g/europe-west4", usd="60")
    serving = [
        served(reserved, (0, _DAY, 4, 6), (_DAY, 2 * _DAY, 2, 2), gpus=4, precision=Precision.FP8),
        served(spot, (0, 2 * _DAY, 6, 9), user_region="us-west", precision=Precision.INT4),
        served(far, (0, 6, 1, 0.5), (12, 18, 3, 4), gpus=8, user_region="eu-west"),
    ]
    return plan(
        [rented, reserved, spot, far],
        Parts(
            purchases=[
                bought(reserved, (0, 2 * _DAY, 3)),
                bought(rented, (6, 18, 2)),
                bought(spot, (0, 2 * _DAY, 4)),
                bought(far, (0, 6, 1), (12, 18, 3)),
            ],
            serving=serving,
            training=[trained(rented, 3, (6, 12), (14, 18)), trained(spot, 2, (0, _DAY))],
            services=[service_entry(1, 2)],
            runs=[run_entry(1e6)],
        ),
    )


def _recorded() -> Plan:
    offers = tuple(_telling(open_service(load_settings()).offers_from_recordings().offers))
    firsts = {(one.machine, one.price_kind is PriceKind.SPOT): one for one in reversed(offers)}
    clouds = {(one.provider, one.hardware.shape.gpu): one for one in firsts.values()}
    return plan(
        offers,
        Parts(
            purchases=[bought(one, (0, _DAY, 2)) for one in offers],
            serving=[served(one, (0, _DAY, 1, 1)) for one in firsts.values()],
            training=[trained(one, 1, (0, _DAY)) for one in clouds.values()],
        ),
    )


def _telling(offers: Sequence[Offer]) -> Iterator[Offer]:
    """Keep the offers that bring a machine or a place that none before them had."""
    seen: set[tuple[str, ...]] = set()
    for one in offers:
        shape = one.hardware.shape
        if one.price_kind not in _PLANNED or one.place.region == UNKNOWN_REGION:
            continue
        if one.provenance.evidence is Evidence.EXAMPLE:
            continue
        if shape.gpu_count.denominator > 1:
            continue
        kind = "spot" if one.price_kind is PriceKind.SPOT else "firm"
        told = {
            (one.provider, "machine", one.instance_type, one.tier, shape.gpu, kind),
            (one.provider, "region", one.place.region),
        }
        if told - seen:
            seen |= told
            yield one
