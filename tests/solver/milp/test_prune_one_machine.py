"""Of one machine, candidates and commitments go that another one makes needless."""

from collections.abc import Sequence

import pytest
from prune_cases import box, demand, pruned
from tiny_cases import serving

from broker.domain.case import ServingOption
from broker.domain.offer import Limits, Offer, PriceKind

_TWO_SIZES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.75},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.25},
]


def _terms(usd: str, upfront_usd: str = "0", **more: object) -> Offer:
    kind = {"kind": PriceKind.RESERVED, "term_months": 12, "upfront_usd": upfront_usd}
    return box("box", usd, **(kind | more))


@pytest.mark.parametrize(
    ("rates", "left"),
    [
        ([[2, 1], [4, 2]], {1}),
        ([[2, 1], [4.1, 2]], {1, 2}),
        ([[2, 1], [4, 2.1]], {1, 2}),
        ([[2, 0], [4, 1]], {1, 2}),
    ],
    ids=["twice", "more of one class", "more of the other", "a class alone"],
)
def test_a_replica_goes_that_smaller_ones_replace_in_the_same_gpus(
    rates: Sequence[Sequence[float]], left: set[int]
) -> None:
    node = box("box", "2")
    options = [serving(node, rates[0], gpus=1), serving(node, rates[1], gpus=2)]
    of = demand([node], options, sizes=_TWO_SIZES)
    assert {one.candidate.layout.gpus for one in pruned(of).serving} == left


def test_the_slower_of_two_candidates_with_as_many_gpus_goes() -> None:
    node = box("box", "2")
    slow, fast = serving(node, [2]), serving(node, [3])
    quick = fast.candidate.model_copy(update={"id": "quick"})
    other = ServingOption(fast.service, fast.user_region, fast.machine, fast.on_spot, quick)
    assert [one.candidate.id for one in pruned(demand([node], [slow, other])).serving] == ["quick"]


@pytest.mark.parametrize(
    ("cheaper", "dearer", "stays"),
    [
        (_terms("1.5"), _terms("1.8", kind=PriceKind.CONTRACT), False),
        (_terms("1.5", "876"), _terms("1.8", kind=PriceKind.CONTRACT), False),
        (_terms("1.5"), _terms("1.8", term_months=1), True),
        (_terms("1.5", limits=Limits(max_nodes=1)), _terms("1.8", kind=PriceKind.CONTRACT), True),
        (_terms("1.5", limits=Limits(stock_nodes=1)), _terms("1.8", kind=PriceKind.CONTRACT), True),
        (_terms("1.5"), _terms("1.4", "8760", kind=PriceKind.CONTRACT), False),
    ],
    ids=["cheaper", "cash", "another term", "most nodes", "stock", "dear in all"],
)
def test_of_two_commitments_of_one_term_the_dearer_goes(
    cheaper: Offer, dearer: Offer, *, stays: bool
) -> None:
    node = box("box", "3")
    of = demand([node, cheaper, dearer], [serving(node, [3])])
    assert (dearer in pruned(of).offers) is stays
    assert cheaper in pruned(of).offers


@pytest.mark.parametrize(
    ("upfront_usd", "stays"), [("876", True), ("0", False)], ids=["with cash", "without"]
)
def test_a_cap_on_cash_keeps_the_commitment_that_needs_less(
    upfront_usd: str, *, stays: bool
) -> None:
    node, cheaper, dearer = (
        box("box", "3"),
        _terms("1.5", upfront_usd),
        _terms("1.8", kind=PriceKind.CONTRACT),
    )
    policy = {"commitments": {"max_upfront_usd": 500}}
    of = demand([node, cheaper, dearer], [serving(node, [3])], policy=policy)
    assert (dearer in pruned(of).offers) is stays


def test_a_quota_on_the_cheaper_commitment_keeps_the_dearer() -> None:
    node, cheaper, dearer = box("box", "3"), _terms("1.5"), _terms("1.8", kind=PriceKind.CONTRACT)
    reserved = {"provider": "acme", "price_kind": "reserved", "gpus": 2}
    every = {"provider": "acme", "gpus": 2}
    of = demand([node, cheaper, dearer], [serving(node, [3])], quotas=[reserved])
    assert dearer in pruned(of).offers
    of = demand([node, cheaper, dearer], [serving(node, [3])], quotas=[every])
    assert dearer not in pruned(of).offers
