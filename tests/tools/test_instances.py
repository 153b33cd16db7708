"""Generated instances: the same for ever, and changed by a wish only where it says so."""

import importlib.util
import sys
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from program_bench.generate import generate
from program_bench.instance import Instance, Job, Service, job_rates
from program_bench.wishes import Wishes

SHARED = Path(__file__).parents[3] / "shared" / "tools" / "instances.py"
ADDED = {"classes", "tpot_s", "data_tb"}


def differences(old: object, new: Instance | Service | Job) -> set[str]:
    """Name the fields, but the lists, of two values that are not the same to the bit."""
    names = {one.name for one in fields(new)} - {"services", "jobs"}
    return {
        name for name in names if not np.array_equal(getattr(old, name, None), getattr(new, name))
    }


def all_differences(old: Instance, new: Instance) -> set[str]:
    found = differences(old, new)
    for ours, theirs in ((old.services, new.services), (old.jobs, new.jobs)):
        for one, other in zip(ours, theirs, strict=True):
            found |= {f"{type(other).__name__}.{name}" for name in differences(one, other)}
    return found


@pytest.fixture(scope="module")
def original() -> ModuleType:
    """Load the generator that ours was carried over from."""
    if not SHARED.exists():
        pytest.skip("the original is not there")
    found = importlib.util.spec_from_file_location("original_instances", SHARED)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module  # its dataclasses look their module up
    found.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("size", "seed"), [("tiny", 0), ("small", 1), ("small", 5), ("medium", 2)])
def test_a_plain_instance_is_that_of_the_original(
    size: str, seed: int, original: ModuleType
) -> None:
    old, new = original.generate(size, seed), generate(size, seed)
    added = {f"{owner.__name__}.{name}" for owner in (Service, Job) for name in ADDED}
    assert all_differences(old, new) - added == {"region_continent"}
    for job in new.jobs:
        rates = original.job_rate(old, job, np.arange(len(old.od)), job.nodes[-1])
        assert np.array_equal(rates, job_rates(new, job, job.nodes[-1]))


def test_scale_noise_and_quotas_are_those_of_the_original(original: ModuleType) -> None:
    old = original.generate("small", 3, scale=8.0, noise=0.0, tight_quota=0.5, hours=48)
    wishes = Wishes(scale=8.0, noise=0.0, quota_factor=0.5, hours=48)
    new = generate("small", 3, wishes)
    assert np.array_equal(old.quota, new.quota)
    assert all(
        np.array_equal(one.load, other.load)
        for one, other in zip(old.services, new.services, strict=True)
    )


def test_an_instance_is_still_what_it_was() -> None:
    """Without the original: figures of one instance, written down once."""
    inst = generate("small", 1)
    assert (inst.offer_count, len(inst.plan_offer), int(inst.quota.sum())) == (200, 259, 9715)
    assert float(inst.od.sum()) == pytest.approx(2117.4832)
    loads = {one.name: float(one.load.sum()) for one in inst.services}
    assert loads == pytest.approx(
        {"svc0-7B": 750863.29, "svc1-13B": 98641.488, "svc2-32B": 7965.423}
    )
    jobs = [(one.release, one.deadline, one.work) for one in inst.jobs]
    assert jobs == [(98, 133, 744.5), (23, 106, 1015.3)]


@pytest.mark.parametrize(
    ("wishes", "changed"),
    [
        (Wishes(), set()),
        (Wishes(scale=8.0), {"Service.load"}),
        (Wishes(quota_factor=0.5), {"quota"}),
        (Wishes(window_factor=0.7), {"Job.deadline"}),
        (Wishes(data_sets=True), {"Job.data_tb"}),
        (Wishes(prices_moved=0.03), {"od", "sp", "plan_upfront", "plan_hourly"}),
    ],
)
def test_a_wish_changes_nothing_else(wishes: Wishes, changed: set[str]) -> None:
    assert all_differences(generate("small", 1), generate("small", 1, wishes)) == changed


def test_prices_move_by_a_share_at_most() -> None:
    inst, moved = generate("small", 1), generate("small", 1, Wishes(prices_moved=0.03))
    sold = np.isfinite(inst.sp)
    assert np.array_equal(sold, np.isfinite(moved.sp))
    for shares in (moved.od / inst.od, moved.sp[sold] / inst.sp[sold]):
        assert 0.97 <= shares.min() < 0.975
        assert 1.025 < shares.max() <= 1.03
    paid = (inst.plan_upfront > 0) & (inst.plan_hourly > 0)
    assert paid.any()
    upfront = moved.plan_upfront[paid] / inst.plan_upfront[paid]
    assert upfront == pytest.approx(moved.plan_hourly[paid] / inst.plan_hourly[paid])


def test_services_have_as_many_size_classes_as_are_wished() -> None:
    inst = generate("small", 1, Wishes(size_classes=5))
    for service in inst.services:
        assert len(set(service.classes)) == 5
        assert service.load.shape == (5, 168)
        assert service.mu.shape[1] == 5
        assert (service.load.sum(axis=1) > 0).all()


def test_counts_stand_for_those_of_the_size() -> None:
    wishes = Wishes(offers=30, services=1, jobs=0, hours=24)
    inst = generate("small", 1, wishes)
    assert (inst.offer_count, len(inst.services), len(inst.jobs), inst.T) == (30, 1, 0, 24)
    assert all_differences(inst, generate("small", 1, replace(wishes))) == set()
