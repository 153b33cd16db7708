"""Files that a command writes: whole or not at all."""

import os
from collections.abc import Iterable
from pathlib import Path

from broker.domain.errors import ConfigurationError


def check_writable(path: Path, *, inputs: Iterable[Path]) -> None:
    """Find out before the work whether its result can be written.

    Raises:
        ConfigurationError: the path is a folder, one of the inputs, or cannot be written.
    """
    for given in inputs:
        if given.exists() and path.exists() and path.samefile(given):
            raise ConfigurationError(
                f"--out {str(path)!r} would overwrite an input", hint="give another path"
            )
    if path.is_dir():
        raise ConfigurationError(
            f"--out {str(path)!r} is a folder", hint=f"name a file in it: {path / 'plan.json'}"
        )
    if _is_replaceable(path):
        write = _beside(path)
        _try_to_write(path, write, "")
        write.unlink()


def write_whole(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it finds the old text or the new one.

    Raises:
        ConfigurationError: it cannot be written.
    """
    if not _is_replaceable(path):  # a device or a pipe, which must stay what it is
        _try_to_write(path, path, text)
        return
    beside = _beside(path)
    try:
        _try_to_write(path, beside, text)
        beside.replace(path.resolve())
    finally:
        beside.unlink(missing_ok=True)


def _is_replaceable(path: Path) -> bool:
    return path.is_file() or not path.exists()


def _beside(path: Path) -> Path:
    """Name a file in the same folder; a link's target is written, so that the link stays."""
    target = path.resolve()
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def _try_to_write(path: Path, file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as cause:
        raise ConfigurationError(
            f"--out {str(path)!r} cannot be written: {cause.strerror}",
            hint="check its folder, or give another path",
        ) from cause
