"""What the docs tell people to type exists, and what exists is told."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from broker.examples.catalog import examples
from broker.settings import FILE_VARIABLE, KEY_ENDINGS, Settings
from cli.app import app
from providers.registry import PROVIDERS

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_SEVERAL = re.compile(r"^(gpubroker [\w ]+)\|[\w|]+$")


TESTS_OWN = {"GPUBROKER_TEST_DATABASE"}
"""Variables of the environment that the tests read, and the product does not."""


def options_of(command: object) -> set[str]:
    """Name the options of a command, and of those below it."""
    own = {name for one in getattr(command, "params", ()) for name in one.opts}
    below = getattr(command, "commands", {}).values()
    return own.union(*(options_of(one) for one in below))


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Give the options of every command; under the empty name those before a command."""
    group = typer.main.get_command(app)
    own = {name: options_of(one) for name, one in getattr(group, "commands", {}).items()}
    before = {name for one in getattr(group, "params", ()) for name in one.opts}
    return {"": before | {"--help"}, **own}


def typed(text: str, program: str) -> Iterator[list[str]]:
    """List the command lines of a program on a page, split into words."""
    blocks = [one.removeprefix("$ ") for block in _FENCE.findall(text) for one in block.split("\n")]
    indented = [line.strip() for line in text.split("\n") if line.startswith("    ")]
    inline = _INLINE.findall(_FENCE.sub("", text))
    for line in (*blocks, *indented, *inline):
        if line.startswith(f"{program} "):
            yield shlex.split(line.partition(" > ")[0], comments=True)


def test_every_command_in_the_docs_exists_with_its_options(
    pages: dict[str, str], commands: dict[str, set[str]]
) -> None:
    found = 0
    for page, text in pages.items():
        for _, *words in typed(text, "gpubroker"):
            if words[0] == "COMMAND":
                continue
            found += 1
            options = {word.partition("=")[0] for word in words if word.startswith("--")}
            name = "" if words[0].startswith("--") else words[0]
            assert name in commands, f"{page}: {words}"
            assert options <= commands[name] | {"--help"}, f"{page}: {words}"
    assert found > 20


def test_every_option_that_the_docs_name_alone_exists(
    pages: dict[str, str], commands: dict[str, set[str]]
) -> None:
    known = set[str]().union(*commands.values())
    for page, text in pages.items():
        for words in _INLINE.findall(_FENCE.sub("", text)):
            for option in re.findall(r"^--[a-z-]+", words):
                assert option in known, f"{page}: {option}"


def test_every_command_and_provider_is_told_in_the_readme(
    readme: str, commands: dict[str, set[str]]
) -> None:
    for name in commands:
        assert not name or f"`gpubroker {name}" in readme, name
    for provider in PROVIDERS:
        assert f"| `{provider}` |" in readme, provider


def test_every_make_target_is_told_and_every_told_one_exists(pages: dict[str, str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].split())
    assert targets == set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    for page, text in pages.items():
        for _, target, *_ in typed(text, "make"):
            assert target in targets, f"{page}: make {target}"


def test_every_example_that_is_copied_exists(pages: dict[str, str]) -> None:
    names = {one.name.removesuffix(".yaml") for one in examples()}
    copied = [
        words[words.index("--copy") + 1]
        for text in pages.values()
        for words in typed(text, "gpubroker")
        if "--copy" in words
    ]
    assert copied
    assert set(copied) - {"NAME"} <= names


def test_every_variable_in_the_docs_is_a_setting(pages: dict[str, str]) -> None:
    settings = {f"GPUBROKER_{name.upper()}" for name in Settings.model_fields}
    settings.add(FILE_VARIABLE)
    found = {one for text in pages.values() for one in re.findall(r"GPUBROKER_[A-Z_]+", text)}
    assert len(found) > 5
    by_provider = {
        name
        for name in found
        if name.removeprefix("GPUBROKER_").lower().endswith((*KEY_ENDINGS, "_regions"))
    }
    assert found - by_provider - TESTS_OWN <= settings


def test_the_defaults_in_the_readme_are_those_of_the_settings(readme: str) -> None:
    rows = re.findall(r"^\| `GPUBROKER_([A-Z_]+)` \| .+ \| ([\d.]+)[^|]* \|$", readme, re.MULTILINE)
    assert len(rows) >= 3
    for name, default in rows:
        assert float(default) == Settings.model_fields[name.lower()].default, name
