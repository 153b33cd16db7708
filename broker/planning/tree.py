"""Values inside the data of a workloads file, by dotted paths such as services.chat.spot.max_share.

Entries of a list go by their name, which may have dots in it, or by their number from 0, which may
stand in brackets: quotas.0.gpus, quotas[0].gpus.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from broker.domain.errors import ConfigurationError
from broker.planning.nearest import unknown

Tree = Mapping[str, object]
_NUMBER = re.compile(r"\[(\d+)\]")


def data_of(model: BaseModel) -> Tree:
    """Give the data of a file with every key, also those that are left out at their default."""
    return dict(_filled(model.model_dump(by_alias=True), model))


def value_at(tree: Tree, path: str) -> object:
    """Give what stands at a path.

    Raises:
        ConfigurationError: nothing can stand there.
    """
    node: object = tree
    whole = rest = _NUMBER.sub(r".\1", path)
    while rest:
        key, rest = _step(node, rest, whole)
        node = _child(node, key)
    return node


def with_value(tree: Tree, path: str, value: object) -> Tree:
    """Give the data with another value at a path.

    Raises:
        ConfigurationError: nothing can stand there.
    """
    whole = _NUMBER.sub(r".\1", path)
    key, rest = _step(tree, whole, whole)
    return {**tree, str(key): _replaced(tree[str(key)], rest, value, whole)}


def names_in(tree: Tree, key: str) -> tuple[str, ...]:
    """List the names of the entries of a list."""
    return tuple(_positions(tree[key]))


def _filled(data: Tree, model: BaseModel) -> Iterator[tuple[str, object]]:
    for name, field in type(model).model_fields.items():
        key, value = field.alias or name, getattr(model, name)
        yield key, _whole(data.get(key, value), value)


def _whole(data: object, value: object) -> object:
    if isinstance(value, BaseModel) and isinstance(data, Mapping):
        return dict(_filled(data, value))
    if isinstance(value, tuple) and isinstance(data, (list, tuple)):
        return tuple(_whole(one, own) for one, own in zip(data, value, strict=True))
    return data


def _replaced(node: object, rest: str, value: object, path: str) -> object:
    if not rest:
        return value
    key, after = _step(node, rest, path)
    inner = _replaced(_child(node, key), after, value, path)
    if isinstance(node, Mapping):
        return {**node, key: inner}
    entries = node if isinstance(node, (list, tuple)) else ()
    return [inner if at == key else one for at, one in enumerate(entries)]


def _step(node: object, rest: str, path: str) -> tuple[str | int, str]:
    """Take the first key off the rest of a path; of two that fit, the longer one."""
    keys = _keys(node)
    above = path[: len(path) - len(rest)].rstrip(".")
    if not keys:
        what = "is not given in the workloads file" if node is None else "has no parts"
        raise ConfigurationError(f"{above} {what}", hint=f"set it whole: {above}=…")
    for key in sorted(keys, key=len, reverse=True):
        if rest == key or rest.startswith(f"{key}."):
            return keys[key], rest[len(key) + 1 :]
    given = rest.partition(".")[0]
    raise unknown(f"key of {above}" if above else "key", given, keys)


def _keys(node: object) -> Mapping[str, str | int]:
    """List what may come next in a path, and the key or position that it stands for."""
    if isinstance(node, Mapping):
        return {str(key): str(key) for key in node}
    if isinstance(node, (list, tuple)):
        return {str(at): at for at in range(len(node))} | _positions(node)
    return {}


def _positions(node: object) -> dict[str, int]:
    entries = node if isinstance(node, (list, tuple)) else ()
    return {
        str(entry["name"]): at
        for at, entry in enumerate(entries)
        if isinstance(entry, Mapping) and "name" in entry
    }


def _child(node: object, key: str | int) -> object:
    if isinstance(node, Mapping):
        return node[key]
    return node[int(key)] if isinstance(node, (list, tuple)) else None
