"""Validate exported FOCUS files; run in an environment that has the focus-validator.

    python focus_files.py VERSION FOLDER

Release 1.0.0 says itself whether a file is accepted. Later ones list rules: every rule must hold
but those named in `_EXCUSED`, which no file can keep.
"""

import csv
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

Rows = list[dict[str, str]]

_CRITERIA = (
    "ACCOUNT_NAMING_SUPPORTED",
    "AVAILABILITY_ZONE_SUPPORTED",
    "BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED",
    "COMMITMENT_DISCOUNT_SUPPORTED",
    "MULTIPLE_PRICING_CATEGORIES_SUPPORTED",
    "NEGOTIATED_PRICING_SUPPORTED",
    "PUBLIC_PRICE_LIST_SUPPORTED",
    "REGION_SUPPORTED",
    "RESOURCE_TYPE_ASSIGNMENT_SUPPORTED",
    "SUB_ACCOUNT_SUPPORTED",
    "TAGGING_SUPPORTED",
    "UNIT_PRICING_SUPPORTED",
    "USAGE_MEASUREMENT_SUPPORTED",
)
"""What of 1.2 our rows have: not capacity reservations, other currencies, kinds of accounts."""

_EXCUSED = {
    "InvoiceId-C-005-C": "the other of two alternatives holds: no invoice, so no id",
    "CommitmentDiscountStatus-C-004-C": "the validator turns the condition of its own text around",
}


def main(version: str, folder: Path) -> int:
    """Check all files, then broken ones; the last line says what was found."""
    files = sorted(folder.glob("*/*.csv"))
    if not files:
        print(f"there is no file in {folder}")
        return 1
    problems = [f"{file}: {one}" for file in files for one in _problems(file, version)]
    rows = sum(len(_rows(file)) for file in files)
    problems += _accepted_breaks(files[0], version)
    if problems:
        print("\n".join(problems))
        return 1
    print(
        f"FOCUS {version}: focus-validator {version_of('focus-validator')} accepts "
        f"{len(files)} files with {rows} rows, and refuses {len(_breaks(version))} broken ones"
    )
    return 0


def _problems(file: Path, version: str) -> list[str]:
    """Run the validator where it finds its own list of currencies: beside its package."""
    spec = find_spec("focus_validator")
    package = Path(str(spec.origin if spec else "")).parent
    with TemporaryDirectory() as place:
        (Path(place) / package.name).symlink_to(package)
        command = [str(Path(sys.executable).parent / "focus-validator"), "--data-file", str(file)]
        done = subprocess.run(  # noqa: S603 - the validator
            [*command, *_options(version)], cwd=place, capture_output=True, text=True, check=False
        )
    told = done.stdout + done.stderr
    return _refused_1_0(told) if version == "1.0" else list(_refused_1_2(told))


def _options(version: str) -> tuple[str, ...]:
    if version == "1.0":
        return ("--validate-version", version)
    return (
        *("--validate-version", "1.2.0.1", "--block-download"),
        *("--focus-dataset", "CostAndUsage"),
        *("--applicability-criteria", ",".join(_CRITERIA)),
    )


def _refused_1_0(told: str) -> list[str]:
    if "Validation succeeded." in told:
        return []
    return re.findall(r"^(\S+) failed:$", told, re.MULTILINE) or [told[-2000:]]


def _refused_1_2(told: str) -> Iterator[str]:
    """Give the rules that failed by themselves: a composite fails by its parts."""
    total = re.search(r"Total: (\d+) \| Pass: (\d+)", told)
    if not total or int(total.group(2)) == 0:
        yield told[-2000:]
        return
    for rule, why in re.findall(r"^❌ (\S+): FAIL +\((.*)\)$", told, re.MULTILINE):
        children = re.search(r"failed - failed child rules: \[(.*?)\]", why)
        if rule not in _EXCUSED and not children:
            yield f"{rule} {why}"


def _accepted_breaks(file: Path, version: str) -> list[str]:
    """Break a good file in each way; name the ways that the validator lets pass."""
    passed = []
    for name, broken in _breaks(version).items():
        with TemporaryDirectory() as place:
            path = Path(place) / "broken.csv"
            rows = _rows(file)
            broken(rows)
            with path.open("w", encoding="utf-8", newline="") as out:
                writer = csv.DictWriter(out, fieldnames=list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
            if not _problems(path, version):
                passed.append(f"a file with {name} was accepted")
    return passed


def _breaks(version: str) -> dict[str, Callable[[Rows], None]]:
    return _BREAKS_OF_1_0 if version == "1.0" else _BREAKS


def _rows(file: Path) -> Rows:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _without_billed_cost(rows: Rows) -> None:
    for row in rows:
        del row["BilledCost"]


def _with_a_word_for_a_cost(rows: Rows) -> None:
    rows[0]["EffectiveCost"] = "much"


def _with_an_unknown_frequency(rows: Rows) -> None:
    rows[0]["ChargeFrequency"] = "Sometimes"


def _with_an_unknown_currency(rows: Rows) -> None:
    for row in rows:
        row["BillingCurrency"] = "GPU"


def _with_a_word_for_a_time(rows: Rows) -> None:
    for row in rows:
        row["ChargePeriodStart"] = "yesterday"


_BREAKS: dict[str, Callable[[Rows], None]] = {
    "no BilledCost": _without_billed_cost,
    "a word for a cost": _with_a_word_for_a_cost,
    "an unknown currency": _with_an_unknown_currency,
    "a word for a time": _with_a_word_for_a_time,
}
_BREAKS_OF_1_0 = _BREAKS | {"an unknown frequency": _with_an_unknown_frequency}
"""Release 2.2.1 takes a list of allowed values for kept where any row has one of them."""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], Path(sys.argv[2])))
