"""Pools are where a service allows them, both of one class, each with the whole load."""

from dataclasses import replace

import pytest
from changed_cases import with_workloads
from pool_cases import LARGE, SMALL, large_and_small, whole
from solving import assembled, solved

from broker.domain.candidate import ServingCandidate
from broker.domain.case import Case
from broker.domain.offer import Fabric
from broker.domain.plan import Plan, ServingAssignment
from broker.domain.pool import Role
from broker.verification.check import check


@pytest.fixture(scope="module")
def pool_case() -> Case:
    return large_and_small(2)


@pytest.fixture(scope="module")
def pool_plan(pool_case: Case) -> Plan:
    return assembled(pool_case, solved(pool_case))


def broken(plan: Plan, of: Case) -> dict[str, str]:
    return {one.rule: one.message for one in check(plan, of)}


def role_of(one: ServingCandidate) -> Role | None:
    return None if one.pool is None else one.pool.role


def with_pool(plan: Plan, of: Case, role: Role, **changes: object) -> tuple[Plan, Case]:
    """Change what the replicas of one pool say of it, in the plan and among the options."""

    def changed(one: ServingCandidate) -> ServingCandidate:
        if one.pool is None or one.pool.role is not role:
            return one
        return one.model_copy(update={"pool": one.pool.model_copy(update=changes)})

    groups = [one.model_copy(update={"candidate": changed(one.candidate)}) for one in plan.serving]
    options = [replace(one, candidate=changed(one.candidate)) for one in of.serving]
    plan = plan.model_copy(update={"serving": tuple(groups)})
    return plan, replace(of, serving=tuple(options))


def with_groups(plan: Plan, groups: list[ServingAssignment]) -> Plan:
    return plan.model_copy(update={"serving": tuple(groups)})


def test_the_plan_is_accepted_as_it_is(pool_plan: Plan, pool_case: Case) -> None:
    assert broken(pool_plan, pool_case) == {}
    assert {role_of(one.candidate) for one in pool_plan.serving} == set(Role)


def test_pools_are_refused_where_the_service_does_not_allow_them(
    pool_plan: Plan, pool_case: Case
) -> None:
    of = with_workloads(pool_case, {"services.0.disaggregated": False})
    plan = pool_plan.model_copy(update={"workloads": of.workloads})
    assert "the service does not allow disaggregated" in broken(plan, of)["pools"]


@pytest.mark.parametrize("role", list(Role))
def test_a_pool_without_the_other_serves_nobody(
    role: Role, pool_plan: Plan, pool_case: Case
) -> None:
    left = [one for one in pool_plan.serving if role_of(one.candidate) is role]
    found = broken(with_groups(pool_plan, left), pool_case)
    assert found["pools_together"] == f"has a pool for {role} alone, and none for the rest"
    assert "0 requests/s of 4" in found["serve_load"]
    assert "0 replicas, 1 are the least" in found["min_replicas"]


@pytest.mark.parametrize("role", list(Role))
def test_each_pool_carries_the_whole_load(role: Role, pool_plan: Plan, pool_case: Case) -> None:
    groups = [
        one
        if role_of(one.candidate) is not role
        else one.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"requests_per_s": (3.0,)}) for step in one.steps
                )
            }
        )
        for one in pool_plan.serving
    ]
    assert "3 requests/s of 4" in broken(with_groups(pool_plan, groups), pool_case)["serve_load"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"place": "acme/there"}, "its pool is in acme/there on infiniband, cuda; the machine is"),
        ({"fabric": "efa"}, "its pool is in acme/here on efa"),
        ({"stack": "rocm"}, "on infiniband, rocm; the machine is in acme/here on infiniband, cuda"),
        ({"link_gb_per_s": 512.0}, "a replica has 400 GB/s of its node's fabric, not 512"),
    ],
    ids=["place", "fabric", "software", "link"],
)
def test_a_pool_is_where_its_machine_is(
    changes: dict[str, object], told: str, pool_plan: Plan, pool_case: Case
) -> None:
    plan, of = with_pool(pool_plan, pool_case, Role.DECODE, **changes)
    found = broken(plan, of)
    assert told in found["pools"]
    assert "prompts and answers are served by what differs" in found["pools_together"]


def test_a_fabric_that_is_not_known_joins_nothing(pool_plan: Plan, pool_case: Case) -> None:
    unknown = {"fabric": Fabric.UNKNOWN, "fabric_gbit_per_s": None}
    shape = SMALL.hardware.shape.model_copy(update=unknown)
    bare = SMALL.model_copy(update={"hardware": SMALL.hardware.model_copy(update={"shape": shape})})
    of = replace(pool_case, machines={**pool_case.machines, SMALL.machine: bare})
    assert "on unknown, cuda" in broken(pool_plan, of)["pools"]


def test_formats_do_not_mix(pool_plan: Plan, pool_case: Case) -> None:
    groups = [
        one.model_copy(update={"candidate": one.candidate.model_copy(update={"model": "another"})})
        if role_of(one.candidate) is Role.DECODE
        else one
        for one in pool_plan.serving
    ]
    found = broken(with_groups(pool_plan, groups), pool_case)
    assert "cuda/another/bf16" in found["pools_together"]


def test_replicas_that_do_both_are_beside_no_pool(pool_plan: Plan, pool_case: Case) -> None:
    (decode,) = (one for one in pool_plan.serving if role_of(one.candidate) is Role.DECODE)
    both = decode.model_copy(
        update={"candidate": whole(LARGE, 2).candidate, "machine": LARGE.machine}
    )
    found = broken(with_groups(pool_plan, [*pool_plan.serving, both]), pool_case)
    assert "both at once" in found["pools_together"]
    assert "2 kinds of replica serve it, 1 are the most" in found["groups"]
