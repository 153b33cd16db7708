"""Lists of what may be used, made longer by no more than a plan needs."""

from collections.abc import Callable, Iterable, Sequence

from broker.domain.offer import Offer, PriceKind
from broker.domain.place_names import provider_names
from broker.domain.plan import Purchase
from broker.domain.policy import AllowDeny, Policy
from broker.planning.explaining.probing import Prober, Steps
from broker.planning.explaining.rules import Rule
from broker.planning.filters import is_allowed_region
from broker.planning.searches import Search


def widened(prober: Prober, name: str, others: Steps) -> Search[Rule | None]:
    """Find places or providers that are enough beside the allowed ones, none of them too many.

    They are those of the cheapest plan under no such list, less each that is not needed.
    """
    ground = prober.ground
    optimum = yield from prober.whole_plan({**others, name: 1})
    if optimum is None:
        return None
    kind = _KINDS[name]
    given = kind.listed(ground.plan.workloads.policy)
    more = sorted(kind.used(optimum.purchases, ground.sources.view.offers, given))
    kept = list(more)
    for one in more:
        fewer = [other for other in kept if other != one]
        if not fewer:
            break
        trial = prober.with_rule(name, _rule(name, given, fewer))
        if (yield from trial.exists({**others, name: 1})):
            kept = fewer
    return _rule(name, given, kept) if kept else None


class _Kind:
    """A list of the policy: what stands in it, and the names that a plan would add to it."""

    def __init__(
        self,
        listed: Callable[[Policy], Sequence[str]],
        name: Callable[[Offer], str],
        is_allowed: Callable[[Offer, Sequence[str]], bool],
    ) -> None:
        self.listed = listed
        self.name = name
        self.is_allowed = is_allowed

    def used(
        self, purchases: Iterable[Purchase], offers: Iterable[Offer], given: Sequence[str]
    ) -> set[str]:
        bought = {one.offer for one in purchases if one.price_kind is not PriceKind.OWNED}
        return {
            self.name(one)
            for one in offers
            if one.key in bought and not self.is_allowed(one, given)
        }


def _rule(name: str, given: Sequence[str], more: Sequence[str]) -> Rule:
    longer = (*given, *more)
    return Rule(
        path=name,
        value=", ".join(given),
        steps=1,
        edits=lambda _, __: {name: longer},
        text=lambda _: ", ".join(longer),
        is_sized=True,
    )


_KINDS = {
    "policy.providers.allow": _Kind(
        lambda policy: policy.providers.allow,
        lambda offer: offer.provider,
        lambda offer, given: bool(provider_names(offer) & {one.lower() for one in given}),
    ),
    "policy.regions.allow": _Kind(
        lambda policy: policy.regions.allow,
        lambda offer: f"{offer.provider}/{offer.place.region}",
        lambda offer, given: is_allowed_region(offer, AllowDeny(allow=tuple(given))),
    ),
}
