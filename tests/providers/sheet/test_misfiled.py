"""Rows that a recorded source files under the wrong head are told by provider, type and source."""

from decimal import Decimal

import pytest
from sheets import Sheets, only, reasons

from providers.sheet.reasons import Reason

KARPENTER = "github:Azure/karpenter-provider-azure/pkg/providers/pricing/zz_generated.pricing.go"
TRACKER = "github:acme/gpu-pricing-tracker/data/observations.csv <- https://"
CRUSOE = f"{TRACKER}crusoe.ai/cloud/pricing/,2026-07-20,per_gpu,"
NEBIUS = f"{TRACKER}nebius.com/prices,2026-07-20,per_gpu,"
NCC40 = "azure,Standard_NCC40ads_H100_v5,H100,,,eastus2,"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"{NCC40},8.82,,{KARPENTER},2026-06-18,instance,", Reason.WINDOWS_PRICE),
        (
            f"azure,Standard_NC8ads_A10_v4,A10,1,,westus3,,1.10,,{KARPENTER},2026-06-18,instance,",
            Reason.NO_GPU_COUNT,
        ),
        (
            f"nebius,1xB200,B200,1,,eu,,3.95,,{NEBIUS}",
            Reason.SPOT_LISTED_AS_ON_DEMAND,
        ),
        (
            f"crusoe,1xGB200,GB200,1,,us,,4.29,,{CRUSOE}",
            Reason.PRICE_OF_ANOTHER_MODEL,
        ),
        (
            f"crusoe,1xMI355X,MI355X,1,,us,,3.45,,{CRUSOE}",
            Reason.PRICE_OF_ANOTHER_MODEL,
        ),
    ],
)
def test_a_misfiled_row_is_no_offer(sheets: Sheets, row: str, reason: Reason) -> None:
    reading = sheets.listed(row)
    assert reading.offers == ()
    assert reasons(reading) == [reason]


@pytest.mark.parametrize(
    "row",
    [
        f"{NCC40},6.98,,a quote,2026-10-10,instance,",
        f"azure,Standard_NC40ads_H100_v5,H100,1,94,eastus2,,6.98,,{KARPENTER},2026-06-18,instance,",
        f"nebius,1xB200,B200,1,,eu,,5.50,,{TRACKER}getdeploying.com,2026-05-08,per_gpu,",
        f"crusoe,1xH100_SXM,H100_SXM,1,,us,,3.90,,{CRUSOE}",
    ],
)
def test_other_rows_of_the_same_source_or_type_stand(sheets: Sheets, row: str) -> None:
    assert only(sheets.listed(row)).usd_per_hour > 0


def test_a_spot_price_that_was_joined_from_an_undated_file_is_no_offer(sheets: Sheets) -> None:
    reading = sheets.listed(
        "azure,Standard_ND96asr_v4,A100,8,40,eastus,,27.197,2.99167,a list,2026-06-18,instance,"
        "spot from github:acme/catalog at 0987 (same on-demand price there)"
    )
    assert only(reading).usd_per_hour == Decimal("27.197")
    assert reasons(reading) == [Reason.UNDATED_SPOT]
