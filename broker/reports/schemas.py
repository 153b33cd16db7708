"""JSON Schemas of our files, for editors and for other programs."""

import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from pydantic import BaseModel

from broker.domain.explanation import Explanation
from broker.domain.plan import Plan
from broker.domain.workload import Workloads
from broker.reports.key_texts import described


class FileKind(StrEnum):
    """The files that have a schema."""

    WORKLOADS = "workloads"
    PLAN = "plan"
    EXPLANATION = "explanation"


_MODELS: Mapping[FileKind, type[BaseModel]] = MappingProxyType(
    {
        FileKind.WORKLOADS: Workloads,
        FileKind.PLAN: Plan,
        FileKind.EXPLANATION: Explanation,
    }
)


def schema_text(kind: FileKind) -> str:
    """Write the JSON Schema of one kind of file."""
    schema = _MODELS[kind].model_json_schema(by_alias=True)
    if kind is FileKind.WORKLOADS:
        schema = described(schema, Workloads.__name__)
    return json.dumps(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2
    )
