"""A refresh: ask all providers at once, and let each one's offers replace its last ones.

What a provider does wrong stays with that provider: it fails, its last good offers stand.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from multiprocessing import TimeoutError as NotInTimeError
from multiprocessing.pool import ThreadPool

import httpx
import structlog

from broker.catalog.gates import Gates
from broker.catalog.parts import told_missing
from broker.catalog.runs import Reading, RunOutcome, RunStatus
from broker.catalog.store import Catalog
from broker.clock import Clock
from broker.domain.errors import ProviderError
from broker.domain.missing import Missing
from broker.domain.offer import Offer, Rejection
from broker.planning.certified import certified
from broker.specs.load import Specs
from providers.kit.adapter import Adapter
from providers.kit.parts import replies_only
from providers.kit.secrets import Secrets

_log = structlog.get_logger(__name__)

_OF_THE_REPLY = (
    httpx.HTTPError,
    httpx.InvalidURL,  # of a link to a next page
    ArithmeticError,
    LookupError,
    RecursionError,  # of brackets without end
    ValueError,
)
"""What a reply can make of an adapter that is right: the provider's failure, and no bug of ours."""

_MOST_USD_PER_HOUR = Decimal(1_000_000_000)
"""Beyond any price, and within what the store can count in micro-dollars."""

OpenClient = Callable[[str], httpx.Client]
"""Makes the client that asks the provider of a name."""

OnDone = Callable[[RunOutcome], None]
"""Is told of each provider that is done, in the order in which they are."""


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What came of a refresh, by provider name."""

    outcomes: tuple[RunOutcome, ...]

    @property
    def failed(self) -> tuple[RunOutcome, ...]:
        """List the providers that failed."""
        return tuple(one for one in self.outcomes if one.status is RunStatus.FAILED)

    @property
    def partial(self) -> tuple[RunOutcome, ...]:
        """List the providers of which a part could not be read."""
        return tuple(one for one in self.outcomes if one.status is RunStatus.PARTIAL)


@dataclass(frozen=True, slots=True)
class ProviderReader:
    """Asks providers: over the network if `live`, and no longer than `timeout_s` seconds each.

    `secrets` are kept out of what is handed on, though a provider may repeat them. `specs` tells
    which certifications offers have; without, they have those that they state.
    """

    open_client: OpenClient
    clock: Clock
    live: bool
    timeout_s: float
    secrets: Secrets = field(default_factory=Secrets)
    specs: Specs | None = None

    def read(self, adapter: Adapter) -> Reading:
        """Ask one provider for everything and translate it.

        Raises:
            ProviderError: it does not answer in time, no part of its catalog can be had, or what
                it answers cannot be read.
        """
        try:
            reading = self._read(adapter)
        except ProviderError as error:
            raise self.secrets.blotted(error) from error
        except _OF_THE_REPLY as cause:
            why = self.secrets.blot(f"{type(cause).__name__}: {cause}")
            raise ProviderError(
                f"{adapter.name}: the reply cannot be read ({why})",
                hint="try again; if it stays, the provider's API has changed",
            ) from cause
        if self.specs is not None:
            reading = replace(reading, offers=certified(reading.offers, self.specs))
        return without_secrets(reading, self.secrets)

    def read_all(
        self, adapters: Iterable[Adapter]
    ) -> Iterator[tuple[Reading, ProviderError | None]]:
        """Ask providers at once; yield each reading as it is done, and its failure if any."""
        pending = {adapter.name: adapter for adapter in adapters}
        started_at = self.clock()
        deadline_s = time.monotonic() + self.timeout_s
        # Its threads are daemons: one that hangs in a reply cannot keep the process alive.
        with ThreadPool(max(1, len(pending))) as pool:
            answers = pool.imap_unordered(self._attempt, tuple(pending.values()))
            while pending:
                try:
                    reading, error = answers.next(timeout=max(0.0, deadline_s - time.monotonic()))
                except NotInTimeError:
                    break
                del pending[reading.provider]
                yield reading, error
        for name in pending:
            yield Reading(name, self.live, started_at, (), ()), self._too_slow(name)

    def _read(self, adapter: Adapter) -> Reading:
        started_at = self.clock()
        deadline_s = time.monotonic() + self.timeout_s
        offers: list[Offer] = []
        rejections: list[Rejection] = []
        missing: list[Missing] = []
        with self.open_client(adapter.name) as http:
            replies = self._in_time(replies_only(adapter.fetch(http), missing), deadline_s)
            for entry in map(_countable, adapter.offers_in(replies)):
                if isinstance(entry, Rejection):
                    rejections.append(entry)
                else:
                    offers.append(entry)
        if missing and not (offers or rejections):
            raise ProviderError(
                f"{adapter.name}: {told_missing(missing)}",
                hint="try again; the offers of the last refresh are kept",
            )
        return Reading(
            adapter.name, self.live, started_at, tuple(offers), tuple(rejections), tuple(missing)
        )

    def _attempt(self, adapter: Adapter) -> tuple[Reading, ProviderError | None]:
        started_at = self.clock()
        try:
            return self.read(adapter), None
        except ProviderError as error:
            return Reading(adapter.name, self.live, started_at, (), ()), error

    def _in_time(
        self, replies: Iterable[httpx.Response], deadline_s: float
    ) -> Iterator[httpx.Response]:
        """Hand replies on until time is up, so that a provider given up on is not asked further."""
        for reply in replies:
            if time.monotonic() > deadline_s:
                raise self._too_slow(str(reply.request.url.host))
            yield reply

    def _too_slow(self, name: str) -> ProviderError:
        return ProviderError(
            f"{name}: not done within {self.timeout_s:g} s",
            hint="raise GPUBROKER_PROVIDER_TIMEOUT_S, or refresh it alone with --provider",
        )


def _countable(entry: Offer | Rejection) -> Offer | Rejection:
    """Refuse an offer whose price is beyond what can be counted, and no other one of its list."""
    if isinstance(entry, Rejection) or entry.effective_usd_per_hour <= _MOST_USD_PER_HOUR:
        return entry
    detail = f"{entry.effective_usd_per_hour:g} USD per hour is beyond any price"
    return Rejection(
        provider=entry.provider, subject=entry.key, reason="price_beyond_any", detail=detail
    )


def without_secrets(reading: Reading, secrets: Secrets) -> Reading:
    """Leave keys out of a reading: an offer that repeats one is no offer, a text loses it."""
    if not secrets.forms:
        return reading
    offers = [(secrets.are_in(one.model_dump_json()), one) for one in reading.offers]
    echoes = [
        Rejection(
            provider=one.provider,
            subject=secrets.blot(one.key),
            reason="repeats_a_key",
            detail="the reply holds a key from the settings",
        )
        for is_echo, one in offers
        if is_echo
    ]
    told = [
        one.model_copy(
            update={"subject": secrets.blot(one.subject), "detail": secrets.blot(one.detail)}
        )
        for one in reading.rejections
    ]
    return replace(
        reading,
        offers=tuple(one for is_echo, one in offers if not is_echo),
        rejections=(*told, *echoes),
        missing=tuple(
            replace(one, region=one.region and secrets.blot(one.region), why=secrets.blot(one.why))
            for one in reading.missing
        ),
    )


def refresh_catalog(
    catalog: Catalog,
    adapters: Iterable[Adapter],
    reader: ProviderReader,
    gates: Gates,
    *,
    on_done: OnDone | None = None,
) -> RefreshReport:
    """Ask providers at once and write what each one sends as it comes."""
    outcomes = []
    for reading, error in reader.read_all(adapters):
        now = reader.clock()
        outcome = (
            catalog.keep(reading, error, now=now)
            if error
            else catalog.replace(reading, gates, now=now)
        )
        _log_outcome(outcome)
        outcomes.append(outcome)
        if on_done:
            on_done(outcome)
    return RefreshReport(tuple(sorted(outcomes, key=lambda one: one.provider)))


def _log_outcome(outcome: RunOutcome) -> None:
    elapsed = outcome.finished_at - outcome.started_at
    facts = {
        "provider": outcome.provider,
        "offers": outcome.offers,
        "rejected": sum(outcome.rejected.values()),
        "quarantined": sum(outcome.quarantined.values()),
        "elapsed_s": round(elapsed.total_seconds(), 3),
    }
    if outcome.clashes:
        _log.info(
            "offer_keys_clashed",
            provider=outcome.provider,
            keys=len(outcome.clashes),
            first=outcome.clashes[0],
        )
    if outcome.status is RunStatus.REFRESHED:
        _log.info("offers_refreshed", **facts)
    elif outcome.status is RunStatus.PARTIAL:
        _log.info("offers_refreshed_in_part", kept=outcome.kept, error=outcome.error, **facts)
    else:
        _log.info("offers_kept", status=str(outcome.status), error=outcome.error, **facts)
