"""Together the shipped examples set every key of a workloads file to something that matters."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from broker.domain.gpu import Precision
from broker.domain.offer import PriceKind
from broker.domain.robust import Measure
from broker.domain.workload import Workloads
from broker.examples.catalog import examples
from broker.planning.workloads_file import parse_workloads

SET_IN_NONE = {
    "services.traffic.trace": "it names a log beside the file, and an example is one file",
    "services.traffic.trace_read.sha256": "gpubroker writes it, of the log",
    "services.traffic.trace_read.notes": "gpubroker writes it, of the log",
}
"""Keys that no example sets, each with its reason."""

USED_IN_NONE: Mapping[Enum, str] = {
    Precision.NVFP4: "a format of published weights; the networks of the examples have none",
    Precision.MXFP4: "a format of published weights; the networks of the examples have none",
    Measure.MEAN: "the example of the worst courses weighs the mean, too",
    PriceKind.RESERVED: "a quota is on GPUs that run, however they are paid",
    PriceKind.SAVINGS_PLAN: "a quota is on GPUs that run, however they are paid",
    PriceKind.CAPACITY_BLOCK: "a quota is on GPUs that run, however they are paid",
    PriceKind.CONTRACT: "a quota is on GPUs that run, however they are paid",
    PriceKind.OWNED: "nobody limits what is owned",
}
"""Values of closed sets that no example uses anywhere, each with its reason."""


@pytest.fixture(scope="module")
def written() -> list[tuple[str, FieldInfo, object]]:
    """Give each key of each example as it was read: its path, its field and its value."""
    files = [parse_workloads(one.text, one.name) for one in examples()]
    return [found for file in files for found in _values(file, "")]


def test_every_key_is_set_in_an_example_to_something_else_than_its_default(
    written: list[tuple[str, FieldInfo, object]],
) -> None:
    known = {path for path, _ in _keys(Workloads, "")}
    telling = {path for path, field, value in written if value != field.get_default()}
    assert len(known) > 100
    assert known - telling == SET_IN_NONE.keys()


def test_every_value_of_a_closed_set_is_used_in_an_example(
    written: list[tuple[str, FieldInfo, object]],
) -> None:
    possible = {one for _, field in _keys(Workloads, "") for one in _members(field.annotation)}
    used = {one for _, _, value in written for one in _each(value) if isinstance(one, Enum)}
    assert possible - used == USED_IN_NONE.keys()


def test_every_yes_and_no_and_every_fixed_word_is_written_in_an_example(
    written: list[tuple[str, FieldInfo, object]],
) -> None:
    possible = {
        (path, word) for path, field in _keys(Workloads, "") for word in _words(field.annotation)
    }
    used = {(path, str(value)) for path, _, value in written}
    assert {"batch.restartable", "training.hardware.bare_metal"} <= {path for path, _ in possible}
    assert possible - used == set()


def _keys(model: type[BaseModel], path: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        key = _key(path, name, field)
        inner = list(_models(field.annotation))
        for one in inner:
            yield from _keys(one, key)
        if not inner:
            yield key, field


def _values(value: BaseModel, path: str) -> Iterator[tuple[str, FieldInfo, object]]:
    for name, field in type(value).model_fields.items():
        key = _key(path, name, field)
        for one in _each(getattr(value, name)):
            if isinstance(one, BaseModel):
                yield from _values(one, key)
        yield key, field, getattr(value, name)


def _key(path: str, name: str, field: FieldInfo) -> str:
    return f"{path}.{field.alias or name}".removeprefix(".")


def _each(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in get_args(annotation):
        yield from _models(one)


def _members(annotation: object) -> Iterator[Enum]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from annotation
    for one in get_args(annotation):
        yield from _members(one)


def _words(annotation: object) -> Iterator[str]:
    """List the values of yes-or-no keys and the words that a key takes beside other types."""
    if annotation is bool:
        yield from ("True", "False")
    elif get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
    else:
        for one in get_args(annotation):
            yield from _words(one)
