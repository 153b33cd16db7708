"""The clouds that have Terraform resources for a plan's lines."""

from collections.abc import Mapping
from types import MappingProxyType

from broker.exports.terraform_aws import AWS
from broker.exports.terraform_azure import AZURE
from broker.exports.terraform_gcp import GCP
from broker.exports.terraform_parts import Cloud

CLOUDS: Mapping[str, Cloud] = MappingProxyType({"aws": AWS, "azure": AZURE, "gcp": GCP})
