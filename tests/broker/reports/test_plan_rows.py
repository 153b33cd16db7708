from report_plans import report_plan

from broker.reports.plan_rows import work_rows


def test_the_model_is_told_where_a_service_leaves_a_choice() -> None:
    plan = report_plan()
    assert {row.model for row in work_rows(plan)} == {""}
    (service,) = plan.workloads.services
    chosen = service.model_copy(update={"alternatives": ("qwen3-8b",)})
    workloads = plan.workloads.model_copy(update={"services": (chosen,)})
    first, *rest = plan.serving
    other = first.model_copy(
        update={"candidate": first.candidate.model_copy(update={"model": "qwen3-8b"})}
    )
    several = plan.model_copy(update={"workloads": workloads, "serving": (other, *rest)})
    models = [row.model for row in work_rows(several)]
    assert models[: len(plan.serving)] == ["qwen3-8b", *(service.model for _ in rest)]
    assert set(models[len(plan.serving) :]) == {""}
