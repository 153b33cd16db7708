"""Workloads and a price sheet that leave something to explain: every price kind, what is unfit."""

from pathlib import Path

from tiny_files import write

SERVICE = """\
schema: gpubroker.workloads/1
horizon: {start: 2026-12-01, days: 1, slot: 6h}
services:
  - name: chat
    model: mistral-7b
    precisions: [bf16]
    traffic: {requests_per_s: {mean: 5, peak: 11, timezone: Europe/Berlin}}
    sizes:
      - {input_tokens: 600, output_tokens: 250, share: 0.8}
      - {input_tokens: 2500, output_tokens: 400, share: 0.2}
    slo: {ttft: {p95: 2 s}, tpot: {p95: 80 ms}}
    users: {eu-central: 1.0}
"""
RUN = """\
schema: gpubroker.workloads/1
horizon: {start: 2026-12-01, days: 2, slot: 1h}
training:
  - name: tune
    model: mistral-7b
    method: lora
    tokens: 1.0e+9
    window: {earliest: 2026-12-01, deadline: 2026-12-01T03:00}
    hardware: {gpus: [8]}
"""
HEADER = (
    "provider,instance_type,gpu_name,gpu_count,region,price_kind,price,currency,observed_on,"
    "term_months,payment"
)
RENTED = "aws,g6e.xlarge,L40S,1,eu-central-1,on_demand,2.30,USD,2026-11-20,,"
COMMITTED = "aws,g6e.xlarge,L40S,1,eu-central-1,reserved,1.40,USD,2026-11-20,12,no_upfront"
SPOT = "aws,g6e.xlarge,L40S,1,eu-central-1,spot,0.90,USD,2026-11-20,,"
DEAR = "gcp,a2-highgpu-1g,A100-40GB,1,europe-west4,on_demand,3.80,USD,2026-11-20,,"
SMALL = "azure,t4,T4,1,westeurope,on_demand,0.50,USD,2026-11-20,,"
FAR = "aws,far,L40S,1,ap-southeast-2,on_demand,1.00,USD,2026-11-20,,"
GANG = "aws,p4d.24xlarge,A100-40GB,8,us-east-1,on_demand,32.77,USD,2026-11-20,,"
ALL = (RENTED, COMMITTED, SPOT, DEAR, SMALL, FAR)


def service_file(folder: Path, more: str = "") -> Path:
    """Write the service, with more of the file's keys."""
    return write(folder / "workloads.yaml", f"{SERVICE}{more}\n")


def run_file(folder: Path, more: str = "") -> Path:
    """Write the run, with more of the file's keys."""
    return write(folder / "workloads.yaml", f"{RUN}{more}\n")


def sheet_file(folder: Path, *rows: str, header: str = HEADER) -> Path:
    """Write a price sheet."""
    return write(folder / "sheet.csv", "\n".join((header, *rows, "")))
