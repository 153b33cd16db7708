"""CoreWeave: its price page as of 2026-10-04, with the zones of its availability matrix.

Wire:    none: no API tells prices or types, and the terms of its capacity finder forbid keeping
         what it shows.
Units:   USD per hour of the whole NODE, so a GB200 NVL72 at 42.00 is four GPUs, not a rack.
Kinds:   on demand; spot as the page had it on 2026-09-20 and no longer on 2026-10-04, so those
         rows ended then. "Up to 60 %" for commitments is no price.
Quirks:  NVL72 nodes are sold by the rack, 18 at once (`min_nodes`). Prices are those of North
         America, so zones in Europe have none; zones for chosen customers are left out, and so
         are zones whose place was not found (US-CENTRAL-07A, US-EAST-15A, US-WEST-02B and -10A).
         HGX B300 has a spot price only, GB300 and the RTX PRO 6000 with less memory have none.
Assumed: a zone of the matrix has the type for every customer, "subject to capacity".
"""

from providers.published.adapter import PublishedSheet


class CoreWeave(PublishedSheet):
    """CoreWeave's published prices."""

    name = "coreweave"
    page = "https://www.coreweave.com/pricing"
