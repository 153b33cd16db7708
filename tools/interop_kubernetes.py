"""Kubernetes's own schemas accept every object: see tools/interop/kubernetes_files.py."""

from interop import Kit


def check(kit: Kit) -> str:
    """Validate every object strictly, and see broken objects refused."""
    return kit.run("kubernetes", "kubernetes_files.py", str(kit.exported("kubernetes")))
