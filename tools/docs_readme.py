"""The parts of README.md that are printed by commands or listed by code; none of it is typed."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import typer

from broker.domain.offer import Offer
from broker.settings import Settings
from broker.specs.load import load_specs
from cli.app import app
from providers.kit.adapter import Adapter
from providers.kit.parts import replies_only
from providers.kit.recorded import recorded_client, recorded_providers, recordings
from providers.registry import adapters

ROOT = Path(__file__).parents[1]
EXAMPLE = "broker/examples/70b-two-continents.yaml"
PLAN_COMMAND = ("plan", EXAMPLE, "--recorded")
_CHECKS = 5
_OUTCOME = re.compile(r"already formatted$|passed!$|^Success: | KEPT\b| kept, |^\d+ passed\b.* in ")
"""Lines of `make test` that say how a check ended; progress and headings are left out."""

_BOUND = re.compile(r"(^Bound|\(at least) +[\d,.]+(?=[ )])", re.MULTILINE)
_WINDOW = r"\d\d-\d\d(?: \d\dh)? → \d\d-\d\d(?: \d\dh)? *"
_RUN_WINDOW = re.compile(
    rf"^(rent .*?|){_WINDOW}( finetune-70b .*|.* of \d+ GiB .*)$", re.MULTILINE
)


def plan_block() -> str:
    """Run the main job as `make plan` does, at 80 columns, and show what it prints."""
    ended = subprocess.run(  # noqa: S603 - our own command
        [str(Path(sys.executable).with_name("gpubroker")), *PLAN_COMMAND],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},  # noqa: TID251 - a child's, changed
        check=False,
    )
    if ended.returncode:
        raise SystemExit(f"gpubroker {' '.join(PLAN_COMMAND)} failed:\n{ended.stderr}")
    return shown_plan(ended.stdout)


def shown_plan(printed: str) -> str:
    """Show what the main job printed."""
    return _console("make plan", printed.splitlines())


def on_any_machine(text: str) -> str:
    """Leave out of a plan's lines what its search does not settle.

    Where a search ends within its gap, how far a bound has come by then depends on the last bits
    of numbers, and so on the processor; so does which window, of two that cost the same, a run has.
    """
    return _RUN_WINDOW.sub(r"\1when\2", _BOUND.sub(r"\1 usd", text))


def test_block(log: str) -> str:
    """Show the outcome of each check in what `make test` printed.

    Raises:
        SystemExit: a check failed, or is missing.
    """
    shown = [line for line in log.splitlines() if _OUTCOME.search(line)]
    if len(shown) < _CHECKS or "failed" in log.splitlines()[-1]:
        raise SystemExit("this is no output of a make test that passed")
    return _console("make test", shown)


def commands_block() -> str:
    """List every command with the first sentence of its help."""
    group = typer.main.get_command(app)
    commands: Mapping[str, object] = getattr(group, "commands")  # noqa: B009 - only groups have it
    lines = ["| command | what it does |", "| --- | --- |"]
    for name, command in commands.items():
        arguments = " ".join(_arguments(command))
        help_text = str(getattr(command, "help", "")).split("\n\n")[0]
        lines.append(f"| `{f'gpubroker {name} {arguments}'.strip()}` | {help_text} |")
    return "\n".join(lines)


def providers_block() -> str:
    """List every provider: what it is asked for, its key, and its offers in the recordings."""
    settings = Settings()
    lines = ["| provider | prices | key | recorded offers |", "| --- | --- | --- | --- |"]
    for adapter in adapters(load_specs(), settings):
        offers = _recorded_offers(adapter)
        kinds = Counter(offer.price_kind.value for offer in offers)
        prices = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        hosts = ", ".join(f"`{host}`" for host in _hosts(adapter.name, offers))
        lines.append(f"| `{adapter.name}` | {hosts} | {_keys(adapter)} | {prices} |")
    return "\n".join(lines)


def _recorded_offers(adapter: Adapter) -> list[Offer]:
    with recorded_client(adapter.name) as http:
        rows = list(adapter.offers_in(replies_only(adapter.fetch(http), [])))
    return [row for row in rows if isinstance(row, Offer)]


def _hosts(provider: str, offers: Iterable[Offer]) -> list[str]:
    """Name what is asked; of a published sheet, which asks nothing, the pages that it quotes."""
    if provider in recorded_providers():
        urls = [one.request.url for one in recordings(provider) if one.replay]
    else:
        urls = [offer.provenance.source for offer in offers]
    return sorted({url.split("/")[2] for url in urls})


def _keys(adapter: Adapter) -> str:
    names = (f"`GPUBROKER_{adapter.name.upper()}_{key.upper()}`" for key in adapter.keys)
    return ", ".join(names) or "not needed"


def _arguments(command: object) -> Iterable[str]:
    for parameter in getattr(command, "params", ()):
        if getattr(parameter, "param_type_name", "") == "argument":
            yield str(parameter.metavar or parameter.name.upper())


def _console(command: str, lines: Iterable[str]) -> str:
    shown = "\n".join(line.rstrip() for line in lines).strip("\n")
    return f"```console\n$ {command}\n{shown}\n```"
