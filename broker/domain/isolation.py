"""Isolated workloads: they share no node with any other."""

from collections.abc import Collection, Sequence


def check_isolated(
    isolated: Sequence[str], kept_for: Sequence[str | None], names: Collection[str]
) -> None:
    """See that isolated workloads are there, and that what is kept for one is for one of them.

    Args:
        isolated: their names.
        kept_for: whom each holding of the inventory is kept for, None if for all others.
        names: the names of all workloads.

    Raises:
        ValueError: one is not there.
    """
    for number, name in enumerate(isolated):
        if name not in names:
            there = ", ".join(sorted(names))
            raise ValueError(
                f"policy.isolated[{number}]: there is no workload {name!r}; there are: {there}"
            )
    for number, kept in enumerate(kept_for):
        if kept is not None and kept not in isolated:
            there = ", ".join(isolated) or "none"
            raise ValueError(
                f"inventory[{number}].isolated_for: {kept!r} is not in policy.isolated, which has: "
                f"{there}"
            )
