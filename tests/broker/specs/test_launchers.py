"""The tables of launching tools: they speak of GPUs and providers that we know."""

import pytest

from broker.specs.launchers import MachineNames, Tool, read_launchers
from broker.specs.load import load_specs
from broker.specs.tables import read_table


@pytest.mark.parametrize("tool", Tool)
def test_every_gpu_of_a_tool_is_one_of_ours_on_a_cloud_of_the_tool(tool: Tool) -> None:
    launchers, gpus = read_launchers(tool), load_specs().gpus
    clouds = {cloud.cloud for cloud in launchers.clouds.values()}
    for cloud, model in launchers.gpus:
        assert model in gpus
        assert cloud in clouds | {"*"}


@pytest.mark.parametrize("tool", Tool)
def test_two_models_of_one_name_on_a_cloud_are_not_exact(tool: Tool) -> None:
    launchers = read_launchers(tool)
    names: dict[tuple[str, str, int | None], set[str]] = {}
    for (cloud, model), rows in launchers.gpus.items():
        for row in rows:
            names.setdefault((cloud, row.name, row.memory_gib), set()).add(model)
    for (cloud, name, _), models in names.items():
        if len(models) > 1:
            rows = [row for model in models for row in launchers.gpus[cloud, model]]
            assert not any(row.is_exact for row in rows if row.name == name), (cloud, name)


def test_a_cloud_whose_machines_are_not_named_has_exact_names_of_gpus() -> None:
    for tool in Tool:
        launchers = read_launchers(tool)
        for cloud in launchers.clouds.values():
            rows = [
                row
                for (name, _), found in launchers.gpus.items()
                if name in {cloud.cloud, "*"}
                for row in found
            ]
            assert cloud.machines is not MachineNames.UNNAMED or any(row.is_exact for row in rows)


@pytest.mark.parametrize("name", ["launch_clouds", "launch_gpus", "launch_regions"])
def test_every_row_names_its_source(name: str) -> None:
    assert all(row["source"] for row in read_table(f"{name}.csv"))
