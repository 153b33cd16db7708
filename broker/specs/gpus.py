"""The GPU models: what data sheets say of each."""

from collections.abc import Mapping

from broker.domain.gpu import GpuModel
from broker.specs.tables import read_table


def read_gpus() -> Mapping[str, GpuModel]:
    """Read the GPU models, by name."""
    rows = read_table("gpus.csv")
    return {gpu.name: gpu for gpu in (GpuModel.model_validate(row, strict=False) for row in rows)}
