"""What a disaggregated service cannot have is refused with its key and what to do."""

import pytest
from tiny_cases import service_entry, workloads

TWO_SIZES = [
    {"input_tokens": 1000, "output_tokens": 200, "share": 0.5},
    {"input_tokens": 4000, "output_tokens": 200, "share": 0.5},
]


def asked(policy: dict[str, object] | None = None, **more: object) -> None:
    workloads(services=[service_entry(1, 1, disaggregated=True, **more)], policy=policy or {})


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"mig": True}, "mig: true, as a slice has no link of its own; leave mig out"),
        ({"sizes": TWO_SIZES}, "2 entries of sizes, as pools are sized for one; write one entry"),
        ({"spot": {"max_share": 0.5}}, r"spot.max_share 0.5, .*; make it 0"),
        (
            {"availability": {"min_zones": 2}, "min_replicas": 2},
            "availability.min_zones 2, as both pools are in one place; make it 1",
        ),
        (
            {"availability": {"max_provider_share": 0.5}},
            "availability.max_provider_share 0.5, as both pools are with one provider",
        ),
        ({"min_up_time": "2 h"}, "min_up_time, as pools have no least time up; leave one"),
    ],
    ids=["mig", "sizes", "spot", "zones", "providers", "up"],
)
def test_a_service_cannot_have_pools_and(more: dict[str, object], told: str) -> None:
    with pytest.raises(
        ValueError, match=f"disaggregated: true of 'chat' cannot be had with {told}"
    ):
        asked(**more)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"max_groups": 2}, "policy.max_groups 2; make it 1"),
        ({"max_provider_share": 0.5}, "policy.max_provider_share 0.5; make it 1"),
    ],
    ids=["kinds", "providers"],
)
def test_a_policy_cannot_have_pools_and(policy: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        asked(policy)


def test_without_any_of_these_pools_may_be_had() -> None:
    asked()
    asked({"robust": {"scenarios": [{"name": "more", "probability": 0.5, "load": {"all": 2}}]}})
