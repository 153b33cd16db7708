"""Write docs/accuracy.md: how far estimates are from public measurements, and how that is known.

    python tools/accuracy/report.py              # as `make accuracy` does
    python tools/accuracy/report.py --print      # to stdout, and leave the page alone

Each part is a module of this folder with a function `section(specs, splits)` that gives lines of
Markdown; one that is not there is left out.
"""

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from broker.specs.load import load_specs

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
_PARTS = ("serving_report", "training_report", "spot_report")
_SPLITS = 30
_HEAD = """# Accuracy

Written by `make accuracy`; do not edit. Every estimate is held against public measurements that its
constants were not fitted on. `tools/validate_sizing.py` does the same with any file of yours.

An error is |predicted − measured| / measured. *Known* is what a prototype reached on more rows than
are here, *goal* what was set for this page.
"""


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--splits", type=int, default=_SPLITS, help="random halves to hold out")
    parser.add_argument("--print", action="store_true", help="to stdout, not to the page")
    options = parser.parse_args()
    specs = load_specs()
    lines = [_HEAD]
    for name in _PARTS:
        if importlib.util.find_spec(name) is not None:
            print(f"{name} ...", file=sys.stderr)
            lines += importlib.import_module(name).section(specs, options.splits)
    page = "\n".join(lines).rstrip() + "\n"
    print(page) if options.print else PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
