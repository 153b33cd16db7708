"""The lease: one runner at a time may run jobs, and whoever takes it over shuts the last one out.

A holder renews it with every heartbeat. It is free again once it was given back or ran out. As the
clock may have been set back since, a lease is also free to whoever has watched it for its whole
length, on a clock that only moves forward, without seeing a heartbeat. Each holder gets a token,
larger than every earlier one; a transaction that bears an older token is refused.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, Update, insert, select, update

from broker.clock import Clock
from broker.domain.errors import ConfigurationError
from broker.scheduler.tables import LeaseRow
from broker.store.database import reading, writing

_NAME = "runner"
_TABLE = LeaseRow.metadata.tables["lease"]


class LeaseLostError(ConfigurationError):
    """Another runner holds the lease now, so what was about to be written is refused."""

    def __init__(self, message: str = "another runner has taken the lease over") -> None:
        super().__init__(
            message, hint="gpubroker status --jobs says who holds it; only one runner can"
        )


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that we hold, and the token of it."""

    holder: str
    token: int
    lasts: timedelta


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as it stands; nobody holds it where `holder` is empty."""

    holder: str
    token: int
    beats: int
    taken_at: datetime
    renewed_at: datetime
    expires_at: datetime

    def is_free(self, now: datetime) -> bool:
        """Tell whether it was given back, or has run out."""
        return not self.holder or self.expires_at <= now

    @property
    def beat(self) -> tuple[int, int]:
        """Identify its last heartbeat."""
        return self.token, self.beats


class Leases:
    """The lease in one database.

    Every method raises ConfigurationError where the database cannot be used.
    """

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    def state(self) -> Held | None:
        """Tell who holds the lease; None before the first runner."""
        with reading(self._engine) as connection:
            return _state(connection)

    def take(
        self, holder: str, lasts: timedelta, *, silent: tuple[int, int] | None = None
    ) -> Lease | Held:
        """Take the lease if it is free, else tell who holds it.

        `silent` is the last heartbeat of a holder that was watched for long enough to be dead.
        """
        now = self._clock()
        with writing(self._engine) as connection:
            held = _state(connection)
            if held is not None and not held.is_free(now) and held.beat != silent:
                return held
            token = held.token + 1 if held else 1
            values = {
                "holder": holder,
                "token": token,
                "beats": 0,
                "taken_at": now,
                "renewed_at": now,
                "expires_at": now + lasts,
            }
            if held is None:
                connection.execute(insert(_TABLE).values(name=_NAME, **values))
            else:
                connection.execute(update(_TABLE).where(_TABLE.c.name == _NAME).values(**values))
        return Lease(holder, token, lasts)

    def renew(self, lease: Lease) -> None:
        """Send a heartbeat.

        Raises:
            LeaseLostError: another runner has taken it over.
        """
        now = self._clock()
        with writing(self._engine) as connection:
            query = _of(lease.token).values(
                beats=_TABLE.c.beats + 1, renewed_at=now, expires_at=now + lease.lasts
            )
            if connection.execute(query).rowcount != 1:
                raise LeaseLostError

    def release(self, lease: Lease) -> None:
        """Give the lease back, if it is still ours."""
        with writing(self._engine) as connection:
            connection.execute(_of(lease.token).values(holder=""))


def guard(connection: Connection, token: int) -> None:
    """Refuse a transaction unless its token is that of the lease.

    Whoever takes the lease writes, and so waits until a transaction that writes has ended.

    Raises:
        LeaseLostError: another runner has taken the lease over, or it was given back.
    """
    held = _state(connection)
    if held is None or not held.holder or held.token != token:
        raise LeaseLostError


def _state(connection: Connection) -> Held | None:
    row = connection.execute(select(_TABLE).where(_TABLE.c.name == _NAME)).one_or_none()
    if row is None:
        return None
    return Held(row.holder, row.token, row.beats, row.taken_at, row.renewed_at, row.expires_at)


def _of(token: int) -> Update:
    return update(_TABLE).where(
        _TABLE.c.name == _NAME, _TABLE.c.token == token, _TABLE.c.holder != ""
    )
