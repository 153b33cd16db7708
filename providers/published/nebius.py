"""Nebius: its price page as of 2026-08-22.

Wire:    none that httpx can read: prices come over gRPC with an IAM token of a service account.
Units:   USD per hour; the page prices one GPU of H100, H200, B200, B300 and RTX PRO 6000 with its
         vCPUs and memory, so a preset costs its GPUs. An L40S is 1.35 without them: 0.012 (Intel)
         or 0.010 (AMD) a vCPU and 0.0032 a GiB come on top, which gives the page's "from" prices
         of 1.55 and 1.82 for the smallest presets.
Kinds:   on demand; preemptible is spot, at a market price that floats, so its rows end a day after
         the page was read. Commitment discounts are agreed with sales; no price is published.
Quirks:  one price holds in every region, but a GPU stands in some only: the rows name the regions
         of the platform's list. B300 stands in a region for chosen customers (uk-south1), so its
         rows name none. Prime Intellect resells the same machines.
Assumed: the two rates of an L40S's host are those of Nebius' billing page of October 2025; the
         page's "from" prices of 2026 are sums with them.
"""

from providers.published.adapter import PublishedSheet


class Nebius(PublishedSheet):
    """Nebius' published prices."""

    name = "nebius"
    page = "https://nebius.com/prices"
