"""Listing and reading the example workloads that the package ships."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from broker.domain.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Example:
    """A workloads file of the package: its name, what it shows, and its text."""

    name: str
    summary: str
    text: str


def examples() -> tuple[Example, ...]:
    """Read all examples, by name; the summary is the comment at the head of the file."""
    found = []
    for entry in sorted(resources.files("broker.examples").iterdir(), key=lambda one: one.name):
        if entry.name.endswith(".yaml"):
            text = entry.read_text(encoding="utf-8")
            head = [line[2:] for line in text.splitlines() if line.startswith("# ")]
            found.append(Example(entry.name, " ".join(head), text))
    return tuple(found)


def find_example(name: str) -> Example:
    """Give one example; `.yaml` may be left out of its name.

    Raises:
        ConfigurationError: there is no such example.
    """
    known = {one.name: one for one in examples()}
    found = known.get(name) or known.get(f"{name}.yaml")
    if found is None:
        raise ConfigurationError(
            f"there is no example {name!r}", hint=f"the examples are {', '.join(known)}"
        )
    return found


def copy_example(name: str, to: Path) -> Path:
    """Write an example to a folder, or to a new file.

    Raises:
        ConfigurationError: there is no such example, or a file of that name exists.
    """
    example = find_example(name)
    target = to / example.name if to.is_dir() else to
    try:
        _write_new(target, example.text)
    except FileExistsError as cause:
        raise ConfigurationError(
            f"{str(target)!r} exists and is not overwritten", hint="give another path"
        ) from cause
    except OSError as cause:
        raise ConfigurationError(
            f"cannot write {str(target)!r}: {cause.strerror}", hint="check the folder"
        ) from cause
    return target


def _write_new(target: Path, text: str) -> None:
    """Write a file that was not there: whole, or not at all."""
    with target.open("x", encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
        except OSError:
            target.unlink()
            raise
