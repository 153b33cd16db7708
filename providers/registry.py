"""The providers: one line each, in the order in which they are asked."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from broker.settings import Settings
from providers.kit.access import Access

if TYPE_CHECKING:  # the names below can spare what these load
    from broker.specs.load import Specs
    from providers.kit.adapter import Adapter

_MakeAdapter = Callable[["Specs", Access], "Adapter"]

_ADAPTERS: Mapping[str, str] = MappingProxyType(
    {
        "aws": "providers.aws.adapter:AwsCloud",
        "azure": "providers.azure.adapter:AzureCloud",
        "gcp": "providers.gcp.adapter:GcpCloud",
        "oci": "providers.oci:OracleCloud",
        "lambda": "providers.lambda_cloud:LambdaCloud",
        "runpod": "providers.runpod.cloud:RunPod",
        "vast": "providers.vast:Vast",
        "nebius": "providers.published.nebius:Nebius",
        "verda": "providers.verda.cloud:Verda",
        "shadeform": "providers.shadeform:Shadeform",
        "primeintellect": "providers.primeintellect.cloud:PrimeIntellect",
        "crusoe": "providers.published.crusoe:Crusoe",
        "coreweave": "providers.published.coreweave:CoreWeave",
        "hyperstack": "providers.hyperstack:Hyperstack",
        "vultr": "providers.vultr:Vultr",
        "digitalocean": "providers.digitalocean:DigitalOcean",
        "scaleway": "providers.scaleway:Scaleway",
        "ovhcloud": "providers.ovhcloud:OvhCloud",
        "hotaisle": "providers.hotaisle:HotAisle",
        "jarvislabs": "providers.jarvislabs:JarvisLabs",
        "cudo": "providers.cudo:CudoCompute",
        "mithril": "providers.mithril:Mithril",
        "seeweb": "providers.seeweb:Seeweb",
        "lium": "providers.lium:Lium",
    }
)
"""The module and class of each provider, imported where it is asked for and not before."""

PROVIDERS = tuple(_ADAPTERS)
"""The ids in data, policies and sheets."""

WITH_REGIONS = ("aws", "gcp", "oci", "scaleway")
"""Those whose `regions` of the settings choose what is read; all others are read whole."""

_EXAMPLES: Mapping[str, str] = MappingProxyType(
    {"example-contract": "providers.sheet.example:ExampleContract"}
)

EXAMPLES = tuple(_EXAMPLES)
"""What only recordings have, beside the providers: invented prices of kinds that nobody lists."""


def adapters(
    specs: "Specs", settings: Settings, names: Iterable[str] = PROVIDERS
) -> "tuple[Adapter, ...]":
    """Make the adapters of those named, which are in PROVIDERS or EXAMPLES."""
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
    module, _, cls = {**_ADAPTERS, **_EXAMPLES}[name].partition(":")
    return cast("_MakeAdapter", getattr(import_module(module), cls))
