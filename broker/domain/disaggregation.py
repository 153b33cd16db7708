"""What cannot be had together with pools for prompts and answers, service by service."""

from typing import Protocol

from broker.domain.availability import Availability
from broker.domain.policy import Policy


class _Spot(Protocol):
    @property
    def max_share(self) -> float: ...


def check_one(
    name: str, availability: Availability, spot: _Spot, *, sizes: int, is_cut: bool
) -> None:
    """Hold a disaggregated service to what is known of its pools.

    Raises:
        ValueError: it also asks for slices, sizes, spot or places that pools cannot have.
    """
    wrong = [
        (is_cut, "mig: true", "a slice has no link of its own", "leave mig out"),
        (sizes > 1, f"{sizes} entries of sizes", "pools are sized for one", "write one entry"),
        (
            spot.max_share > 0,
            f"spot.max_share {spot.max_share:g}",
            "a pool that loses nodes holds up the other one",
            "make it 0",
        ),
        (
            availability.min_zones > 1,
            f"availability.min_zones {availability.min_zones}",
            "both pools are in one place",
            "make it 1",
        ),
        (
            availability.max_provider_share < 1,
            f"availability.max_provider_share {availability.max_provider_share:g}",
            "both pools are with one provider",
            "make it 1",
        ),
    ]
    for is_wrong, field, why, remedy in wrong:
        if is_wrong:
            raise ValueError(
                f"disaggregated: true of {name!r} cannot be had with {field}, as {why}; "
                f"{remedy}, or leave disaggregated out"
            )


def check_steady(name: str, *, stays_up: bool) -> None:
    """Refuse pools whose replicas have a least time up: nobody has counted those together.

    Raises:
        ValueError: the service asks for both.
    """
    if stays_up:
        raise ValueError(
            f"disaggregated: true of {name!r} cannot be had with min_up_time, as pools have no "
            "least time up; leave one of them out"
        )


def check_policy(policy: Policy, disaggregated: list[str]) -> None:
    """Hold the policy to what is known of disaggregated services, named here.

    Raises:
        ValueError: it asks for more than one kind of replica at any time, or several providers.
    """
    if not disaggregated:
        return
    share = policy.max_provider_share
    wrong = [
        (policy.max_groups > 1, f"max_groups {policy.max_groups}; make it 1"),
        (policy.burst is not None, "burst; leave that out"),
        (share < 1, f"max_provider_share {share:g}; make it 1"),
    ]
    for is_wrong, field in wrong:
        if is_wrong:
            raise ValueError(
                f"disaggregated: true of {disaggregated[0]!r} cannot be had with policy.{field}, "
                "or leave disaggregated out"
            )
