"""`gpubroker init`: a commented settings file and a first workloads file."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from broker.domain.errors import ConfigurationError
from cli.files import check_writable, write_whole
from cli.output import Terminal

if TYPE_CHECKING:
    from broker.planning.starting import RunAnswers, ServiceAnswers, Starter

_PRIVATE = 0o600
_MODEL, _USERS, _TOKENS = "llama-3.1-8b", "us-east", 1e8
_MEAN, _PEAK_FACTOR = 2.0, 2.5


def init(  # noqa: PLR0913 - one parameter an option
    context: typer.Context,
    *,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="The model to serve; '' for none.")
    ] = None,
    requests_per_s: Annotated[
        float | None, typer.Option(min=0, help="Its mean load on a weekday, requests/s.")
    ] = None,
    peak_requests_per_s: Annotated[
        float | None, typer.Option(min=0, help="Its highest load, requests/s.")
    ] = None,
    input_tokens: Annotated[int, typer.Option(min=1, help="Tokens of a prompt.")] = 1000,
    output_tokens: Annotated[int, typer.Option(min=1, help="Tokens of an answer.")] = 300,
    users: Annotated[
        str | None, typer.Option(metavar="REGION", help="Where its users are, such as eu-west.")
    ] = None,
    train_model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="The model to train; '' for none.")
    ] = None,
    train_tokens: Annotated[
        float | None, typer.Option(min=1, help="Tokens to train on, all epochs together.")
    ] = None,
    train_days: Annotated[int, typer.Option(min=1, max=364, help="Days it may take.")] = 7,
    train_method: Annotated[
        Literal["full", "lora", "qlora"], typer.Option(help="How it is trained.")
    ] = "lora",
    workloads: Annotated[
        Path, typer.Option(metavar="PATH", help="Where the workloads file is written.")
    ] = Path("workloads.yaml"),
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Where the settings file is written.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: flags, and defaults for the rest.")
    ] = False,
) -> None:
    """Write a commented settings file and a first workloads file that can be planned at once.

    What no flag says is asked. The settings file goes to its usual place, without keys; one that is
    there is kept. A workloads file that is there is an error. With --force both are written anew;
    the old settings stay beside the new ones as a .bak.
    """
    # Imported here, so that `--help` is quick.
    from broker.clock import system_clock  # noqa: PLC0415 - see above
    from broker.planning.starting import open_starter  # noqa: PLC0415 - see above
    from broker.settings import settings_path  # noqa: PLC0415 - see above

    target = settings or settings_path()
    if workloads.exists() and not force:
        raise ConfigurationError(
            f"{str(workloads)!r} exists and is not overwritten",
            hint="give another path with --workloads, or overwrite it with --force",
        )
    if workloads.absolute() == target.absolute():
        raise ConfigurationError(
            f"{str(workloads)!r} cannot be both the settings and the workloads file",
            hint="give two paths with --settings and --workloads",
        )
    check_writable(workloads, inputs=(), name="--workloads", example="workloads.yaml")
    terminal, starter = Terminal.of(context), open_starter(system_clock)
    asking = _Asking(starter, asks=not yes)
    try:
        service = asking.service(
            model, requests_per_s, peak_requests_per_s, users, sizes=(input_tokens, output_tokens)
        )
        run = asking.run(train_model, train_tokens, days=train_days, method=train_method)
    except typer.Abort as cause:
        raise ConfigurationError(
            "the questions were not answered", hint="give flags and --yes: gpubroker init --help"
        ) from cause
    text = starter.workloads_text(service, run)
    _write_settings(terminal, target, starter, force=force)
    write_whole(workloads, text, name="--workloads")
    terminal.note(f"written: {workloads}")
    terminal.note(f"plan it: gpubroker plan {workloads} --recorded")
    terminal.note("then: gpubroker doctor")


def _write_settings(terminal: Terminal, path: Path, starter: "Starter", *, force: bool) -> None:
    """Write the settings, readable by their owner alone; what is there is kept."""
    if path.exists() and not force:
        terminal.note(f"kept as it is: {path}")
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():  # its keys are not lost
            shutil.copy2(path, path.with_name(f"{path.name}.bak"))
            terminal.note(f"what was there: {path}.bak")
    except OSError as cause:
        raise ConfigurationError(
            f"--settings {str(path)!r} cannot be written: {cause.strerror}",
            hint="give another path with --settings",
        ) from cause
    write_whole(path, starter.settings_text(), name="--settings")
    if path.is_file():
        path.chmod(_PRIVATE)
    terminal.note(f"written: {path}")


class _Asking:
    """Takes each answer from its flag, else asks, else takes the default."""

    def __init__(self, starter: "Starter", *, asks: bool) -> None:
        self._starter = starter
        self._asks = asks

    def service(
        self,
        model: str | None,
        mean: float | None,
        peak: float | None,
        users: str | None,
        *,
        sizes: tuple[int, int],
    ) -> "ServiceAnswers | None":
        """Gather the answers about a service; none where no model is served."""
        from broker.planning.starting import ServiceAnswers  # noqa: PLC0415 - for quick help

        check = self._starter.check_model
        name = self._text(model, "Which model do you serve? (- for none)", _MODEL, check)
        if not name:
            return None
        mean = self._number(mean, "How many requests a second, on the mean of a day?", _MEAN)
        peak = self._number(peak, "And when most come?", max(mean * _PEAK_FACTOR, mean))
        where = self._text(users, "Where are its users?", _USERS, self._starter.check_users)
        return ServiceAnswers(name, mean, peak, *sizes, users=where)

    def run(
        self, model: str | None, tokens: float | None, *, days: int, method: str
    ) -> "RunAnswers | None":
        """Gather the answers about a training run; none where nothing is trained."""
        from broker.planning.starting import RunAnswers  # noqa: PLC0415 - for quick help

        check = self._starter.check_model
        name = self._text(model, "Which model do you train? (- for none)", "-", check)
        if not name:
            return None
        tokens = self._number(tokens, "On how many tokens, all epochs together?", _TOKENS)
        return RunAnswers(name, tokens, days, method)

    def _text(
        self, given: str | None, question: str, default: str, check: Callable[[str], None]
    ) -> str:
        """Take a name that passes its check; a dash or nothing is none."""

        def checked(text: str) -> str:
            name = text.strip().removeprefix("-")
            if name:
                try:
                    check(name)
                except ConfigurationError as error:
                    raise typer.BadParameter(f"{error}; {error.hint}") from error
            return name

        if given is None and self._asks:
            return str(typer.prompt(question, default=default, value_proc=checked, err=True))
        name = (default if given is None else given).strip().removeprefix("-")
        if name:
            check(name)
        return name

    def _number(self, given: float | None, question: str, default: float) -> float:
        if given is None and self._asks:
            return float(typer.prompt(question, default=default, type=float, err=True))
        return default if given is None else given
