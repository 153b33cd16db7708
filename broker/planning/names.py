"""Names in policy and quotas that nothing in the catalog answers to.

A rule on a name that does not exist would silently rule nothing: a provider meant to be denied
would be bought from. A slip of the pen is an error; a name that may belong to another catalog is
a warning in the plan.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Offer
from broker.domain.place_names import provider_names, region_names
from broker.domain.surcharge import Surcharge
from broker.domain.workload import Quota, Workloads
from broker.specs.load import Specs
from solver.milp.constraints.quota import is_under

_NEAR = 0.65
_NEAR_PLACE = 0.75
_FAR_PLACE = 0.3
_PLACE_KEYS = ("region", "country", "continent", "partition")


def unmatched_names(workloads: Workloads, offers: Sequence[Offer], specs: Specs) -> tuple[str, ...]:
    """Warn of each region and provider that no table and no offer knows, and of idle quotas.

    Raises:
        ConfigurationError: a name of a provider or place is close to one that there is, or a
            country is not named by its code.
    """
    return (
        *_providers(workloads, offers, specs),
        *_regions(workloads, offers, specs),
        *_data_sets(workloads, offers, specs),
        *_quotas(workloads.quotas, offers),
    )


def _providers(workloads: Workloads, offers: Sequence[Offer], specs: Specs) -> Iterator[str]:
    known = {name for offer in offers for name in provider_names(offer)}
    known |= {provider for provider, _ in specs.places.regions}
    known |= set(specs.providers.ids.values())
    policy = workloads.policy.providers
    given = [("policy.providers.allow", name) for name in policy.allow]
    given += [("policy.providers.deny", name) for name in policy.deny]
    given += [
        (f"quotas[{number}].provider", quota.provider)
        for number, quota in enumerate(workloads.quotas)
    ]
    given += _of_surcharges(workloads.policy.surcharges, "providers")
    given += [
        (f"policy.budgets[{number}].provider", budget.provider)
        for number, budget in enumerate(workloads.policy.budgets)
        if budget.provider is not None
    ]
    for where, name in given:
        if name.lower() in known:
            continue
        ours = specs.providers.of(name)
        near = [ours] if ours in known else get_close_matches(name.lower(), sorted(known), 1, _NEAR)
        if near:
            raise ConfigurationError(
                f"{where}: unknown provider {name!r}", hint=f"did you mean {near[0]!r}?"
            )
        yield f"{where}: no provider is called {name!r} in this catalog"


def _of_surcharges(surcharges: Sequence[Surcharge], key: str) -> list[tuple[str, str]]:
    return [
        (f"policy.surcharges[{number}].{key}", name)
        for number, one in enumerate(surcharges)
        for name in (one.providers if key == "providers" else one.regions)
    ]


def _regions(workloads: Workloads, offers: Sequence[Offer], specs: Specs) -> Iterator[str]:
    known = {name for offer in offers for name in region_names(offer)}
    countries = specs.places.countries
    for row in (*specs.places.regions.values(), *countries.values()):
        known |= {(row.get(key) or "").lower() for key in _PLACE_KEYS}
    known |= {f"{provider}/{region}" for provider, region in specs.places.regions}
    policy = workloads.policy.regions
    given = [("policy.regions.allow", name) for name in policy.allow]
    given += [("policy.regions.deny", name) for name in policy.deny]
    given += _of_surcharges(workloads.policy.surcharges, "regions")
    for where, name in given:
        if name.lower() in known:
            continue
        if name.lower() in countries:
            code = str(countries[name.lower()].get("country")).lower()
            raise ConfigurationError(
                f"{where}: {name!r} is no code of a country", hint=f"write {code!r}"
            )
        near = get_close_matches(name.lower(), sorted(known), 3, _NEAR_PLACE)
        if near:
            raise ConfigurationError(
                f"{where}: unknown place {name!r}", hint=f"did you mean {' or '.join(near)}?"
            )
        far = get_close_matches(name.lower(), sorted(known - {""}), 1, _FAR_PLACE)
        nearest = f"; the nearest name is {far[0]!r}" if far else ""
        yield f"{where}: no place is called {name!r} in this catalog{nearest}"


def _data_sets(workloads: Workloads, offers: Sequence[Offer], specs: Specs) -> Iterator[str]:
    known = {f"{provider}/{region}" for provider, region in specs.places.regions}
    known |= {f"{offer.provider}/{offer.place.region}".lower() for offer in offers}
    named = [
        (f"training[{number}].data.at", run.data.at)
        for number, run in enumerate(workloads.training)
        if run.data is not None
    ]
    named += [
        (f"batch[{number}].data.at", job.data.at)
        for number, job in enumerate(workloads.batch)
        if job.data is not None
    ]
    named += [
        (f"services[{number}].weights.at", service.weights.at)
        for number, service in enumerate(workloads.services)
        if service.weights is not None
    ]
    for where, at in named:
        if at.lower() in known:
            continue
        near = get_close_matches(at.lower(), sorted(known), 3, _NEAR_PLACE)
        if near:
            raise ConfigurationError(
                f"{where}: unknown place {at!r}", hint=f"did you mean {' or '.join(near)}?"
            )
        yield f"{where}: no place is called {at!r}; its egress is that to the internet"


def _quotas(quotas: Sequence[Quota], offers: Sequence[Offer]) -> Iterator[str]:
    for number, quota in enumerate(quotas):
        if not any(is_under(offer, quota) for offer in offers):
            yield f"quotas[{number}]: it limits no offer of this catalog"
