from datetime import UTC, datetime, timedelta, timezone

from sqlalchemy import select
from sqlmodel import col

from broker.catalog.tables import HeldReading
from broker.store.bulk import insert_rows
from broker.store.database import open_database, reading, writing
from broker.store.place import Place

SEEN = datetime(2026, 10, 1, 14, tzinfo=timezone(timedelta(hours=2)))


def test_many_rows_are_read_as_they_were_written(place: Place) -> None:
    engine = open_database(place)
    rows = [
        {
            "provider": "acme",
            "offer_key": f"acme/n{number}/here@spot",
            "reason": "price_jumped",
            "detail": "it's 100% dearer: ? :x %s",
            "effective_micro_usd_per_hour": 3_000_000_000 + number,
            "digest": "d",
            "observed_at": SEEN,
            "valid_from": SEEN + timedelta(seconds=number),
            "payload": "{}",
        }
        for number in range(3)
    ]
    with writing(engine) as connection:
        insert_rows(connection, HeldReading, rows)
        insert_rows(connection, HeldReading, [])
    names = [
        HeldReading.offer_key,
        HeldReading.detail,
        HeldReading.effective_micro_usd_per_hour,
        HeldReading.observed_at,
        HeldReading.valid_from,
        HeldReading.valid_to,
    ]
    with reading(engine) as connection:
        found = connection.execute(select(*(col(one) for one in names))).all()
    assert [tuple(row) for row in found] == [
        (
            row["offer_key"],
            row["detail"],
            row["effective_micro_usd_per_hour"],
            datetime(2026, 10, 1, 12, tzinfo=UTC),
            datetime(2026, 10, 1, 12, tzinfo=UTC) + timedelta(seconds=number),
            None,
        )
        for number, row in enumerate(rows)
    ]
