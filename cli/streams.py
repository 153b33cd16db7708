"""Standard output: UTF-8 where it is no screen, and all of it written, or an error."""

import errno
import os
import sys

from broker.domain.errors import ConfigurationError

_REFUSALS = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.EISDIR,
    }
)
"""What a system says of a file or a disk that a person can mend; all else is a bug."""


def open_stdout() -> None:
    """Let standard output take any character, and fail rather than write a part.

    A file or a pipe gets UTF-8, as all our files are read, and a buffer of its own: with
    PYTHONUNBUFFERED Python drops what a full disk does not take, and says nothing. A screen shows
    a question mark for what it does not know. A closed one takes everything and shows nothing.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    elif sys.stdout.isatty():
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr] # its own
    else:
        sys.stdout = os.fdopen(sys.stdout.fileno(), "w", encoding="utf-8", closefd=False)


def end_stdout() -> OSError | None:
    """Write what is held back; where that fails nothing more is written, and the error is given."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def refused(error: OSError) -> ConfigurationError:
    """Say what the system refused.

    Raises:
        OSError: it is another error, and so a bug of ours.
    """
    if error.errno not in _REFUSALS:
        raise error
    if error.filename is None:
        return ConfigurationError(
            f"what is printed cannot be written: {error.strerror}",
            hint="free some space, or write to another place; what is there is not whole",
        )
    return ConfigurationError(
        f"{os.fsdecode(error.filename)!r} cannot be used: {error.strerror}",
        hint="check the path, and the rights of the file and of its folders",
    )
