"""The schema of workloads files says what each key means."""

import json

from broker.reports.key_texts import key_texts
from broker.reports.schemas import FileKind, schema_text


def test_every_key_of_the_schema_has_its_meaning() -> None:
    schema = json.loads(schema_text(FileKind.WORKLOADS))
    parts = {"Workloads": schema, **schema["$defs"]}
    bare = {
        f"{name}.{key}"
        for name, part in parts.items()
        for key, value in part.get("properties", {}).items()
        if not value.get("description")
    }
    assert bare == set()


def test_a_unit_and_the_regions_stand_in_the_texts() -> None:
    texts = key_texts()
    assert str(texts["LoadCurve"]["mean"]).endswith("Unit: requests/s.")
    assert "eu-west" in texts["Service"]["users"].text


def test_a_trace_stands_for_curve_and_sizes_in_the_schema() -> None:
    parts = json.loads(schema_text(FileKind.WORKLOADS))["$defs"]
    assert parts["Traffic"]["anyOf"] == [{"required": ["requests_per_s"]}, {"required": ["trace"]}]
    assert "required" not in parts["Traffic"]
    assert "sizes" not in parts["Service"]["required"]
