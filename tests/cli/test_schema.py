import json

import pytest
from command_line import Gpubroker


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("workloads", {"schema", "horizon", "policy", "training", "services", "inventory"}),
        ("plan", {"schema", "status", "total_usd", "bound_usd", "purchases", "cost_lines"}),
        ("explanation", {"schema", "status", "lines", "rules", "commitments", "why_not"}),
    ],
)
def test_a_schema_describes_the_keys_of_a_file(
    kind: str, names: set[str], gpubroker: Gpubroker
) -> None:
    ended = gpubroker("schema", kind)
    told = json.loads(ended.out)
    assert (ended.code, ended.err) == (0, "")
    assert told["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert names <= set(told["properties"])
    assert told["properties"]["schema"]["const"] == f"gpubroker.{kind}/1"
    assert told["additionalProperties"] is False


def test_another_kind_of_file_has_no_schema(gpubroker: Gpubroker) -> None:
    ended = gpubroker("schema", "offers")
    assert (ended.code, ended.out) == (2, "")
    assert "'offers' is not one of 'workloads', 'plan', 'explanation'" in ended.err
