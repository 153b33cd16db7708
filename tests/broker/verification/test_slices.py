"""Slices are cut where that is allowed and can be, and are laid out on the GPUs that are bought."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from changed_cases import with_workloads
from slice_cases import HALF, QUARTER, cuttable, sliced
from solving import assembled, solved
from tiny_cases import case as case_of
from tiny_cases import offer, service_entry, workloads

from broker.domain.candidate import ServingCandidate
from broker.domain.case import Case
from broker.domain.gpu import GpuSlice
from broker.domain.offer import Virtualization
from broker.domain.plan import Plan
from broker.verification.check import check

BOX = cuttable(offer("4"))


@pytest.fixture(scope="module")
def sliced_case() -> Case:
    """Ask for 5 quarters and a half: two GPUs, with a quarter of one left."""
    spared = {"spare_replicas": 1}
    services = [
        service_entry(1, 1, mig=True, availability=spared),
        service_entry(2, 2, mig=True, name="code"),
    ]
    options = [sliced(BOX, [1], QUARTER), sliced(BOX, [2], HALF, service="code")]
    return case_of(workloads(services=services), [BOX], serving=options)


@pytest.fixture(scope="module")
def sliced_plan(sliced_case: Case) -> Plan:
    return assembled(sliced_case, solved(sliced_case))


def broken(plan: Plan, of: Case) -> dict[str, str]:
    return {one.rule: one.message for one in check(plan, of)}


def with_replicas(plan: Plan, service: str, count: Callable[[int], int]) -> Plan:
    groups = [
        one
        if one.service != service
        else one.model_copy(
            update={
                "steps": tuple(
                    step.model_copy(update={"replicas": count(step.replicas)}) for step in one.steps
                )
            }
        )
        for one in plan.serving
    ]
    return plan.model_copy(update={"serving": tuple(groups)})


def with_candidate(plan: Plan, of: Case, **changes: object) -> tuple[Plan, Case]:
    """Change the candidate of `code`, in the plan and among the options."""

    def changed(one: ServingCandidate) -> ServingCandidate:
        return one.model_copy(update=changes) if one.service == "code" else one

    groups = [one.model_copy(update={"candidate": changed(one.candidate)}) for one in plan.serving]
    options = [replace(one, candidate=changed(one.candidate)) for one in of.serving]
    plan = plan.model_copy(update={"serving": tuple(groups)})
    return plan, replace(of, serving=tuple(options))


def test_the_plan_is_accepted_as_it_is(sliced_plan: Plan, sliced_case: Case) -> None:
    assert broken(sliced_plan, sliced_case) == {}
    replicas = {one.service: one.steps[0].replicas for one in sliced_plan.serving}
    assert replicas == {"chat": 5, "code": 1}
    assert sliced_plan.purchases[0].steps[0].nodes == 2


def test_slices_are_refused_where_the_service_does_not_allow_them(
    sliced_plan: Plan, sliced_case: Case
) -> None:
    of = with_workloads(sliced_case, {"services.1.mig": False})
    plan = sliced_plan.model_copy(update={"workloads": of.workloads})
    told = "its replicas are on slices; the service does not allow mig"
    assert broken(plan, of)["slices"] == f"{BOX.machine}: {told}"


def test_slices_are_refused_where_the_buyer_has_no_whole_gpu(
    sliced_plan: Plan, sliced_case: Case
) -> None:
    hardware = BOX.hardware.model_copy(update={"virtualization": Virtualization.CONTAINER})
    boxed = BOX.model_copy(update={"hardware": hardware})
    of = replace(sliced_case, machines={BOX.machine: boxed})
    told = "its GPUs are had as container; nobody can cut those"
    assert broken(sliced_plan, of)["slices"] == f"{BOX.machine}: {told}"


def test_a_slice_is_one_of_its_own_gpu_with_one_device(
    sliced_plan: Plan, sliced_case: Case
) -> None:
    plan, of = with_candidate(sliced_plan, sliced_case, gpu="A100-80-SXM-3g.40gb")
    assert "A100-80-SXM-3g.40gb is no 3g.40gb slice of H100-SXM" in broken(plan, of)["slices"]
    layout = sliced_plan.serving[0].candidate.layout.model_copy(update={"tensor": 2})
    plan, of = with_candidate(sliced_plan, sliced_case, layout=layout)
    assert "a replica takes 1 of a GPU; one slice of 1/4 or 1/2" in broken(plan, of)["slices"]


def test_no_more_slices_stand_on_gpus_than_have_room(sliced_plan: Plan, sliced_case: Case) -> None:
    """Six quarters and a half fill two GPUs; seven do not fit beside it."""
    full = broken(with_replicas(sliced_plan, "chat", lambda count: count + 1), sliced_case)
    assert not {"cuts", "capacity"} & full.keys()
    found = broken(with_replicas(sliced_plan, "chat", lambda count: count + 2), sliced_case)
    assert "1 replicas find no place on the GPUs that are cut" in found["cuts"]
    assert "capacity" in found


def test_counts_that_nobody_could_lay_out_are_refused(sliced_plan: Plan, sliced_case: Case) -> None:
    found = broken(with_replicas(sliced_plan, "chat", lambda _: 10**12), sliced_case)
    assert {"cuts", "capacity"} <= found.keys()
    bought = sliced_plan.purchases[0]
    steps = tuple(one.model_copy(update={"nodes": 10**12}) for one in bought.steps)
    nodes = sliced_plan.model_copy(
        update={"purchases": (bought.model_copy(update={"steps": steps}),)}
    )
    assert {"unused_nodes", "purchase_cost"} <= broken(nodes, sliced_case).keys()


def test_spares_are_all_that_a_gpu_holds(sliced_plan: Plan, sliced_case: Case) -> None:
    found = broken(with_replicas(sliced_plan, "chat", lambda count: count - 1), sliced_case)
    assert "1 replicas are busy of 4, of which 4 are spares" in found["replica_rate"]


def test_a_part_that_does_not_nest_is_no_slice() -> None:
    with pytest.raises(ValueError, match="takes 3/8 of a GPU; slices are 1/4 or 1/2"):
        GpuSlice.model_validate({"profile": "3g.30gb", "gpu_share": "3/8"})
