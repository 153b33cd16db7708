"""What may be asked of an instance beyond its size and seed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wishes:
    """Changes to a plain instance; as it stands here, none.

    `scale` multiplies every load, and the work of jobs where it is below 1. `noise` is that of the
    hours of a load; without any they repeat each week. `quota_factor` multiplies quotas,
    `window_factor` the time that jobs have. `size_classes` gives each service as many, up to six.
    `data_sets` puts 1 to 50 TB of data beside each job, to be moved where it runs elsewhere.
    `blocks` sells reservations of a week as capacity blocks, and `provider_shares` keeps the most
    that one provider may have of a service; without, the case has neither. `prices_moved` moves
    each price by up to such a share, up or down; the search begins from the plan that so many
    seconds as `known_plan_s` find before that, or from none. The counts stand for those of the
    size.
    """

    scale: float = 1.0
    noise: float = 0.03
    quota_factor: float = 1.0
    window_factor: float = 1.0
    size_classes: int | None = None
    data_sets: bool = False
    blocks: bool = False
    provider_shares: bool = False
    prices_moved: float = 0.0
    known_plan_s: float = 0.0
    offers: int | None = None
    services: int | None = None
    jobs: int | None = None
    hours: int | None = None


PLAIN = Wishes()
