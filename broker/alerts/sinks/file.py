"""A file: one JSON object a line, for whoever reads it next.

A line is the body that a webhook gets. It is whole or not there: a write that falls short is taken
back, and what an earlier crash left of a line is ended before the next. A line whose key stands
among the last of the file is not written again.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broker.alerts.news import Message
from broker.alerts.sink import DeliveryError
from broker.alerts.sinks.webhook import body_of

if sys.platform != "win32":
    import fcntl

_LOOKED_BACK_BYTES = 256 * 1024
_OWNER_ONLY = 0o600


class AlertFile:
    """Appends to one file."""

    name = "file"

    def __init__(self, path: Path) -> None:
        self._path = path

    def deliver(self, message: Message) -> None:
        """Append a message, and wait until the disk has it.

        Raises:
            DeliveryError: the file cannot be written, or the disk is full.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self._path.exists()
            with _locked(self._path) as file:
                _append(file, message)
            if is_new:
                _sync_folder(self._path.parent)
        except OSError as cause:
            raise DeliveryError(
                f"the alert file {str(self._path)!r} cannot be written: {cause.strerror}",
                hint="check the folder, its free space and its permissions",
            ) from cause

    def preview(self, message: Message) -> str:
        """Show the line that would be appended."""
        return f"append to {self._path}\n{body_of(message).decode()}\n"


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    file = os.open(path, flags, _OWNER_ONLY)
    try:
        if sys.platform != "win32":
            fcntl.flock(file, fcntl.LOCK_EX)  # let go with the file
        yield file
    finally:
        os.close(file)


def _append(file: int, message: Message) -> None:
    size = os.lseek(file, 0, os.SEEK_END)
    os.lseek(file, max(0, size - _LOOKED_BACK_BYTES), os.SEEK_SET)
    tail = os.read(file, _LOOKED_BACK_BYTES)
    line = body_of(message) + b"\n"
    if f'"key":"{message.key}"'.encode() in tail:
        return
    torn = b"\n" if tail and not tail.endswith(b"\n") else b""
    try:
        _write(file, torn + line)
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def _write(file: int, content: bytes) -> None:
    """Write all of it at once, so that no other line comes in between."""
    if os.write(file, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sync_folder(folder: Path) -> None:
    """Let the disk have the name of a new file, too, where a folder can be opened."""
    if sys.platform == "win32":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
