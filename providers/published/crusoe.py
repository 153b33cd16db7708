"""Crusoe: its price page as of 2026-09-20.

Wire:    none with prices: the signed API tells capacity and specs, and of prices only those of
         one's own reservations.
Units:   USD per hour of ONE GPU; a type's name ends in its number of GPUs (`l40s-48gb.10x`).
Kinds:   on demand. Spot, GB200, B200 and reservations stood as "contact sales" on that day; the
         spot prices that the page had in December 2025 are left out.
Quirks:  the page names no region; PCIe cards have those in which aggregators list them. Crusoe's
         help says that H100 and A100 SXM are rented by reservation only, so their price on demand
         is shown with a warning and, without a region, not planned with. `-ib` is InfiniBand.
Assumed: H200 and MI300X, whose way of renting was not found, name no region either.
"""

from providers.published.adapter import PublishedSheet


class Crusoe(PublishedSheet):
    """Crusoe's published prices."""

    name = "crusoe"
    page = "https://www.crusoe.ai/cloud/pricing"
