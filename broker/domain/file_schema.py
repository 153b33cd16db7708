"""What the JSON Schema of a workloads file says beyond its classes: a trace stands for a curve."""

from pydantic.config import JsonDict


def curve_or_trace(schema: JsonDict) -> None:
    """Let traffic be a curve, or a trace from which the curve is read."""
    schema.pop("required", None)
    schema["anyOf"] = [{"required": ["requests_per_s"]}, {"required": ["trace"]}]


def sizes_unless_traced(schema: JsonDict) -> None:
    """Let a service go without sizes where it has a trace, which gives them, too."""
    required = schema["required"]
    if isinstance(required, list):
        schema["required"] = [name for name in required if name != "sizes"]
    traced: JsonDict = {"properties": {"traffic": {"required": ["trace"]}}}
    schema["anyOf"] = [{"required": ["sizes"]}, traced]
