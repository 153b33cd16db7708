"""What a refresh or an import may replace of what one provider offers, inside a transaction."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from broker.catalog.gates import Gates, Screened, screen, too_few
from broker.catalog.history import observed_between, read_history
from broker.catalog.outcomes import held_counts, standing_count
from broker.catalog.parts import told_missing
from broker.catalog.replacing import (
    Changes,
    Replacement,
    replace_offers,
    standing_offers,
    untouched,
)
from broker.catalog.rows import seen_again
from broker.catalog.runs import Reading, RunOutcome, RunStatus
from broker.catalog.state import CatalogState
from broker.domain.offer import UNKNOWN_REGION, Offer


def accept(connection: Connection, sent: Reading, gates: Gates, *, at: datetime) -> RunOutcome:
    """Let what a provider sent stand from `at` on, as far as the gates allow."""
    if older := _older(connection, sent, at):
        return older
    history = read_history(connection, sent.provider)
    listed = frozenset(offer.key for offer in sent.offers)
    stays = untouched(connection, sent.provider, sent.missing, listed=listed)
    base = replace(
        keep_all(connection, sent, RunStatus.TOO_FEW, at=at), kept=stays.count, missing=sent.missing
    )
    doubt = too_few(base.received, at, gates, history, kept=stays.count) if sent.live else None
    if doubt:
        return replace(base, error=doubt, hint="a second refresh with as few confirms it")
    screened = screen(sent.offers, gates, history, beside=stays.offers)
    anew = frozenset(
        offer.key for offer in sent.offers if any(part.covers(offer) for part in sent.missing)
    )
    new = Replacement(screened, untouched=stays, anew=anew)
    changes = replace_offers(connection, sent.provider, new, at=at)
    return _replaced(connection, sent, base, changes)


def _replaced(
    connection: Connection, sent: Reading, base: RunOutcome, changes: Changes
) -> RunOutcome:
    """Tell what came of a run that was let stand."""
    stamps = [offer.provenance.observed_at for offer in sent.offers]
    keys = Counter(offer.key for offer in sent.offers)
    outcome = replace(
        base,
        status=RunStatus.PARTIAL if sent.missing else RunStatus.REFRESHED,
        offers=standing_count(connection, sent.provider),
        quarantined=held_counts(connection, sent.provider),
        oldest_observed_at=min(stamps, default=None),
        newest_observed_at=max(stamps, default=None),
        new=changes.new,
        changed=changes.changed,
        vanished=changes.vanished,
        clashes=tuple(sorted(key for key, rows in keys.items() if rows > 1)),
    )
    if not sent.missing:
        return outcome
    newest = (base.newest_observed_at, outcome.newest_observed_at)
    return replace(
        outcome,
        oldest_observed_at=outcome.oldest_observed_at or base.oldest_observed_at,
        newest_observed_at=max((one for one in newest if one), default=None),
        error=told_missing(sent.missing),
        hint="refresh again; the offers of what could not be read are kept with their age",
    )


def _older(connection: Connection, sent: Reading, at: datetime) -> RunOutcome | None:
    """Turn away recordings, or a catalog of another machine, older than what stands."""
    stamps = [offer.provenance.observed_at for offer in sent.offers]
    _, newest = observed_between(connection, sent.provider)
    if sent.live or not stamps or newest is None or max(stamps) >= newest:
        return None
    return replace(
        keep_all(connection, sent, RunStatus.OLDER, at=at),
        error=f"recorded {max(stamps):%Y-%m-%d}, but the catalog has offers of {newest:%Y-%m-%d}",
        hint="the newer offers are kept; refresh without --recorded",
    )


def accept_import(
    connection: Connection, provider: str, given: CatalogState, *, at: datetime
) -> RunOutcome:
    """Let what another machine's catalog says of a provider stand, with its ages, as it is.

    The gates do not judge it again: they did where it was read, and what was held there is held.
    """
    sent = Reading(provider, live=False, started_at=at, offers=given.shown, rejections=())
    if older := _older(connection, sent, at):
        return replace(older, hint="the newer offers are kept")
    oldest = min(offer.provenance.observed_at for offer in given.shown)
    said = {offer.key: offer for offer in given.offers}
    anew = frozenset(
        one.key
        for one in standing_offers(connection, provider)
        if one.key in said and seen_again(one, oldest) != said[one.key]
    )
    new = Replacement(Screened(given.offers, given.quarantined, {}), anew=anew)
    changes = replace_offers(connection, provider, new, at=at)
    base = keep_all(connection, sent, RunStatus.IMPORTED, at=at)
    return replace(_replaced(connection, sent, base, changes), status=RunStatus.IMPORTED)


def keep_all(
    connection: Connection, sent: Reading, status: RunStatus, *, at: datetime
) -> RunOutcome:
    """Tell of a run that leaves everything as it was."""
    oldest, newest = observed_between(connection, sent.provider)
    return RunOutcome(
        provider=sent.provider,
        status=status,
        live=sent.live,
        started_at=sent.started_at,
        finished_at=at,
        oldest_observed_at=oldest,
        newest_observed_at=newest,
        received=sum(not _is_stand_in(offer, sent) for offer in sent.offers),
        offers=standing_count(connection, sent.provider),
        rejected=_counted(sent),
        quarantined=held_counts(connection, sent.provider),
    )


def _is_stand_in(offer: Offer, sent: Reading) -> bool:
    """Say whether an offer has no region because the list of places is what is missing.

    There is one for each type then, and not one for each place that has the type.
    """
    is_nowhere = offer.place.region == UNKNOWN_REGION
    return is_nowhere and any(part.covers(offer) for part in sent.missing)


def _counted(sent: Reading) -> Mapping[str, int]:
    return dict(sorted(Counter(one.reason for one in sent.rejections).items()))
