"""JSON Schemas of our files, for editors and for other programs."""

import json
from enum import StrEnum

from broker.domain.plan import Plan
from broker.domain.workload import Workloads


class FileKind(StrEnum):
    """The files that have a schema."""

    WORKLOADS = "workloads"
    PLAN = "plan"


def schema_text(kind: FileKind) -> str:
    """Write the JSON Schema of one kind of file."""
    model = Workloads if kind is FileKind.WORKLOADS else Plan
    schema = model.model_json_schema(by_alias=True)
    return json.dumps(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2
    )
