"""The providers: one line each, and the order in which they are asked."""

from broker.settings import Settings
from broker.specs.load import Specs
from providers.kit.adapter import Adapter

PROVIDERS = ("aws", "azure", "lambda", "runpod", "vast")
"""The ids in data, policies and sheets."""


def adapters(specs: Specs, settings: Settings) -> tuple[Adapter, ...]:
    """Make the adapter of every provider, in the order of PROVIDERS."""
    # Imported here, so that a command that asks no provider does not wait for their modules.
    from providers.aws.adapter import AwsCloud  # noqa: PLC0415 - see above
    from providers.azure import AzureCloud  # noqa: PLC0415 - see above
    from providers.lambda_cloud import LambdaCloud  # noqa: PLC0415 - see above
    from providers.runpod.cloud import RunPod  # noqa: PLC0415 - see above
    from providers.vast import Vast  # noqa: PLC0415 - see above

    return (
        AwsCloud(specs, regions=settings.aws_regions),
        AzureCloud(specs),
        LambdaCloud(specs, api_key=settings.lambda_api_key),
        RunPod(specs, api_key=settings.runpod_api_key),
        Vast(specs, api_key=settings.vast_api_key),
    )
