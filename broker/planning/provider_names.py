"""Providers in the settings: what no provider reads would stay unused without a word."""

from difflib import get_close_matches

from broker.domain.errors import ConfigurationError
from broker.settings import KEY_ENDINGS, Settings
from providers.registry import PROVIDERS, WITH_REGIONS

_NEAR = 0.6


def check_known(settings: Settings) -> None:
    """Refuse keys and regions that nobody reads, by a slip of the pen or of a provider without.

    Raises:
        ConfigurationError: a name is near to that of a provider, and is none; or regions are given
            for one that is read whole.
    """
    for name in unknown_providers(settings):
        near = get_close_matches(name, PROVIDERS, 1, _NEAR)
        if near:
            raise ConfigurationError(
                f"settings: keys or regions are given for {name!r}, which is no provider",
                hint=f"did you mean {near[0]!r}? Correct it in the settings file or the variable",
            )
    _check_regions(settings)


def _check_regions(settings: Settings) -> None:
    for name in PROVIDERS:
        if settings.regions.get(name) and name not in WITH_REGIONS:
            raise ConfigurationError(
                f"settings: regions {', '.join(settings.regions[name])} are given for {name!r}, "
                f"which is read whole, wherever its machines stand; only {', '.join(WITH_REGIONS)} "
                "take regions",
                hint=f"take `regions` of {name} out of the settings; where a plan may buy is "
                f"policy.regions of the workloads file, as deny: [{name}/REGION]",
            )


def unknown_providers(settings: Settings) -> tuple[str, ...]:
    """Name those that the settings speak of and that are none."""
    names = {_provider_of(key) for key in settings.keys} | set(settings.regions)
    return tuple(sorted(names - set(PROVIDERS)))


def _provider_of(key: str) -> str:
    known = [name for name in PROVIDERS if key.startswith(f"{name}_")]
    ending = next((one for one in KEY_ENDINGS if key.endswith(one)), "")
    return max(known, key=len, default=key.removesuffix(ending))
