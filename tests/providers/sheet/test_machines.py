from fractions import Fraction

import pytest
from sheets import Sheets, only, reasons

from broker.domain.offer import UNKNOWN_REGION, Fabric, Link
from providers.sheet.reasons import Reason


def test_a_part_of_a_gpu_stays_a_fraction(sheets: Sheets) -> None:
    offer = only(sheets.listed("nebula,slice,L4,1/6,,lulea-1,,0.2,,,2026-11-01,,"))
    assert offer.hardware.shape.gpu_count == Fraction(1, 6)


def test_a_rounded_sixth_is_a_sixth(sheets: Sheets) -> None:
    offer = only(sheets.listed("nebula,slice,L4,0.167,,lulea-1,,0.2,,,2026-11-01,,"))
    assert offer.hardware.shape.gpu_count == Fraction(1, 6)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("replicate,h100,H100-SXM,1,80,,,5.49,,,2026-11-01,per_gpu,", Reason.NOT_A_NODE),
        ("nebula,h100:serverless,H100-SXM,1,80,,,5.4,,,2026-11-01,per_gpu,", Reason.NOT_A_NODE),
        ("aws,8xH100-SXM,H100-SXM,8,80,,,6.88,,,2026-11-01,per_gpu,", Reason.NOT_A_NODE),
        ("aws-sagemaker,ml.p5.48xlarge,H100-SXM,8,,,,63,,,2026-11-01,,", Reason.MANAGED_SERVICE),
        ("gcp,H100 GPU,H100-SXM,1,,,,9.8,,,2026-11-01,per_gpu_component,", Reason.COMPONENT_PRICE),
        ("nebula,average,,,,,,2.11,,,2026-11-01,per_gpu,market average", Reason.INDICATIVE_PRICE),
        ("nebula,n1,NoSuchGpu,1,,,,1,,,2026-11-01,,", Reason.UNKNOWN_GPU),
        ("nebula,n1,,8,,,,1,,,2026-11-01,,", Reason.UNKNOWN_GPU),
        ("nebula,n1,A100,8,,,,1,,,2026-11-01,,", Reason.AMBIGUOUS_GPU),
        ("nebula,n1,H100-SXM,,,,,1,,,2026-11-01,,", Reason.NO_GPU_COUNT),
        ("nebula,n1,H100-SXM,0,,,,1,,,2026-11-01,,", Reason.NO_GPU_COUNT),
        ("nebula,n1,H100-SXM,8,0,,,1,,,2026-11-01,,", Reason.CONTRADICTS_KNOWN_MODEL),
        ("nebula,n1,H200-SXM,8,1430,,,1,,,2026-11-01,,", Reason.CONTRADICTS_KNOWN_MODEL),
        ("nebula,n1,RTX4090,1,47.99,,,1,,,2026-11-01,,", Reason.CONTRADICTS_KNOWN_MODEL),
        ("aws,p5.48xlarge,H100-SXM,12,,,,1,,,2026-11-01,,", Reason.CONTRADICTS_KNOWN_INSTANCE),
        ("aws,p5.48xlarge,H200-SXM,8,,,,1,,,2026-11-01,,", Reason.CONTRADICTS_KNOWN_INSTANCE),
    ],
)
def test_what_is_no_node_for_rent_is_rejected(sheets: Sheets, row: str, reason: Reason) -> None:
    reading = sheets.listed(row)
    assert reading.offers == ()
    assert reasons(reading) == [reason]
    assert reading.rejections[0].detail
    assert "(row 2)" in reading.rejections[0].subject


def test_a_known_instance_type_gives_what_the_row_leaves_out(sheets: Sheets) -> None:
    offer = only(sheets.listed("aws,p5.48xlarge,,,,us-east-1,,55.04,,,2026-10-01,,"))
    shape = offer.hardware.shape
    assert (shape.gpu, shape.gpu_count, shape.link) == ("H100-SXM", 8, Link.NVSWITCH)
    assert (shape.fabric, shape.fabric_gbit_per_s) == (Fabric.EFA, 3200)


def test_the_form_in_the_type_name_decides_between_variants(sheets: Sheets) -> None:
    reading = sheets.listed(
        "vast,1x-H100_NVL-32-65536,H100,1,93.6,US,,2.08,,,2026-11-01,,",
        "vast,1x-H100_SXM-32-65536,H100,1,79.6,US,,1.87,,,2026-11-01,,",
        "vast,1x-A100_SXM4-32-65536,A100,1,40,US,,0.76,,,2026-11-01,,",
    )
    gpus = [offer.hardware.shape.gpu for offer in reading.offers]
    assert gpus == ["H100-NVL", "H100-SXM", "A100-40-SXM"]


@pytest.mark.parametrize("region", ["", "global", "default", "any", "Global (lowest)", "EU / US"])
def test_a_region_that_names_no_place_is_unknown(sheets: Sheets, region: str) -> None:
    offer = only(sheets.listed(f"nebula,n1,H100-SXM,8,,{region},,16,,,2026-11-01,,"))
    assert offer.place.region == UNKNOWN_REGION


def test_a_region_of_a_private_cloud_keeps_its_name(sheets: Sheets) -> None:
    place = only(sheets.listed("nebula,n1,H100-SXM,8,,basement,,16,,,2026-11-01,,")).place
    assert (place.region, place.country) == ("basement", None)


@pytest.mark.parametrize(
    ("region", "said", "lies_in"),
    [
        ("dc1", "DE", ("DE", "eu")),
        ("dc1", "uk", ("GB", "eu")),
        ("dc1", "Germany", ("DE", "eu")),
        ("eu-central-1", "US", ("US", "us")),
        ("eu-central-1", "DE", ("DE", "eu")),
        ("dc1", "XK", ("XK", None)),
    ],
)
def test_a_stated_country_brings_its_code_and_its_continent(
    sheets: Sheets, region: str, said: str, lies_in: tuple[str, str | None]
) -> None:
    """Rules on regions read both: what is denied in Europe is denied in Germany."""
    header = "provider,instance_type,gpu_name,gpu_count,region,country,on_demand_usd_h,observed_on"
    row = f"aws,n1,H100-SXM,8,{region},{said},16,2026-11-01"
    place = only(sheets.read(f"{header}\n{row}")).place
    assert (place.country, place.continent) == lies_in


def test_the_country_in_the_text_of_a_region_is_kept(sheets: Sheets) -> None:
    row = 'vast,n1,H100-SXM,1,,"Bács-Kiskun, HU, EU",,2,,,2026-11-01,,'
    place = only(sheets.listed(row)).place
    assert (place.country, place.continent) == ("HU", "eu")


def test_other_names_of_a_provider_lead_to_ours(sheets: Sheets) -> None:
    reading = sheets.listed(
        "do,n1,H100-SXM,8,,a,,16,,,2026-11-01,,", "Own,n1,H100-SXM,8,,a,,16,,,2026-11-01,,"
    )
    assert [offer.provider for offer in reading.offers] == ["digitalocean", "own"]


def test_a_stated_bridge_joins_pairs_of_cards(sheets: Sheets) -> None:
    header = "provider,instance_type,gpu_name,gpu_count,link,on_demand_usd_h,observed_on"
    reading = sheets.read(
        f"{header}\nown,n1,A100-80-PCIe,4,nvlink_bridge,8,2026-11-01"
        "\nown,n2,L4,4,nvswitch,8,2026-11-01"
    )
    shape = only(reading).hardware.shape
    assert (shape.link, shape.link_domain_gpus) == (Link.NVLINK_BRIDGE, 2)
    assert shape.link_gb_per_s == 300  # 600 GB/s both ways by the datasheet
    assert reasons(reading) == [Reason.CONTRADICTS_KNOWN_MODEL]


def test_a_stated_link_joins_the_rack_that_its_gpus_are_made_for(sheets: Sheets) -> None:
    header = "provider,instance_type,gpu_name,gpu_count,link,on_demand_usd_h,observed_on"
    rows = (f"own,n{n},GB200,4,{link},40,2026-11-01" for n, link in ((1, ""), (2, "nvswitch")))
    unsaid, stated = sheets.read("\n".join((header, *rows))).offers
    assert stated.hardware.shape == unsaid.hardware.shape
    assert stated.hardware.shape.link_domain_gpus == 72
