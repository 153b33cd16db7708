"""The one door for whoever enters from outside: commands and schedules call its methods."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import httpx

from broker.catalog.gates import Gates, gates_from
from broker.catalog.store import Catalog, open_catalog
from broker.clock import Clock, system_clock
from broker.domain.errors import ConfigurationError
from broker.domain.explanation import Explanation
from broker.domain.plan import CatalogRef, Plan, SolveSettings
from broker.planning.catalog_view import (
    CatalogSource,
    CatalogView,
    view_of_readings,
    view_of_sheet,
    view_of_snapshot,
    view_of_store,
)
from broker.planning.explaining.asked import Asked
from broker.planning.provider_names import check_known
from broker.planning.refresh import OnDone, ProviderReader, RefreshReport, refresh_catalog
from broker.planning.store_listing import StoreListing
from broker.reports.diff_view import PlanDifference
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from broker.store.place import store_place
from broker.verification.check import Violation
from providers.kit.adapter import Adapter
from providers.kit.http import live_client
from providers.kit.recorded import recorded_client
from providers.kit.secrets import Secrets, secrets_of
from providers.registry import EXAMPLES, PROVIDERS, adapters


class PlanningService:
    """Refreshes the catalog and answers questions about it.

    Nothing is read and no database is opened before a method needs it.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock

    @cached_property
    def specs(self) -> Specs:
        """Read the tables of the package, once."""
        return load_specs()

    @cached_property
    def gates(self) -> Gates:
        """Take the trust gates from settings and tables."""
        specs = self.specs
        return gates_from(self.settings, specs.nodes, market=specs.market, sold_in=specs.sold_in)

    @cached_property
    def catalog(self) -> Catalog:
        """Open the store, once.

        Raises:
            ConfigurationError: the database cannot be used.
        """
        return open_catalog(store_place(self.settings))

    @cached_property
    def _secrets(self) -> Secrets:
        return secrets_of(self.settings.keys.values())

    @property
    def providers(self) -> tuple[str, ...]:
        """Name every provider that can be asked."""
        return PROVIDERS

    def asked(self, *, recorded: bool) -> tuple[str, ...]:
        """Name all that a refresh asks; only recordings have examples."""
        return (*PROVIDERS, *EXAMPLES) if recorded else PROVIDERS

    def refresh(
        self,
        providers: Iterable[str] | None = None,
        *,
        recorded: bool = False,
        on_done: OnDone | None = None,
    ) -> RefreshReport:
        """Ask providers (all where none is named) and let their offers replace the last ones.

        Raises:
            ConfigurationError: a provider is not known, or the database cannot be written.
        """
        chosen = self._adapters(providers, recorded=recorded)
        catalog = self.catalog  # opened first: no provider is asked for what cannot be kept
        reader = self._reader(recorded=recorded)
        report = refresh_catalog(catalog, chosen, reader, self.gates, on_done=on_done)
        StoreListing(self.settings, lambda: catalog).current()  # for who asks next
        return report

    def view(self, source: CatalogSource) -> CatalogView:
        """Show the catalog that a source names.

        Raises:
            ConfigurationError: it is empty, unknown or cannot be read.
        """
        if source.recorded:
            return self.offers_from_recordings(as_of=source.as_of)
        if source.sheet is not None:
            return self.offers_from_sheet(source.sheet, as_of=source.as_of)
        if source.snapshot is not None:
            return view_of_snapshot(self.catalog, source.snapshot, as_of=source.as_of)
        return self.offers_from_store(as_of=source.as_of)

    def offers_from_store(self, as_of: datetime | None = None) -> CatalogView:
        """Show what stands in the store, or stood at `as_of`."""
        return view_of_store(self.catalog, now=self.clock(), as_of=as_of)

    def offers_from_recordings(self, as_of: datetime | None = None) -> CatalogView:
        """Show what the recordings say, without touching the database."""
        reader = self._reader(recorded=True)
        readings = [reader.read(adapter) for adapter in self._adapters(None, recorded=True)]
        return view_of_readings(readings, self.gates, as_of=as_of)

    def offers_from_sheet(self, path: Path, as_of: datetime | None = None) -> CatalogView:
        """Show what a price sheet says, without touching the database."""
        return view_of_sheet(path, self.specs, self.gates, as_of=as_of)

    def plan(
        self,
        workloads: Path,
        source: CatalogSource,
        solve: SolveSettings,
        progress: Callable[[str], None] = lambda _: None,
        *,
        start: Plan | None = None,
    ) -> Plan:
        """Make the plan of a workloads file over a catalog; it has passed the independent check.

        What an earlier plan chose, `start`, is tried first; it is the plan in force, where churn is
        weighed in the plan.

        Raises:
            ConfigurationError: the file or the catalog cannot be used.
        """
        from broker.planning import plans  # noqa: PLC0415 - loads the solver, which others spare
        from broker.planning.workloads_file import read_workloads  # noqa: PLC0415 - the same

        demand = read_workloads(workloads, (source.as_of or self.clock()).date())
        view = self.view(source)
        tables, settings = self.specs, self.settings
        return plans.plan_workloads(
            demand, view, solve, specs=tables, settings=settings, progress=progress, start=start
        )

    def verify(
        self, plan: Path, workloads: Path, source: CatalogSource | None = None
    ) -> tuple[Violation, ...]:
        """Check a plan, by file or hash; without a source the catalog is found by the plan's hash.

        Raises:
            ConfigurationError: a file cannot be used, or no catalog has the plan's hash.
        """
        from broker.planning import plans  # noqa: PLC0415 - loads the solver, which others spare
        from broker.planning.given_plan import given_plan  # noqa: PLC0415 - the same
        from broker.planning.workloads_file import read_workloads  # noqa: PLC0415 - the same

        given = given_plan(plan, self.settings)
        demand = read_workloads(workloads, given.workloads.horizon.start.date())
        view = self._named(source, given) or self._view_of(given.catalog)
        return plans.verify_plan(given, demand, view, specs=self.specs, settings=self.settings)

    def difference(
        self,
        old: Path,
        new: Path,
        source: CatalogSource | None = None,
        *,
        old_source: CatalogSource | None = None,
        solve: bool = True,
    ) -> PlanDifference:
        """Compare two plans, by file or hash; without a source their catalogs are found by hash.

        Raises:
            ConfigurationError: a file cannot be used, or a source is not its plan's catalog.
        """
        from broker.planning.differences import compare  # noqa: PLC0415 - loads the solver
        from broker.planning.whole_plan import read_whole_plan  # noqa: PLC0415 - the same

        before, after = (read_whole_plan(one, self.settings) for one in (old, new))
        named = self._named(source, after)
        old_named = self._named(old_source, before)
        tables, held = self.specs, before.in_force
        again = compare.replanner(after, tables, self.settings, held) if solve else None
        catalogs = compare.Catalogs.of(
            before, after, self._view_of, named=named, old_named=old_named
        )
        return compare.compare_plans(before, after, catalogs, solve=again)

    def explain(
        self,
        plan: Path,
        asked: Asked,
        source: CatalogSource | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Explanation:
        """Answer what is asked of a plan, by file or hash; its catalog is found as in `verify`.

        Raises:
            ConfigurationError: the file or its catalog cannot be used for that.
        """
        from broker.planning.explaining.answer import explain_plan  # noqa: PLC0415 - loads it, too
        from broker.planning.given_plan import given_plan  # noqa: PLC0415 - the same

        given = given_plan(plan, self.settings)
        view = self._named(source, given) or self._view_of(given.catalog)
        tables, settings = self.specs, self.settings
        return explain_plan(given, view, asked, specs=tables, settings=settings, progress=progress)

    def _named(self, source: CatalogSource | None, plan: Plan) -> CatalogView | None:
        """Show the catalog that a source names as it stood for a plan; None where none is named."""
        if source is None:
            return None
        return self.view(replace(source, as_of=source.as_of or plan.catalog.as_of))

    def _view_of(self, catalog: CatalogRef) -> CatalogView:
        """Find the catalog of a plan in the recordings, else in the store."""
        recorded = self.offers_from_recordings(as_of=catalog.as_of)
        if recorded.snapshot == catalog.snapshot:
            return recorded
        return view_of_snapshot(self.catalog, catalog.snapshot, as_of=catalog.as_of)

    def _adapters(self, names: Iterable[str] | None, *, recorded: bool) -> tuple[Adapter, ...]:
        """Make adapters; those that read recordings ask without keys, as the recordings are."""
        known = self.asked(recorded=recorded)
        wanted = frozenset(self.specs.providers.of(name) for name in names or known)
        _check_providers(wanted, set(known))
        if not recorded:
            check_known(self.settings)
        chosen = tuple(name for name in known if name in wanted)
        settings = self.settings
        given = settings.model_copy(update={"keys": {}}) if recorded else settings
        return adapters(self.specs, given, chosen)

    def _reader(self, *, recorded: bool) -> ProviderReader:
        return ProviderReader(
            open_client=recorded_client if recorded else self._live_client,
            clock=self.clock,
            live=not recorded,
            timeout_s=self.settings.provider_timeout_s,
            secrets=self._secrets,
            specs=self.specs,
        )

    def _live_client(self, provider: str) -> httpx.Client:
        del provider  # all are asked in one way
        timeout_s = self.settings.request_timeout_s
        return live_client(self.clock, timeout_s=timeout_s, secrets=self._secrets)


def open_service(settings: Settings, clock: Clock = system_clock) -> PlanningService:
    """Make the service; it opens what it needs when it needs it."""
    return PlanningService(settings, clock)


def _check_providers(names: Iterable[str], known: set[str]) -> None:
    for name in sorted(names):
        if name.lower() in set(EXAMPLES) - known:
            raise ConfigurationError(
                f"{name!r} is an example, which nobody can be asked for",
                hint=f"the recordings have it: gpubroker refresh --recorded --provider {name}",
            )
        if name.lower() not in known:
            near = get_close_matches(name.lower(), known) or sorted(known)
            raise ConfigurationError(
                f"unknown provider {name!r}", hint=f"did you mean one of: {', '.join(near)}?"
            )
