"""A workloads file and a price sheet that are solved in a moment, for tests of commands."""

from pathlib import Path

WORKLOADS = """\
schema: gpubroker.workloads/1
horizon: {start: 2026-12-01, days: 1, slot: 6h}
services:
  - name: chat
    model: mistral-7b
    precisions: [bf16]
    traffic: {requests_per_s: {mean: 1, peak: 2, timezone: Europe/Berlin}}
    sizes:
      - {input_tokens: 600, output_tokens: 250, share: 0.8}
      - {input_tokens: 2500, output_tokens: 400, share: 0.2}
    slo: {ttft: {p95: 2 s}, tpot: {p95: 80 ms}}
    users: {eu-central: 1.0}
"""
RUN = """\
training:
  - name: tune
    model: mistral-7b
    method: lora
    tokens: 1.0e+8
    window: {earliest: 2026-12-01, deadline: 2026-12-02}
    hardware: {gpus: [8]}
"""
HEADER = "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on"
ROWS = (
    "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,2.30,USD,2026-11-20",
    "gcp,a2-highgpu-1g,A100-40GB,1,europe-west4,on_demand,3.40,EUR,2026-11-20",
)


def write_workloads(folder: Path, *changes: tuple[str, str], more: str = "") -> Path:
    """Write the workloads file with some of its words exchanged, and with more at its end."""
    text = WORKLOADS + more
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return write(folder / "workloads.yaml", text)


def write_sheet(folder: Path, *rows: str, header: str = HEADER) -> Path:
    """Write the price sheet, with other rows where some are given."""
    return write(folder / "sheet.csv", "\n".join((header, *(rows or ROWS), "")))


def write(path: Path, text: str) -> Path:
    """Write a file."""
    path.write_text(text, encoding="utf-8")
    return path
