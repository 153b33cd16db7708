"""How a fleet is cut into blocks: of whole nodes at the base, of single replicas at the peak."""

MOST_BLOCKS = 24
"""A fleet is cut into no more blocks than this, where its machines can hold them."""


def cut_fleet(replicas: int, per_node: int, most_blocks: int = MOST_BLOCKS) -> tuple[int, ...]:
    """Cut so many replicas into blocks, the first ones up first; `per_node` fill a node.

    As many as there are blocks for are single replicas: the last ones, which come and go most. The
    first are whole nodes, or a few replicas where one fills a node; where even so there were too
    many, they have several nodes each, and about a quarter of the blocks are single replicas.
    """
    if replicas <= most_blocks:
        return (1,) * replicas
    node = max(1, per_node)
    while node > most_blocks // 2:
        node //= 2
    step = max(2, node)
    # The most for which single + (replicas - single) / step are no more than all blocks.
    single = max((most_blocks * step - replicas) // (step - 1), most_blocks // 4)
    single -= (single - replicas) % node
    single = single if single > 0 else single + node
    nodes = (replicas - single) // node
    blocks = min(nodes, most_blocks - single)
    each, more = divmod(nodes, blocks)
    sizes = (each + 1,) * more + (each,) * (blocks - more)
    return (*(size * node for size in sizes), *(1,) * single)
