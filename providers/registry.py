"""The providers: one line each, in the order in which they are asked."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from broker.settings import Settings
from broker.specs.load import Specs
from providers.kit.access import Access
from providers.kit.adapter import Adapter

_MakeAdapter = Callable[[Specs, Access], Adapter]

_ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        "aws": "providers.aws.adapter:AwsCloud",
        "azure": "providers.azure:AzureCloud",
        "lambda": "providers.lambda_cloud:LambdaCloud",
        "runpod": "providers.runpod.cloud:RunPod",
        "vast": "providers.vast:Vast",
    }
)
"""The module and class of each provider, imported where it is asked for and not before."""

PROVIDERS = tuple(_ADAPTERS)
"""The ids in data, policies and sheets."""


def adapters(
    specs: Specs, settings: Settings, names: Iterable[str] = PROVIDERS
) -> tuple[Adapter, ...]:
    """Make the adapters of the providers named, which are in PROVIDERS."""
    return tuple(_make(name)(specs, access(name, settings)) for name in names)


def access(name: str, settings: Settings) -> Access:
    """Take from the settings what one provider may see: its own keys and regions."""
    prefix = f"{name}_"
    keys = {
        key.removeprefix(prefix): secret
        for key, secret in settings.keys.items()
        if key.startswith(prefix)
    }
    return Access(keys, settings.regions.get(name, ()))


def _make(name: str) -> _MakeAdapter:
    module, _, cls = _ADAPTERS[name].partition(":")
    return cast("_MakeAdapter", getattr(import_module(module), cls))
