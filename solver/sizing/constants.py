"""Constants that serving and training share. Datasheet values come from GpuModel."""

from typing import Final

GIB: Final = 2.0**30
SECONDS_PER_HOUR: Final = 3600.0
PCIE_GB_PER_S: Final = 17.0
"""What collectives over PCIe reach, hosts with and without peer-to-peer alike."""
OVERHEAD_SHARE: Final = 0.05
"""Evaluation and data stalls over pure training steps: 0.03 to 0.05 in MLPerf 8B and 405B runs."""
