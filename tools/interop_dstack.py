"""The dstack package reads every file: see tools/interop/dstack_files.py."""

from interop import Kit


def check(kit: Kit) -> str:
    """Load every file, look up its names, and see broken files refused."""
    return kit.run("dstack", "dstack_files.py", str(kit.exported("dstack")))
