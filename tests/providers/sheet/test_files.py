from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from sheets import LISTED, Sheets, only

from broker.domain.errors import ConfigurationError
from broker.domain.offer import Fabric, Link, Virtualization
from broker.specs.load import Specs
from providers.sheet.columns import ALIASES, PLAIN
from providers.sheet.read import read_sheet
from providers.sheet.reasons import Reason

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("", "is empty", "docs/price-sheets.md"),
        (LISTED, "holds no rows", "docs/price-sheets.md"),
        ("provider,instance_type,gpu_nam,price\n", "column 'gpu_nam'", "did you mean 'gpu_name'?"),
        ("instance_type,on_demand_usd_h\n", "no column 'provider'", "docs/price-sheets.md"),
        ("provider,instance_type,gpu_name\n", "no column with a price", "on_demand_usd_h"),
        ("provider,instance_type,price,currency\n", "'price_kind'", "on_demand"),
        ("provider,instance_type,price,price_kind\n", "'currency'", "USD"),
        ("provider,provider,price\n", "say the same", "keep one"),
        ("provider;instance_type;on_demand_usd_h\na;b;1\n", "no commas", "commas"),
        (f"{LISTED}\nnebula,n1\n", "row 2: 2 cells, the header has 13", "end no row early"),
        (f'{LISTED}\n"nebula,n1', "this is no CSV", "quote"),
    ],
)
def test_a_file_that_is_no_sheet_is_an_error_that_says_what_to_do(
    sheets: Sheets, text: str, said: str, hint: str
) -> None:
    error = sheets.error(text)
    assert said in str(error)
    assert hint in error.hint


def test_a_missing_file_and_another_format_are_errors(tmp_path: Path, specs: Specs) -> None:
    with pytest.raises(ConfigurationError, match="there is no such file"):
        read_sheet(tmp_path / "none.csv", specs)
    with pytest.raises(ConfigurationError, match=r"is a \.csv, \.yaml or \.yml file"):
        read_sheet(tmp_path / "prices.xlsx", specs)


def test_text_that_is_not_utf8_is_an_error_with_its_line(tmp_path: Path, specs: Specs) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes(LISTED.encode() + b"\nnebula,n1,H100-SXM,8,,Lule\xe5,,1,,,,,")
    with pytest.raises(ConfigurationError, match="line 2: byte 0xe5 is not UTF-8"):
        read_sheet(path, specs)


def test_the_byte_order_mark_of_a_spreadsheet_is_no_part_of_a_name(sheets: Sheets) -> None:
    row = "nebula,n1,H100-SXM,8,,a,,16,,,2026-11-01,,"
    assert only(sheets.read(f"\ufeff{LISTED}\n{row}\n\n")).provider == "nebula"


def test_a_yaml_sheet_keeps_every_digit_of_a_price(sheets: Sheets) -> None:
    text = (
        "- {provider: nebula, instance_type: n1, gpu_name: H100-SXM, gpu_count: 8, region: a,\n"
        "   price: 18446744.073709, currency: USD, price_kind: on_demand,\n"
        "   observed_on: 2026-11-01, certifications: [SOC2, hipaa], zone: null}\n"
    )
    offer = only(sheets.read(text, name="sheet.yaml"))
    assert offer.usd_per_hour == Decimal("18446744.073709")
    assert offer.certifications == ("soc2", "hipaa")
    assert offer.place.zone is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("provider: nebula\n", "the sheet is no list"),
        ("- nebula\n", "line 1: this entry is no mapping"),
        ("- provider: [\n", "this is no YAML"),
        ("- provider: " + "[" * 5000, "this is no YAML"),
        ("- provider: a\n  provider: b\n", "line 2: 'provider' is given twice"),
        ("- provider: {a: b}\n", "line 1: a value is a text, a number or a list"),
        ("- provider: a\n  instance_typ: b\n", "unknown column 'instance_typ'"),
        ("[]\n", "the sheet holds no rows"),
        (
            "- provider: a\n  instance_type: b\n  on_demand_usd_h: .inf\n",
            "line 1, column on_demand_usd_h: '.inf' is no number",
        ),
    ],
)
def test_yaml_that_is_no_sheet_is_an_error_with_its_line(
    sheets: Sheets, text: str, said: str
) -> None:
    assert said in str(sheets.error(text, name="sheet.yml"))


def test_the_example_of_private_quotes_is_read_whole(specs: Specs) -> None:
    reading = read_sheet(ROOT / "fixtures" / "sheet" / "quotes.csv", specs)
    assert (reading.rows_used, reading.rejections) == (reading.rows, ())
    contract = reading.offers[0]
    assert contract.usd_per_hour == Decimal("16.80")
    assert contract.hardware.virtualization is Virtualization.BARE_METAL
    assert contract.hardware.shape.fabric is Fabric.INFINIBAND
    assert contract.provenance.valid_until == datetime(2027, 1, 1, tzinfo=UTC)


def test_the_example_of_owned_hardware_is_read_whole(specs: Specs) -> None:
    reading = read_sheet(ROOT / "fixtures" / "sheet" / "owned.yaml", specs)
    assert (reading.rows_used, reading.rejections) == (reading.rows, ())
    node = reading.offers[0]
    assert node.hardware.shape.link is Link.NVSWITCH
    assert (node.place.country, node.place.latitude_deg) == ("IS", 64.13)


def test_every_column_and_reason_is_documented() -> None:
    page = (ROOT / "docs" / "price-sheets.md").read_text(encoding="utf-8")
    for name in (*PLAIN, *ALIASES, "on_demand_usd_h", "spot_usd_h", *Reason):
        assert f"`{name}`" in page, name
