"""Files that a command writes: whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from broker.domain.errors import ConfigurationError

OUT = "--out"


def check_writable(
    path: Path, *, inputs: Iterable[Path], name: str = OUT, example: str = "plan.json"
) -> None:
    """Find out before the work whether its result can be written.

    `name` is what the command line calls the path, `example` a file that one may name.

    Raises:
        ConfigurationError: the path is a folder, one of the inputs, or cannot be written.
    """
    for given in inputs:
        if given.exists() and path.exists() and path.samefile(given):
            raise ConfigurationError(
                f"{name} {str(path)!r} would overwrite an input", hint="give another path"
            )
    if path.is_dir():
        raise ConfigurationError(
            f"{name} {str(path)!r} is a folder", hint=f"name a file in it: {path / example}"
        )
    if _is_replaceable(path):
        write = _beside(_target(path, name))
        _try_to_write(path, write, "", name)
        write.unlink()


def write_whole(path: Path, content: str | bytes, *, name: str = OUT) -> None:
    """Write a file in one step: whoever reads it finds the old content or the new one.

    Raises:
        ConfigurationError: it cannot be written.
    """
    if not _is_replaceable(path):  # a device or a pipe, which must stay what it is
        _try_to_write(path, path, content, name)
        return
    target = _target(path, name)
    beside = _beside(target)
    try:
        _try_to_write(path, beside, content, name)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _is_replaceable(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _target(path: Path, name: str) -> Path:
    """Follow a link to what is written, so that the link stays."""
    loop = ConfigurationError(
        f"{name} {str(path)!r} is a link that leads to itself", hint="give another path"
    )
    try:
        target = path.resolve()
    except RuntimeError as cause:  # until Python 3.13
        raise loop from cause
    if target.is_symlink():
        raise loop
    return target


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def _try_to_write(path: Path, file: Path, content: str | bytes, name: str) -> None:
    try:
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content, encoding="utf-8")
    except OSError as cause:
        raise ConfigurationError(
            f"{name} {str(path)!r} cannot be written: {cause.strerror}",
            hint="check its folder, or give another path",
        ) from cause
