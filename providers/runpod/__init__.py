"""RunPod: what a GPU costs, and in which data centre or country how many are to be had together.

Wire:  POST https://api.runpod.io/graphql, no key needed for these questions. First all GPU types,
       data centres and country codes; then the types of instant clusters; then the stock of each
       data centre (secure cloud) and of each country (community cloud), for 1, 2, 4 and 8 GPUs, in
       one request a place.
Units: USD per hour for ONE GPU. An offer is a pod of 1, 2, 4 or 8, at that many times the price;
       memory of a GPU in GB; vCPUs and RAM in GB are those of the whole pod.
Kinds: on demand, spot, and savings plans of 1, 3 or 6 months, prepaid, in the secure cloud: all of
       it is due at the start, so the hourly price is 0 and the upfront one is
       price x 730 h x months. Instant clusters are on demand, of 2 to 8 nodes in a data centre.
Quirks: a price stands there for a cloud that does not sell the card (0.50 for a community
       H200 NVL), so each is gated by its flag; the bid floor of `lowestPrice` is no price; a stock
       of null means none; GraphQL errors come with status 200; slices of a GPU are types of
       their own. Disk is billed apart. A variable with a wrong name is ignored without an error.
       What a bid costs in one place (`minimumBidPrice`) is left out: no source says whether it is
       of one GPU or of all that were asked for.
"""
