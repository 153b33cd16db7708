"""The audit log fits a terminal of 80 columns, whatever its entries say."""

from datetime import UTC, datetime

from broker.reports.formats import Format, as_table, as_text
from broker.reports.purchases_view import EntryRow, audit_report

AT = datetime(2026, 11, 28, 7, 7, tzinfo=UTC)
HASH, NEXT = "6eaf99714b4e" + "0" * 52, "45bef73023d4" + "1" * 52


def entry(action: str, *, line: str = "", detail: str = "") -> EntryRow:
    return EntryRow(7, AT, "gpubroker", action, HASH, line, detail, "f" * 64)


def test_the_audit_log_fits_where_a_plan_was_superseded_and_a_reference_is_long() -> None:
    rows = (
        entry("superseded", detail=NEXT),
        entry(
            "executed_line",
            line="nebius/gpu-b200-sxm_8gpu-160vcpu-1792gb/us-central1@on_demand",
            detail="arn:aws:ec2:us-east-1:123456789012:capacity-reservation/cr-0123456789abcdef0",
        ),
    )
    report = audit_report(rows, ())
    table = as_table(report, 80)
    assert max(map(len, table.splitlines())) <= 80
    assert "45bef730" in table
    assert NEXT[:9] not in table
    assert NEXT in as_text(report, Format.JSON)
