"""Runs in gpuhunt's own environment: its catalog query on our rows, timed; figures as JSON.

    PYTHON tools/bench_gpuhunt_child.py FOLDER QUESTIONS REPEATS

FOLDER has a CSV file for each provider that gpuhunt reads offline; QUESTIONS is a JSON list of the
arguments of `Catalog.query`. Nothing is downloaded: the catalog is filled from the files by the
functions that fill it from a download.
"""

import json
import sys
import time
from pathlib import Path

from gpuhunt._internal import storage
from gpuhunt._internal.catalog import OFFLINE_PROVIDERS, Catalog, ProviderCatalog


def main() -> None:
    """Load the files once, put each question several times, and print the figures."""
    folder, questions, repeats = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
    catalog = Catalog(auto_reload=False)
    start_s = time.perf_counter()
    for provider in OFFLINE_PROVIDERS:
        with (folder / f"{provider}.csv").open(encoding="utf-8", newline="") as file:
            items = list(storage.load(file, provider=provider))
        catalog.catalog[provider] = ProviderCatalog("ours", items)
    catalog.loaded_at = time.monotonic()
    load_s = time.perf_counter() - start_s
    answers = []
    for question in questions:
        best_s = float("inf")
        for _ in range(repeats):
            start_s = time.perf_counter()
            found = catalog.query(**question)
            best_s = min(best_s, time.perf_counter() - start_s)
        answers.append({"matching": len(found), "query_s": best_s})
    items = sum(len(one.items) for one in catalog.catalog.values())
    print(json.dumps({"load_s": load_s, "items": items, "answers": answers}))


if __name__ == "__main__":
    main()
