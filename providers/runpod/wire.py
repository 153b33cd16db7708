"""What is asked of RunPod's GraphQL, and the parts of its answers that are read."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Generic, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from broker.domain.errors import ProviderError
from providers.kit.parse import Row, parse

URL = "https://api.runpod.io/graphql"

TYPES_QUERY = """query Types {
  countryCodes
  dataCenters { id listed }
  gpuTypes {
    id memoryInGb secureCloud communityCloud
    securePrice communityPrice secureSpotPrice communitySpotPrice
    oneMonthPrice threeMonthPrice sixMonthPrice
    maxGpuCountSecureCloud maxGpuCountCommunityCloud
  }
}"""

STOCK_QUERY = """query Stock(
  $one: GpuLowestPriceInput, $two: GpuLowestPriceInput,
  $four: GpuLowestPriceInput, $eight: GpuLowestPriceInput
) {
  gpuTypes {
    id
    one: lowestPrice(input: $one) { stockStatus minVcpu minMemory }
    two: lowestPrice(input: $two) { stockStatus minVcpu minMemory }
    four: lowestPrice(input: $four) { stockStatus minVcpu minMemory }
    eight: lowestPrice(input: $eight) { stockStatus minVcpu minMemory }
  }
}"""

CLUSTERS_QUERY = """query Clusters($filter: GpuTypeFilter, $eight: GpuLowestPriceInput) {
  gpuTypes(input: $filter) {
    id memoryInGb clusterPrice maxGpuCountSecureCloud
    nodeGroupDatacenters { id }
    lowestPrice(input: $eight) { stockStatus minVcpu minMemory }
  }
}"""
CLUSTERS_VARIABLES: Mapping[str, object] = MappingProxyType(
    {"filter": {"cluster": True}, "eight": {"gpuCount": 8}}
)

_COUNTS = {"one": 1, "two": 2, "four": 4, "eight": 8}
_NO_STOCK = frozenset({"", "none", "out of stock"})


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class DataCenter(_Wire):
    """A data centre of the secure cloud; one that is not listed rents nothing."""

    id: str
    listed: bool = True


class GpuType(_Wire):
    """A GPU type with the prices of ONE GPU, in USD per hour; memory in GB."""

    id: str
    memory_in_gb: float | None = None
    secure_cloud: bool = False
    community_cloud: bool = False
    secure_price: Decimal | None = None
    community_price: Decimal | None = None
    secure_spot_price: Decimal | None = None
    community_spot_price: Decimal | None = None
    one_month_price: Decimal | None = None
    three_month_price: Decimal | None = None
    six_month_price: Decimal | None = None
    max_gpu_count_secure_cloud: int | None = None
    max_gpu_count_community_cloud: int | None = None


class Types(_Wire):
    """The first answer."""

    country_codes: list[str | None]
    data_centers: list[DataCenter]
    gpu_types: list[Row[GpuType]]


class Stock(_Wire):
    """How much there is of one count in one place; vCPUs and RAM (GB) of the whole pod."""

    stock_status: str | None = None
    min_vcpu: float | None = None
    min_memory: float | None = None


class StockOfType(_Wire):
    """The stock of one GPU type in one place, by count."""

    id: str
    one: Stock | None = None
    two: Stock | None = None
    four: Stock | None = None
    eight: Stock | None = None

    def counts(self) -> Iterator[tuple[int, Stock]]:
        """Give the GPU counts that are in stock."""
        by_name = {"one": self.one, "two": self.two, "four": self.four, "eight": self.eight}
        for name, count in _COUNTS.items():
            stock = by_name[name]
            if stock and (stock.stock_status or "").lower() not in _NO_STOCK:
                yield count, stock


class StockPage(_Wire):
    """The answer for one place."""

    gpu_types: list[Row[StockOfType]]


class ClusterType(_Wire):
    """A GPU type in instant clusters: the price of ONE GPU, the GPUs of a node, who has nodes."""

    id: str
    memory_in_gb: float | None = None
    cluster_price: Decimal | None = None
    max_gpu_count_secure_cloud: int | None = None
    node_group_datacenters: list[DataCenter] | None = None
    lowest_price: Stock | None = None


class Clusters(_Wire):
    """The answer for instant clusters."""

    gpu_types: list[Row[ClusterType]]


class Where(_Wire):
    """The place that a page was asked for."""

    secure_cloud: bool
    data_center_id: str | None = None
    country_code: str | None = None


class _Variables(_Wire):
    one: Where


class _Asked(_Wire):
    variables: _Variables


class _Problem(_Wire):
    message: str = ""


_DATA = TypeVar("_DATA", bound=BaseModel)


class _Answer(BaseModel, Generic[_DATA]):
    data: _DATA | None = None
    errors: list[_Problem] | None = None


def types_in(reply: httpx.Response) -> Types:
    """Read the first answer.

    Raises:
        ProviderError: it carries errors, or cannot be read.
    """
    return _data(parse(_Answer[Types], reply), reply)


def stock_in(reply: httpx.Response) -> StockPage:
    """Read the answer for one place.

    Raises:
        ProviderError: it carries errors, or cannot be read.
    """
    return _data(parse(_Answer[StockPage], reply), reply)


def clusters_in(reply: httpx.Response) -> Clusters:
    """Read the answer for instant clusters.

    Raises:
        ProviderError: it carries errors, or cannot be read.
    """
    return _data(parse(_Answer[Clusters], reply), reply)


def asked_for(reply: httpx.Response) -> Where:
    """Tell which place a stock page is about; the answer itself does not say."""
    return _Asked.model_validate_json(reply.request.content).variables.one


def stock_variables(where: Where) -> Mapping[str, object]:
    """Ask for every count in one place."""
    place = where.model_dump(by_alias=True, exclude_none=True)
    return {name: {"gpuCount": count, **place} for name, count in _COUNTS.items()}


def _data(answer: _Answer[_DATA], reply: httpx.Response) -> _DATA:
    if answer.errors or answer.data is None:
        said = "; ".join(problem.message for problem in answer.errors or []) or "no data"
        raise ProviderError(
            f"{reply.request.url.host} answered with an error: {said[:200]}",
            hint="try again; if it stays, the provider's API has changed and gpubroker must follow",
        )
    return answer.data
