"""The doctor: looks at everything that a plan needs, breaks nothing, and says what to do.

It goes on where something is broken, so that one look tells all. Without `online` no socket is
opened.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path

import httpx

from broker.clock import Clock
from broker.domain.errors import BrokerError, ConfigurationError
from broker.planning.alerting import sinks_from
from broker.planning.doctor_providers import ProviderExam, examine_providers
from broker.planning.doctor_store import StoreExam, examine_store
from broker.reports.doctor_view import CheckRow, ProviderRow, State
from broker.settings import (
    PREFIX,
    Settings,
    load_settings,
    named_variables,
    open_secrets,
    settings_file,
    settings_path,
    unknown_variables,
)
from broker.specs.load import Specs, load_specs
from providers.kit.network import Network

_GIB = 2**30
_LITTLE_SPACE_GIB = 1.0
_NO_SPACE_GIB = 0.1
_BEHIND = timedelta(minutes=5)
"""A clock may be this far behind what other clocks wrote."""
_OFF = timedelta(minutes=2)
"""More than this away from the clocks of providers is worth a look."""
_OLD = timedelta(days=400)
_TRY_S = 10.0
_ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found."""

    checks: tuple[CheckRow, ...]
    providers: tuple[ProviderRow, ...]

    @property
    def is_broken(self) -> bool:
        """Tell whether something must be mended."""
        states = [row.state for row in self.checks] + [row.state for row in self.providers]
        return State.BROKEN in states


class Doctor:
    """Examines an installation. `load` reads the settings, `open_client` talks to hosts."""

    def __init__(
        self,
        load: Callable[[], Settings],
        clock: Clock,
        open_client: Callable[[], httpx.Client] | None = None,
    ) -> None:
        self._load = load
        self._clock = clock
        self._open_client = open_client

    def examine(self, *, online: bool = False) -> Diagnosis:
        """Make every check, in the order in which things depend on each other."""
        settings, row = _read_settings(self._load)
        checks = [row, *_environment_checks()]
        specs, tables = _tables()
        exam = ProviderExam((), None)
        if settings is not None:
            if specs is not None:
                client = self._open_client if online else None
                exam = examine_providers(specs, settings, open_client=client, clock=self._clock)
            checks += self._of_settings(settings, exam)
        else:
            names = ("data folder", "disk", "database", "providers", "alerts")
            checks += [CheckRow(name, State.SKIPPED, "needs the settings") for name in names]
        return Diagnosis((*checks, tables, _solver_check()), exam.rows)

    def _of_settings(self, settings: Settings, exam: ProviderExam) -> Iterator[CheckRow]:
        """Check what the settings name."""
        folder = _folder_check(settings.data_dir)
        yield folder
        yield _disk_check(settings.data_dir)
        if folder.state is State.BROKEN and settings.database is None:
            store = StoreExam(CheckRow("database", State.SKIPPED, "needs the data folder"), None)
        else:
            store = examine_store(settings)
        yield store.row
        yield _clock_check(self._clock(), store.newest_at, exam.skew)
        yield exam.check
        yield _alerts_check(settings, self._clock)


def open_doctor(clock: Clock) -> Doctor:
    """Make a doctor for this user and machine."""
    return Doctor(load_settings, clock, lambda: httpx.Client(timeout=_ASK_S, transport=Network()))


def _read_settings(load: Callable[[], Settings]) -> tuple[Settings | None, CheckRow]:
    path = settings_path()
    try:
        settings = load()
        unsafe = open_secrets(settings_file())
    except ConfigurationError as error:
        return None, CheckRow("settings", State.BROKEN, str(error), error.hint)
    if unsafe:
        return settings, CheckRow("settings", State.LOOK, unsafe, f"chmod 600 {path}")
    count = len(named_variables())
    there = path.exists()
    found = (
        f"{path if there else f'no file ({path})'}; "
        f"{count} {'variable' if count == 1 else 'variables'} GPUBROKER_…"
    )
    hint = "" if there else "none is needed; gpubroker init writes a first one"
    return settings, CheckRow("settings", State.OK, found, hint)


def _environment_checks() -> Iterator[CheckRow]:
    unknown = unknown_variables()
    if unknown:
        known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
        found = f"no setting has these names: {', '.join(unknown)}"
        yield CheckRow("environment", State.LOOK, found, _nearest(unknown[0], known))


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else "unset what is not meant for gpubroker"


def _tables() -> tuple[Specs | None, CheckRow]:
    try:
        specs = load_specs()
    except (BrokerError, OSError, ValueError) as error:
        return None, CheckRow("tables", State.BROKEN, f"{error}", "install gpubroker again")
    found = f"{len(specs.gpus)} GPU models, {len(specs.llms)} neural networks"
    return specs, CheckRow("tables", State.OK, found)


def _folder_check(folder: Path) -> CheckRow:
    """Write and remove a file in the data folder, or in the folder that it would be made in."""
    there = _existing(folder)
    remedy = "set data_dir (GPUBROKER_DATA_DIR) to a folder that you may write to"
    if not there.is_dir():
        return CheckRow("data folder", State.BROKEN, f"{there} is no folder", remedy)
    try:
        folder.exists()  # which tells of a name that is too long, as the nearest folder does not
        with tempfile.NamedTemporaryFile(dir=there, prefix=".doctor-") as file:
            file.write(b"x")
    except OSError as error:
        found = f"{error.filename or there} cannot be used: {error.strerror}"
        return CheckRow("data folder", State.BROKEN, found, remedy)
    is_new = there != folder
    return CheckRow("data folder", State.OK, f"{folder}{' (not made yet)' if is_new else ''}")


def _disk_check(folder: Path) -> CheckRow:
    try:
        free = shutil.disk_usage(_existing(folder)).free / _GIB
    except OSError as error:
        return CheckRow("disk", State.LOOK, f"cannot be measured: {error.strerror}")
    found = f"{free:,.1f} GiB free"
    if free >= _LITTLE_SPACE_GIB:
        return CheckRow("disk", State.OK, found)
    state = State.LOOK if free >= _NO_SPACE_GIB else State.BROKEN
    return CheckRow("disk", state, found, "free some space: a catalog with its history grows")


def _existing(folder: Path) -> Path:
    """Find the nearest folder that is there, as far as one may look."""
    path = folder.absolute()
    while not _is_there(path) and path != path.parent:
        path = path.parent
    return path


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # it is in a folder that may not be looked into, or its name is too long
        return False


def _clock_check(now: datetime, newest: datetime | None, skew: timedelta | None) -> CheckRow:
    """Hold the clock against providers' clocks, else against the newest price in the database.

    Without a network nothing tells whether a clock is ahead; that it is behind is seen.
    """
    mend = "set the clock by the network: timedatectl set-ntp true"
    shown = f"{now:%Y-%m-%d %H:%M} UTC"
    if skew is not None:
        found = f"{shown}, {abs(skew.total_seconds()):.0f} s from the clocks of providers"
        state = State.OK if abs(skew) <= _OFF else State.BROKEN
        return CheckRow("clock", state, found, "" if state is State.OK else mend)
    if newest is None:
        return CheckRow("clock", State.OK, f"{shown}; there is nothing to hold it against")
    if newest - now > _BEHIND:
        found = f"{shown} is before the newest price in the database, {newest:%Y-%m-%d %H:%M}"
        return CheckRow("clock", State.BROKEN, found, mend)
    if now - newest > _OLD:
        found = f"{shown} is more than a year after the newest price, {newest:%Y-%m-%d}"
        return CheckRow("clock", State.LOOK, found, f"gpubroker refresh, or {mend}")
    return CheckRow("clock", State.OK, f"{shown}, after the newest price in the database")


def _alerts_check(settings: Settings, clock: Clock) -> CheckRow:
    try:
        sinks = sinks_from(settings, clock)
    except ConfigurationError as error:
        return CheckRow("alerts", State.BROKEN, str(error), error.hint)
    if not sinks:
        return CheckRow("alerts", State.OK, "nobody is told", "docs/alerts.md has the ways")
    return CheckRow("alerts", State.OK, ", ".join(sink.name for sink in sinks))


def _solver_check() -> CheckRow:
    """Solve a program whose answer is known: least x + 2y for whole x, y with 2x + 3y ≥ 7."""
    remedy = "install ortools again: pip install --force-reinstall ortools"
    try:
        from ortools.math_opt.python import mathopt  # noqa: PLC0415 - heavy

        from solver.milp.solve import Limits, Outcome, solve_model  # noqa: PLC0415 - heavy
    except ImportError as error:
        return CheckRow("solver", State.BROKEN, f"it cannot be loaded: {error}", remedy)
    model = mathopt.Model()
    x, y = (model.add_integer_variable(lb=0, ub=10) for _ in range(2))
    model.add_linear_constraint(2 * x + 3 * y >= 7)  # noqa: PLR2004 - as above
    model.minimize(x + 2 * y)
    found = solve_model(model.export_model().SerializeToString(), Limits(0.0, _TRY_S))
    values = tuple(round(value) for value in found.values)
    if found.outcome is not Outcome.OPTIMAL or values != (4, 0):
        return CheckRow("solver", State.BROKEN, f"{found.outcome}: {values}, not (4, 0)", remedy)
    return CheckRow("solver", State.OK, "HiGHS solved a small program to its known optimum")
