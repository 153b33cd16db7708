"""A question to the catalog: which offers, in which order; from a person's words to columns.

A name that neither the catalog nor a table knows is an error: a list that silently leaves out what
was asked for would be taken for the answer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from broker.catalog.listing import JOINT, Listing, Name, Number
from broker.catalog.selection import Order, Selection, simple
from broker.domain.errors import ConfigurationError
from broker.domain.gpu import GpuModel
from broker.domain.quantities import MICRO_USD
from broker.planning.gpu_filter import matching_gpus
from broker.planning.known import Known
from broker.planning.nearest import MOST, unknown

CONTINENTS: Mapping[str, str] = {
    "us": "North America",
    "sa": "South America",
    "eu": "Europe",
    "ap": "Asia and the Pacific",
    "me": "Middle East",
    "af": "Africa",
    "oc": "Oceania",
}
"""The codes of continents, and what they stand for."""

_CODE = 2  # letters of a country's code
_GB_PER_TB = 1000
_TFLOPS_PER_PFLOPS = 1000


class Sort(StrEnum):
    """What offers are ordered by, cheapest first; one without the figure comes last."""

    PRICE = "price"
    PER_GPU = "price-per-gpu"
    PER_GB = "price-per-gb"
    PER_TB_S = "price-per-tb-s"
    PER_PFLOP_S = "price-per-pflop-s"


class Compute(StrEnum):
    """The number formats for which data sheets state a rate of dense compute."""

    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT8 = "int8"
    FP32 = "fp32"


@dataclass(frozen=True, slots=True)
class OfferQuery:
    """Which offers to list, in a person's words; an empty field allows all, case counts nowhere.

    `regions` match a region or a zone; all `certifications` must be stated; `terms` are months.
    `min_memory_gb` is of one GPU and `min_node_memory_gb` of all of a node, as GPUs are sold.
    Prices spread upfront parts over the term. `held` asks for what is held back, and only that.
    """

    gpus: frozenset[str] = frozenset()
    forms: frozenset[str] = frozenset()
    min_gpus: float | None = None
    max_gpus: float | None = None
    min_memory_gb: float | None = None
    min_node_memory_gb: float | None = None
    min_bandwidth_gb_per_s: float | None = None
    links: frozenset[str] = frozenset()
    fabrics: frozenset[str] = frozenset()
    min_fabric_gbit_per_s: float | None = None
    bare_metal: bool = False
    price_kinds: frozenset[str] = frozenset()
    terms: frozenset[int] = frozenset()
    regions: frozenset[str] = frozenset()
    countries: frozenset[str] = frozenset()
    continents: frozenset[str] = frozenset()
    certifications: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    clouds: frozenset[str] = frozenset()
    max_usd_per_gpu_hour: Decimal | None = None
    max_usd_per_hour: Decimal | None = None
    held: bool = False


def selection_of(
    query: OfferQuery, listing: Listing, tables: Known, *, providers: Iterable[str] = ()
) -> Selection:
    """Say in columns what is asked for; `providers` are those that can be asked.

    Raises:
        ConfigurationError: a name is not known; the hint has the nearest ones.
    """
    return Selection(
        names=_names(query, listing, tables, frozenset(providers)),
        places=_regions(query.regions, listing, tables),
        certifications=_certifications(query.certifications, listing),
        terms=query.terms,
        least=_bounds(
            {
                Number.GPU_COUNT: query.min_gpus,
                Number.GPU_MEMORY_GIB: query.min_memory_gb,
                Number.MEMORY_GIB: query.min_node_memory_gb,
                Number.FABRIC_GBIT_PER_S: query.min_fabric_gbit_per_s,
            }
        ),
        most=_bounds(
            {
                Number.GPU_COUNT: query.max_gpus,
                Number.GPU_HOUR: _micro(query.max_usd_per_gpu_hour),
                Number.NODE_HOUR: _micro(query.max_usd_per_hour),
            }
        ),
        sold_gb_per_gib={gpu.name: gpu.memory_gb / gpu.memory_gib for gpu in tables.gpus.values()},
        held=query.held,
    )


def order_of(sort: Sort, compute: Compute, gpus: Mapping[str, GpuModel]) -> Order:
    """Say in columns what to order by."""
    match sort:
        case Sort.PRICE:
            return Order(Number.NODE_HOUR)
        case Sort.PER_GPU:
            return Order(Number.GPU_HOUR)
        case Sort.PER_GB:
            return Order(Number.NODE_HOUR, per=Number.MEMORY_GIB)
        case Sort.PER_TB_S:
            return Order(units={gpu.name: tb_per_s(gpu) for gpu in gpus.values()})
        case Sort.PER_PFLOP_S:
            rates = {gpu.name: pflop_per_s(gpu, compute) for gpu in gpus.values()}
            return Order(units={name: rate for name, rate in rates.items() if rate})


def tb_per_s(gpu: GpuModel) -> float:
    """Give the memory bandwidth of one GPU in TB/s."""
    return gpu.memory_gb_per_s / _GB_PER_TB


def pflop_per_s(gpu: GpuModel, compute: Compute) -> float | None:
    """Give the dense compute of one GPU in PFLOP/s, None where its data sheet states none."""
    tflops = {
        Compute.BF16: gpu.bf16_tflops,
        Compute.FP8: gpu.fp8_tflops,
        Compute.FP4: gpu.fp4_tflops,
        Compute.INT8: gpu.int8_tflops,
        Compute.FP32: gpu.fp32_tflops,
    }[compute]
    return tflops / _TFLOPS_PER_PFLOPS if tflops else None


def _names(
    query: OfferQuery, listing: Listing, tables: Known, providers: frozenset[str]
) -> Mapping[Name, frozenset[str]]:
    sellers = {*listing.named(Name.PROVIDER).names, *providers}
    owners = {*listing.named(Name.CLOUD).names, *sellers}
    wanted = {
        Name.PROVIDER: _clouds("provider", query.providers, sellers, tables),
        Name.CLOUD: _clouds("cloud", query.clouds, owners, tables),
        Name.LINK: query.links,
        Name.FABRIC: query.fabrics,
        Name.VIRTUALIZATION: frozenset({"bare_metal"} if query.bare_metal else ()),
        Name.PRICE_KIND: query.price_kinds,
        Name.COUNTRY: frozenset(_country(one, listing, tables) for one in query.countries),
        Name.CONTINENT: frozenset(_continent(one) for one in query.continents),
    }
    names = {column: allowed for column, allowed in wanted.items() if allowed}
    if query.gpus or query.forms or query.min_bandwidth_gb_per_s is not None:
        names[Name.GPU] = frozenset(name.lower() for name in _gpus(query, listing, tables))
    return names


def _gpus(query: OfferQuery, listing: Listing, tables: Known) -> frozenset[str]:
    """List the models that are called so, have the form and the bandwidth; maybe none."""
    found = frozenset(tables.gpus)
    if query.gpus:
        counts = listing.named(Name.GPU).counted()
        common = sorted(counts, key=lambda name: (-counts[name], name))[:MOST]
        called = [matching_gpus(one, tables, common=common) for one in sorted(query.gpus)]
        found = frozenset[str]().union(*called)
    if query.forms:
        forms = {gpu.form.lower(): gpu.form for gpu in tables.gpus.values()}
        for form in sorted(query.forms):
            if form.lower() not in forms:
                raise unknown("form", form, forms.values())
        wanted = {form.lower() for form in query.forms}
        found = frozenset(one for one in found if tables.gpus[one].form.lower() in wanted)
    least = query.min_bandwidth_gb_per_s or 0
    return frozenset(one for one in found if tables.gpus[one].memory_gb_per_s >= least)


def _clouds(what: str, given: frozenset[str], known: set[str], tables: Known) -> frozenset[str]:
    lowered = {name.lower() for name in known}
    found = set()
    for name in sorted(given):
        ours = name.lower() if name.lower() in lowered else tables.providers.of(name)
        if ours not in lowered:
            raise unknown(what, name, known, where="gpubroker status")
        found.add(ours)
    return frozenset(found)


def _regions(given: frozenset[str], listing: Listing, tables: Known) -> frozenset[str]:
    if not given:
        return frozenset()
    known = {*listing.named(Name.REGION).names, *listing.named(Name.ZONE).names} - {""}
    lowered = {name.lower() for name in known} | {region for _, region in tables.places.regions}
    for name in sorted(given):
        if name.lower() not in lowered:
            raise unknown("region", name, known or lowered)
    return frozenset(name.lower() for name in given)


def _country(given: str, listing: Listing, tables: Known) -> str:
    """Read a country's code, or its name."""
    row = tables.places.countries.get(given.strip().lower())
    if row is not None:
        return str(row["country"]).lower()
    codes = listing.named(Name.COUNTRY).names
    if given.lower() in {code.lower() for code in codes}:
        return given.lower()
    is_code = len(given.strip()) <= _CODE
    alike = (name for name in tables.places.countries if (len(name) <= _CODE) == is_code)
    raise unknown("country", given, alike, common=sorted(code for code in codes if code))


def _continent(given: str) -> str:
    word = given.strip().lower()
    if word not in CONTINENTS:
        codes = ", ".join(f"{code} ({name})" for code, name in CONTINENTS.items())
        raise ConfigurationError(f"unknown continent {given!r}", hint=f"there are: {codes}")
    return word


def _certifications(given: frozenset[str], listing: Listing) -> frozenset[str]:
    joined = listing.named(Name.CERTIFICATIONS).names
    known = {name for names in joined for name in names.split(JOINT) if name}
    for name in sorted(given):
        if simple(name) not in {simple(one) for one in known}:
            raise unknown("certification", name, known)
    return frozenset(simple(name) for name in given)


def _bounds(given: Mapping[Number, float | None]) -> Mapping[Number, float]:
    return {number: bound for number, bound in given.items() if bound is not None}


def _micro(usd: Decimal | None) -> float | None:
    return None if usd is None else float(usd / MICRO_USD)
