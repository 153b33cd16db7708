"""SkyPilot reads every task and service file: see tools/interop/skypilot_files.py."""

from interop import Kit


def check(kit: Kit) -> str:
    """Load every file, look up its names, and see broken files refused."""
    return kit.run("skypilot", "skypilot_files.py", str(kit.exported("skypilot")))
