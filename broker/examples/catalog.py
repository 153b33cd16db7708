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


def copy_example(name: str, to: Path) -> Path:
    """Write an example to a folder, or to a new file.

    Raises:
        ConfigurationError: there is no such example, or a file of that name exists.
    """
    known = {one.name: one for one in examples()}
    wanted = name if name.endswith(".yaml") else f"{name}.yaml"
    if wanted not in known:
        raise ConfigurationError(
            f"there is no example {name!r}", hint=f"the examples are {', '.join(known)}"
        )
    target = to / wanted if to.is_dir() else to
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(known[wanted].text)
    except FileExistsError as cause:
        raise ConfigurationError(
            f"{str(target)!r} exists and is not overwritten", hint="give another path"
        ) from cause
    except OSError as cause:
        raise ConfigurationError(
            f"cannot write {str(target)!r}: {cause.strerror}", hint="check the folder"
        ) from cause
    return target
