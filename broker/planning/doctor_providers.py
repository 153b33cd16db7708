"""What a doctor says of the providers: their keys, by name alone, and whether their hosts answer.

A host is asked for its first page, without a key; whatever it answers shows that it can be reached,
and by its `Date` what time it is.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx

from broker.clock import Clock
from broker.domain.errors import ConfigurationError
from broker.planning.provider_names import check_known, unknown_providers
from broker.reports.doctor_view import CheckRow, ProviderRow, State
from broker.settings import Settings
from broker.specs.load import Specs
from providers.kit.adapter import Adapter
from providers.kit.recorded import recorded_providers, recordings
from providers.registry import PROVIDERS, access, adapters

_AT_ONCE = 12
_NAME = "providers"
_PLACEHOLDERS = ("…", "...", "xxx", "changeme", "your")


@dataclass(frozen=True, slots=True)
class ProviderExam:
    """What was found of each provider, the check of all, and how far our clock is from theirs."""

    rows: tuple[ProviderRow, ...]
    skew: timedelta | None
    check: CheckRow = field(default_factory=lambda: CheckRow(_NAME, State.SKIPPED, "not looked at"))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a host answered: after how long, and how far ahead of its clock ours is; or why not."""

    seconds: float = 0.0
    skew: timedelta | None = None
    error: str = ""


def examine_providers(
    specs: Specs,
    settings: Settings,
    *,
    open_client: Callable[[], httpx.Client] | None,
    clock: Clock,
) -> ProviderExam:
    """Look at the keys of every provider, and ask their hosts where there is a client."""
    found = adapters(specs, settings)
    hosts = {one.name: _hosts(one.name) for one in found}
    asked = {host for some in hosts.values() for host in some}
    try:
        answers = _ask(sorted(asked), open_client, clock) if open_client else {}
    except ConfigurationError as error:  # of a proxy that the environment names
        unasked = tuple(_row(one, settings, hosts[one.name], {}) for one in found)
        problem = CheckRow(_NAME, State.BROKEN, str(error), error.hint)
        return ProviderExam(unasked, None, problem)
    rows = tuple(_row(one, settings, hosts[one.name], answers) for one in found)
    skews = [one.skew.total_seconds() for one in answers.values() if one.skew is not None]
    skew = timedelta(seconds=statistics.median(skews)) if skews else None
    return ProviderExam(rows, skew, _check(settings, rows, answers))


def _check(
    settings: Settings, rows: tuple[ProviderRow, ...], answers: dict[str, _Answer]
) -> CheckRow:
    try:
        check_known(settings)
    except ConfigurationError as error:
        return CheckRow(_NAME, State.BROKEN, str(error), error.hint)
    unknown = unknown_providers(settings)
    if unknown:
        found = f"keys or regions are given for {', '.join(unknown)}, unknown to this version"
        return CheckRow(_NAME, State.LOOK, found, f"there are: {', '.join(PROVIDERS)}")
    usable = sum(not row.keys or bool(row.present) for row in rows)
    said = f"{usable} of {len(rows)} need no key or have theirs"
    if not answers:
        return CheckRow(_NAME, State.OK, f"{said}; whether they answer: skipped", "add --online")
    silent = sorted(host for host, one in answers.items() if one.error)
    if len(silent) == len(answers):
        found = f"{said}; none of {len(answers)} hosts answers ({answers[silent[0]].error})"
        return CheckRow(_NAME, State.BROKEN, found, "check the network, or set HTTPS_PROXY")
    found = f"{said}; {len(answers) - len(silent)} of {len(answers)} hosts answer"
    remedy = f"no answer: {', '.join(silent)}" if silent else ""
    return CheckRow(_NAME, State.LOOK if silent else State.OK, found, remedy)


def _row(
    adapter: Adapter, settings: Settings, hosts: tuple[str, ...], answers: dict[str, _Answer]
) -> ProviderRow:
    given = access(adapter.name, settings).keys
    present = tuple(name for name in adapter.keys if name in given)
    problems = list(_key_problems(adapter, settings))
    asked = [answers[host] for host in hosts if host in answers]
    silent = [one.error for one in asked if one.error]
    slowest = max((one.seconds for one in asked), default=None) if not silent else None
    state, remedy = (State.LOOK, problems[0][1]) if problems else (State.OK, "")
    found = [text for text, _ in problems] or [_keys_said(adapter, present)]
    if not present and adapter.keys and not problems:
        remedy = f"set [providers.{adapter.name}] {' and '.join(adapter.keys)}"
    if silent:
        state, remedy = State.LOOK, remedy or "try again later; its old prices stand meanwhile"
        found.append(f"{len(silent)} of {len(asked)} hosts silent: {silent[0]}")
    elif slowest is not None:
        found.append(f"answers in {slowest:.1f} s")
    return ProviderRow(
        provider=adapter.name,
        state=state,
        keys=tuple(adapter.keys),
        present=present,
        hosts=hosts,
        answers_in_s=slowest,
        found="; ".join(found),
        remedy=remedy,
    )


def _keys_said(adapter: Adapter, present: tuple[str, ...]) -> str:
    if not adapter.keys:
        return "needs no key"
    return f"{' and '.join(present)} set" if present else "no key is set"


def _key_problems(adapter: Adapter, settings: Settings) -> Iterator[tuple[str, str]]:
    """Find keys that cannot be right, without a word of what they are."""
    given = access(adapter.name, settings).keys
    table = f"[providers.{adapter.name}]"
    for name, secret in given.items():
        value = secret.get_secret_value()
        if name not in adapter.keys:
            wanted = ", ".join(adapter.keys) or "no key at all"
            yield f"{name} is set, which it does not use", f"{table} takes {wanted}"
        elif value[:1] in "\"'":
            yield f"{name} has quotes around it", f"take them off in {table} {name}"
        elif not (value.isascii() and value.isprintable()) or value.lower().startswith(
            _PLACEHOLDERS
        ):
            yield f"{name} is no key", f"put the real one into {table} {name}"
    pair = [name for name in adapter.keys if name in ("client_id", "client_secret")]
    if pair and {*pair} & given.keys() and not {*pair} <= given.keys():
        missing = next(name for name in pair if name not in given)
        yield f"{missing} is missing beside its other half", f"set {table} {missing}"


def _hosts(provider: str) -> tuple[str, ...]:
    """Name the hosts that a provider is asked at, as its recordings have them."""
    if provider not in recorded_providers():
        return ()
    urls = (one.request.url for one in recordings(provider) if one.replay)
    return tuple(sorted({urlsplit(url).hostname or "" for url in urls} - {""}))


def _ask(
    hosts: Iterable[str], open_client: Callable[[], httpx.Client], clock: Clock
) -> dict[str, _Answer]:
    """Ask hosts side by side."""
    names = tuple(hosts)
    with open_client() as client, ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda host: _ask_one(client, host, clock), names)
        return dict(zip(names, found, strict=True))


def _ask_one(client: httpx.Client, host: str, clock: Clock) -> _Answer:
    started_s = time.perf_counter()
    try:
        with client.stream("GET", f"https://{host}/") as reply:
            now, took_s = clock(), time.perf_counter() - started_s
            date = reply.headers.get("Date", "")
    except httpx.HTTPError as error:
        said = str(error) or type(error).__name__
        return _Answer(error=" ".join(said.split()))
    return _Answer(took_s, _skew(now, date))


def _skew(now: datetime, date: str) -> timedelta | None:
    try:
        theirs = parsedate_to_datetime(date)
    except ValueError:
        return None
    return now - theirs.astimezone(UTC)
