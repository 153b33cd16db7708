"""Make a recording of a provider: ask it, scrub what it answers, read that back, and keep it.

A recording is kept when an adapter without the user's keys makes the same offers of it as the
adapter with them made of the live replies; until then nothing stands where it is to be.
"""

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx
from pydantic import SecretStr

from broker.catalog.runs import Reading
from broker.catalog.snapshot import canonical
from broker.clock import Clock, system_clock
from broker.domain.errors import ConfigurationError, ProviderError
from broker.domain.offer import Offer
from broker.planning.nearest import unknown
from broker.planning.refresh import ProviderReader
from broker.settings import Settings
from broker.specs.load import Specs, load_specs
from providers.kit.adapter import Adapter
from providers.kit.http import RetryingTransport, user_agent
from providers.kit.recorded import RecordedTransport, Recording, recordings_in
from providers.kit.recording import Cut, Recorder, bodies, recording_files, without_replay
from providers.kit.scrub import WORD, Scrubber, look_into
from providers.kit.secrets import Secrets, secrets_of
from providers.registry import PROVIDERS, adapters

_ANOTHER_HINT = "name a folder that is not there yet: --out DIR"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recordings of one provider in a folder; `offers` were read back from them."""

    folder: Path
    recordings: tuple[Recording, ...]
    offers: int
    rejections: int


class RecordingService:
    """Asks providers for recordings, through `transport` where one is given."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        *,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self._transport = transport
        self._sleep = sleep

    @cached_property
    def specs(self) -> Specs:
        """Read the tables of the package, once."""
        return load_specs()

    @cached_property
    def _secrets(self) -> Secrets:
        return secrets_of(self.settings.keys.values())

    def record(self, provider: str, out: Path, *, max_rows: int | None = None) -> Recorded:
        """Write what a provider answers into a folder that is not there yet, or not at all.

        Lists are cut to `max_rows` records each, where that is given.

        Raises:
            ConfigurationError: the provider is not known or asks nothing over the network, or the
                folder is in use or cannot be written.
            ProviderError: it fails, or what is scrubbed gives other offers.
        """
        if provider not in PROVIDERS:
            raise unknown("provider", provider, PROVIDERS)
        _check_free(out)
        recorder, live = self._ask(provider, max_rows)
        scrubber = Scrubber(
            self._secrets,
            look_into(
                bodies(recorder.exchanges),
                [one.request.headers for one in recorder.exchanges],
                [one.reply.headers for one in recorder.exchanges],
            ),
        )
        files = recording_files(recorder.exchanges, scrubber, note=_note(max_rows))
        beside = out.with_name(f".{out.name}.{os.getpid()}.tmp")
        try:
            return self._keep(provider, out, _Draft(beside, files, live, scrubber))
        except OSError as cause:
            raise ConfigurationError(
                f"--out {str(out)!r} cannot be written: {cause.strerror}", hint=_ANOTHER_HINT
            ) from cause
        finally:
            shutil.rmtree(beside, ignore_errors=True)

    def _ask(self, provider: str, max_rows: int | None) -> tuple[Recorder, Reading]:
        """Read a provider over the network, with everything that is said kept."""
        (adapter,) = adapters(self.specs, self.settings, (provider,))
        network = self._transport or httpx.HTTPTransport()
        retrying = RetryingTransport(
            network, clock=self.clock, sleep=self._sleep, secrets=self._secrets
        )
        recorder = Recorder(retrying, self._cut(provider, max_rows) if max_rows else None)
        try:
            reading = self._read(adapter, recorder)
        except ProviderError as error:
            raise self._secrets.blotted(error) from error
        if not recorder.exchanges:
            raise ConfigurationError(
                f"{provider!r} asks nothing over the network: its prices come with the package",
                hint="there is nothing to record",
            )
        if reading.missing:
            raise ProviderError(
                self._secrets.blot(
                    f"{provider}: {reading.missing[0].part}: {reading.missing[0].why}"
                ),
                hint="nothing is written, as a part is missing; try again",
            )
        if not reading.offers:
            raise ProviderError(
                f"{provider}: no offer was in its {len(recorder.exchanges)} replies",
                hint="raise or leave out --max-rows, or check the provider's key",
            )
        return recorder, reading

    def _cut(self, provider: str, max_rows: int) -> Cut:
        """Cut lists to so many records, those of GPUs first."""
        types = tuple(name for of, name in self.specs.nodes if of == provider)
        families = sorted({name.partition("-")[0] for name in self.specs.gpus})
        return Cut(max_rows, types, ("gpu", *families))

    def _read(self, adapter: Adapter, transport: httpx.BaseTransport) -> Reading:
        def client(_provider: str) -> httpx.Client:
            return httpx.Client(
                transport=transport,
                timeout=self.settings.request_timeout_s,
                headers={"User-Agent": user_agent()},
            )

        timeout_s = self.settings.provider_timeout_s
        return ProviderReader(client, self.clock, live=False, timeout_s=timeout_s).read(adapter)

    def _keep(self, provider: str, out: Path, draft: "_Draft") -> Recorded:
        """Write a draft, read it back, leave out what nobody asks for, and put it in its place."""
        draft.write(draft.files)
        read = self._read_back(provider, recordings_in(draft.folder), draft.offers)
        kept = {
            name: without_replay(text) if name in read.with_keys_only else text
            for name, text in draft.files.items()
            if name not in read.unused
        }
        if any(self._secrets.are_in(text) for text in kept.values()):
            raise ProviderError(
                f"{provider}: a key stands in what was recorded, in a form that is not known",
                hint="nothing is written; report it",
            )
        draft.write(kept)
        recorded = recordings_in(draft.folder)
        if out.is_dir():
            out.rmdir()  # it is empty
        draft.folder.rename(out)
        return Recorded(out, recorded, len(draft.live.offers), len(draft.live.rejections))

    def _read_back(
        self, provider: str, recorded: tuple[Recording, ...], wanted: Counter[str]
    ) -> "_ReadBack":
        """Replay recordings without keys, as the package does, else with keys of no worth.

        Raises:
            ProviderError: neither gives the wanted offers.
        """
        without = self._replay(provider, recorded, {})
        if isinstance(without, _Replayed) and without.offers == wanted:
            return _ReadBack(without.unused, frozenset())
        (adapter,) = adapters(self.specs, self.settings, (provider,))
        worthless = {f"{provider}_{name}": SecretStr(WORD) for name in adapter.keys}
        with_keys = self._replay(provider, recorded, worthless)
        if isinstance(with_keys, ProviderError):
            raise ProviderError(
                f"{provider}: the recording cannot be read back: {with_keys}",
                hint="nothing is written; a larger --max-rows may help",
            ) from with_keys
        if with_keys.offers != wanted:
            raise _differs(provider, with_keys.offers, wanted)
        unused = without.unused if isinstance(without, _Replayed) else frozenset()
        return _ReadBack(with_keys.unused, unused - with_keys.unused)

    def _replay(
        self, provider: str, recorded: tuple[Recording, ...], keys: Mapping[str, SecretStr]
    ) -> "_Replayed | ProviderError":
        settings = self.settings.model_copy(update={"keys": keys})
        (adapter,) = adapters(self.specs, settings, (provider,))
        transport = RecordedTransport(provider, recorded)
        try:
            reading = self._read(adapter, transport)
        except ProviderError as error:
            return error
        if reading.missing:
            return ProviderError(f"{reading.missing[0].why}", hint="")
        unused = frozenset(f"{name}.json" for name in transport.unused())
        return _Replayed(_texts(reading.offers, Scrubber()), unused)


def open_recording(settings: Settings, clock: Clock = system_clock) -> RecordingService:
    """Make the service; it opens what it needs when it needs it."""
    return RecordingService(settings, clock)


@dataclass(frozen=True, slots=True)
class _Draft:
    """Recordings in a folder beside their place, and the offers that they have to give."""

    folder: Path
    files: Mapping[str, str]
    live: Reading
    scrubber: Scrubber

    @property
    def offers(self) -> Counter[str]:
        return _texts(self.live.offers, self.scrubber)

    def write(self, files: Mapping[str, str]) -> None:
        """Write these files and no others."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        for name, text in files.items():
            (self.folder / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Replayed:
    offers: Counter[str]
    unused: frozenset[str]


@dataclass(frozen=True, slots=True)
class _ReadBack:
    """Files that no replay asks for, and those that only one with keys asks for."""

    unused: frozenset[str]
    with_keys_only: frozenset[str]


def _texts(offers: Iterable[Offer], scrubber: Scrubber) -> Counter[str]:
    """Write offers, apart from where and when they were seen, as a recording would have them."""
    return Counter(scrubber.text(canonical(one, {"provenance": True})) for one in offers)


def _differs(provider: str, found: Counter[str], wanted: Counter[str]) -> ProviderError:
    return ProviderError(
        f"{provider}: read back, the recording gives {found.total()} offers, of which "
        f"{(found & wanted).total()} are among the {wanted.total()} of the live replies",
        hint="nothing is written; a larger --max-rows may help",
    )


def _note(max_rows: int | None) -> str:
    cut = f" Lists are cut to {max_rows} records, of GPUs where there are." if max_rows else ""
    return (
        "Recorded from a live reply by gpubroker record. Keys, tokens, cookies, accounts and "
        f"addresses of mail are scrubbed.{cut}"
    )


def _check_free(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ConfigurationError(f"--out {str(out)!r} is a file", hint=_ANOTHER_HINT)
    if out.is_dir() and any(out.iterdir()):
        raise ConfigurationError(f"--out {str(out)!r} is not empty", hint=_ANOTHER_HINT)
