"""A parser of HCL reads every Terraform file: see tools/interop/terraform_files.py."""

from pathlib import Path

from interop import Kit

_TABLE = Path(__file__).parents[1] / "broker" / "specs" / "terraform_attributes.csv"


def check(kit: Kit) -> str:
    """Parse every file, look each resource and attribute up, and see broken files refused."""
    exported = str(kit.exported("terraform"))
    return kit.run("terraform", "terraform_files.py", exported, str(_TABLE))
