"""A case of two machines over two days, with a little of everything, for the rows of the program.

`big` has 2 GPUs (on demand, spot, reserved for a month or a year), `small` has 1 (on demand); one
`big` node is owned on the first day. `chat` is served on both: 4 requests/s on the Friday, 2 on the
Saturday. `tune` may be interrupted and runs on `big`, `eval` may not and runs on `small`.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from tiny_cases import START, case, offer, run_entry, service_entry, serving, training, workloads

from broker.domain.case import Case, OwnedNodes
from broker.domain.offer import Limits, Offer, PriceKind
from broker.domain.workload import Workloads

SIZES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.75},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.25},
]
POLICY: Mapping[str, object] = {
    "max_groups": 2,
    "budget_usd_per_month": 7300,
    "commitments": {"max_upfront_usd": 1000},
}


def two_by_two(*, start_up: str = "0 s", **policy: object) -> Case:
    """Build the case; `policy` changes entries of its policy."""
    big, small = _pooled(offer("4", name="big", gpus=2)), _pooled(offer("2.5", name="small"))
    offers = [
        big,
        small,
        offer("1.5", name="big", gpus=2, kind=PriceKind.SPOT),
        offer("2", name="big", gpus=2, kind=PriceKind.RESERVED, term_months=1, upfront_usd="365"),
        offer("1", name="big", gpus=2, kind=PriceKind.RESERVED, term_months=12, upfront_usd="8760"),
    ]
    drawn = case(
        _file(policy, start_up),
        offers,
        serving=[
            serving(big, [4, 1]),
            serving(big, [4, 1], on_spot=True),
            serving(small, [2, 0.5]),
        ],
        training=[
            training(big, run="tune", tokens_per_s=1),
            training(big, run="tune", tokens_per_s=0.8, on_spot=True, startup_s=1800),
            training(small, run="eval", nodes=2, egress_usd="7.5"),
        ],
    )
    until = START + timedelta(days=4)
    return replace(drawn, owned=(OwnedNodes(big.machine, 1, until),))


def _file(policy: Mapping[str, object], start_up: str) -> Workloads:
    return workloads(
        services=[
            service_entry(
                4,
                4,
                traffic={
                    "requests_per_s": {"mean": 4, "peak": 4, "weekend_factor": 0.5},
                },
                sizes=SIZES,
                spot={"max_share": 0.5},
                availability={"spare_replicas": 1},
                min_replicas=2,
                start_up=start_up,
            )
        ],
        training=[
            _run("tune", hours=24, restartable=True),
            _run("eval", hours=20, restartable=False),
        ],
        horizon={"start": "2026-12-04", "days": 2, "slot": "24 h"},
        policy={**POLICY, **policy},
        quotas=[
            {"provider": "acme", "price_kind": "on_demand", "gpus": 8},
            {"provider": "acme", "gpu": "H100-SXM", "gpus": 12},
            {"provider": "zeta", "gpus": 0},
        ],
    )


def _pooled(of: Offer) -> Offer:
    return of.model_copy(update={"limits": Limits(stock_pool="host", stock_gpus=6)})


def _run(name: str, *, hours: float, restartable: bool) -> dict[str, object]:
    return run_entry(
        hours * 3600,
        name=name,
        restartable=restartable,
        window={"earliest": "2026-12-04", "deadline": "2026-12-06"},
    )
