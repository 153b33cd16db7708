"""Reading a workloads file: YAML or JSON in, values out, and clear words for what is wrong."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from broker.domain.errors import ConfigurationError
from broker.domain.load import CURVE, SERIES
from broker.domain.workload import SCHEMA, Workloads
from broker.planning.batch_names import check_batch, check_window
from broker.planning.traces import with_traces
from broker.specs.load import Specs

TODAY = "today"
"""As `horizon.start`: the day on which the plan is made, of a night that of its date."""

_HORIZON, _START = "horizon", "start"
_SHOWN_VALUE = 60
_LATER = {
    "min_zones": "a number of zones",
}
"""Keys that the file format will have and this version refuses rather than ignores."""


class _Loader(yaml.SafeLoader):
    """Safe YAML that leaves dates as text, and takes no key twice."""

    yaml_implicit_resolvers = {
        first: [one for one in resolvers if one[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_mapping_node(self, anchor: dict[object, yaml.Node]) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:  # as it is written: `<<` brings in no keys before all is composed
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value!r} stands here again; keep one of the two",
                    problem_mark=key.start_mark,
                )
            seen.add(str(key.value))
        return node

    def construct_object(
        self,
        node: yaml.Node,
        deep: bool = False,  # noqa: FBT001, FBT002 - as in yaml
    ) -> object:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, KeyError, AttributeError) as cause:  # `!!int ten`, 5,000 digits
            kind = str(node.tag).rpartition(":")[2]
            raise yaml.MarkedYAMLError(
                problem=f"{_shown(node.value)} cannot be read as {kind}",
                problem_mark=node.start_mark,
            ) from cause


def read_workloads(path: Path, today: date | None = None) -> Workloads:
    """Read and check a workloads file; a horizon that starts `today` begins on that date.

    Raises:
        ConfigurationError: the file is missing, is no YAML, or breaks the schema; the message
            names every field, its value and what is expected.
    """
    return parse_workloads(_text_of(path), str(path), path.parent, today=today)


def starts_today(path: Path) -> bool:
    """Tell whether the horizon of a workloads file moves on from day to day.

    Raises:
        ConfigurationError: the file is missing or is no YAML.
    """
    return bool(_moving_horizon(_mapping(_text_of(path), str(path))))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as cause:
        raise ConfigurationError(
            f"cannot read workloads file {str(path)!r}: {cause.strerror}",
            hint="check the path, or start from one of `gpubroker examples`",
        ) from cause
    except UnicodeDecodeError as cause:
        raise ConfigurationError(
            f"workloads file {str(path)!r} is not UTF-8 text", hint="save it as UTF-8"
        ) from cause


def parse_workloads(
    text: str, name: str, folder: Path | None = None, *, today: date | None = None
) -> Workloads:
    """Parse the text of a workloads file; `name` stands in the messages.

    Traces that it names are read from `folder`. A horizon that starts `today` begins on that date,
    with the first moment of it in UTC.

    Raises:
        ConfigurationError: it is no YAML, breaks the schema, or a trace cannot be read.
    """
    data = with_traces(_mapping(text, name), folder, name)
    horizon = _moving_horizon(data)
    if today is not None and horizon:
        data = {**data, _HORIZON: {**horizon, _START: today.isoformat()}}
    return workloads_from(data, name)


def _moving_horizon(data: Mapping[str, object]) -> Mapping[object, object]:
    """Give the horizon if it starts today, whenever that is; else nothing."""
    horizon = data.get(_HORIZON)
    moves = isinstance(horizon, Mapping) and horizon.get(_START) == TODAY
    return horizon if isinstance(horizon, Mapping) and moves else {}


def _mapping(text: str, name: str) -> Mapping[str, object]:
    try:
        data = _loaded(text)
    except yaml.YAMLError as cause:
        place = getattr(cause, "problem_mark", None)
        where = f" at line {place.line + 1}, column {place.column + 1}" if place else ""
        problem = getattr(cause, "problem", None) or "not readable"
        raise ConfigurationError(
            f"{name}: broken YAML{where}: {problem}",
            hint="check the indentation, quotes and colons there",
        ) from cause
    if not isinstance(data, Mapping):
        raise ConfigurationError(
            f"{name}: a workloads file is a mapping of keys to values, this {_kind(data)}",
            hint=f"begin it with `schema: {SCHEMA}`",
        )
    return data


def workloads_from(data: Mapping[str, object], name: str) -> Workloads:
    """Check the content of a workloads file; `name` stands in the messages."""
    try:
        return Workloads.model_validate(data, strict=False)
    except ValidationError as cause:
        problems = [_problem(one) for one in cause.errors()]
        raise ConfigurationError(
            "\n".join(f"{name}: {problem}" for problem in problems),
            hint="`gpubroker schema workloads` prints every key with its type",
        ) from cause


def parse_value(text: str, name: str) -> object:
    """Read one value as a workloads file would; `name` stands in the message."""
    try:
        return _loaded(text)
    except yaml.YAMLError as cause:
        raise ConfigurationError(
            f"{name}: {text!r} is no value", hint="write it as in the workloads file"
        ) from cause


def _loaded(text: str) -> object:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - it is a SafeLoader
    except RecursionError as cause:
        raise yaml.MarkedYAMLError(problem="lists or mappings are nested too deeply") from cause


def workloads_sha256(workloads: Workloads) -> str:
    """Hash what a workloads file says, whatever its layout and comments."""
    return hashlib.sha256(workloads.model_dump_json(by_alias=True).encode()).hexdigest()


def has_hash(workloads: Workloads, digest: str) -> bool:
    """Tell whether workloads that a plan file holds had this hash when it was written.

    An earlier version, which knew fewer keys, hashed those that it wrote.
    """
    text = workloads.model_dump_json(by_alias=True, exclude_unset=True)
    written = hashlib.sha256(text.encode()).hexdigest()
    return digest in (written, workloads_sha256(workloads))


def check_names(workloads: Workloads, specs: Specs) -> None:
    """Check every name that the workloads take from our tables, and every window.

    Raises:
        ConfigurationError: a model, GPU or user region is unknown, or a window lies outside.
    """
    _check_services(workloads, specs)
    for number, quota in enumerate(workloads.quotas):
        if quota.gpu is not None:
            _known(specs.gpu, quota.gpu, f"quotas[{number}].gpu")
    _check_training(workloads, specs)
    check_batch(workloads, specs, _known)


def _check_services(workloads: Workloads, specs: Specs) -> None:
    for number, service in enumerate(workloads.services):
        _known(specs.llm, service.model, f"services[{number}].model")
        for model in service.alternatives:
            _known(specs.llm, model, f"services[{number}].alternatives")
        for region in service.users:
            _known(specs.user_region, region, f"services[{number}].users")
        for gpu in service.gpu_models:
            _known(specs.gpu, gpu, f"services[{number}].gpu_models")


def _check_training(workloads: Workloads, specs: Specs) -> None:
    horizon = workloads.horizon
    for number, run in enumerate(workloads.training):
        _known(specs.llm, run.model, f"training[{number}].model")
        for gpu in run.hardware.gpu_models:
            _known(specs.gpu, gpu, f"training[{number}].hardware.gpu_models")
        check_window(f"training[{number}].window", run.window, horizon)


def _kind(data: object) -> str:
    if data is None:
        return "is empty"
    return "is a list" if isinstance(data, list) else f"is only {_shown(data)}"


def _shown(value: object) -> str:
    text = f"{value.total_seconds():g} s" if isinstance(value, timedelta) else repr(value)
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"


def _problem(error: ErrorDetails) -> str:
    where = _path(error["loc"])
    if error["type"] == "extra_forbidden":
        return _unknown_key(where, str(error["loc"][-1]))
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "missing":
        what = f"add it: a date, or {TODAY}" if where == f"{_HORIZON}.{_START}" else "add it"
        return f"{where}: this key is missing; {what}"
    if error["type"] == "value_error":
        return f"{where}: {message}" if where else message
    return f"{where}: {_shown(error['input'])} is not right: {message[:1].lower()}{message[1:]}"


def _unknown_key(where: str, key: str) -> str:
    if key in _LATER:
        return f"{where}: {_LATER[key]} cannot be planned in this version; remove the key"
    near = get_close_matches(key, sorted(set(_keys(Workloads)) - {key}), n=1)
    return f"{where}: there is no such key" + (f"; did you mean {near[0]!r}?" if near else "")


def _path(location: Sequence[int | str]) -> str:
    keys = [part for part in location if part not in (CURVE, SERIES)]
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in keys]
    return "".join(parts).removeprefix(".")


def _keys(model: type[BaseModel]) -> Iterator[str]:
    for name, information in model.model_fields.items():
        yield information.alias or name
        for inner in _models_in(information.annotation):
            yield from _keys(inner)


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif isinstance(annotation, UnionType) or get_args(annotation):
        for argument in get_args(annotation):
            yield from _models_in(argument)


def _known(look_up: Callable[[str], object], name: str, where: str) -> None:
    try:
        look_up(name)
    except ConfigurationError as cause:
        raise ConfigurationError(f"{where}: {cause}", hint=cause.hint) from cause
