from collections.abc import Callable
from datetime import timedelta

import pytest
from schedules import Watch

from broker.scheduler.lease import Held, Lease, LeaseLostError, Leases, guard
from broker.store.database import open_database, reading, writing
from broker.store.place import Place

MINUTE = timedelta(minutes=1)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def leases(place: Place, watch: Watch) -> Leases:
    return Leases(open_database(place), watch)


def taken(leases: Leases, by: str, **how: tuple[int, int]) -> Lease:
    lease = leases.take(by, MINUTE, **how)
    assert isinstance(lease, Lease), lease
    return lease


def test_one_runner_holds_it_and_the_other_hears_who(leases: Leases, watch: Watch) -> None:
    assert leases.state() is None
    first = taken(leases, "a")
    watch.forward(seconds=59)
    held = leases.take("b", MINUTE)
    assert isinstance(held, Held)
    assert (held.holder, held.token) == ("a", first.token)
    assert not held.is_free(watch())


def test_it_is_free_when_given_back_or_run_out_and_each_token_is_larger(
    leases: Leases, watch: Watch
) -> None:
    first = taken(leases, "a")
    leases.release(first)
    second = taken(leases, "b")
    watch.forward(seconds=60)
    third = taken(leases, "a")
    assert first.token < second.token < third.token


def test_a_heartbeat_prolongs_it_and_that_of_an_earlier_holder_is_refused(
    leases: Leases, watch: Watch
) -> None:
    first = taken(leases, "a")
    watch.forward(seconds=50)
    leases.renew(first)
    watch.forward(seconds=50)
    assert isinstance(leases.take("b", MINUTE), Held)
    watch.forward(seconds=10)
    second = taken(leases, "b")
    with pytest.raises(LeaseLostError):
        leases.renew(first)
    leases.release(first)  # it has nothing to give back
    leases.renew(second)


def test_after_the_clock_was_set_back_a_silent_holder_is_dead_but_a_beating_one_is_not(
    leases: Leases, watch: Watch
) -> None:
    first = taken(leases, "a")
    watch.forward(days=-1)
    held = leases.take("b", MINUTE)
    assert isinstance(held, Held)
    leases.renew(first)
    assert isinstance(leases.take("b", MINUTE, silent=held.beat), Held)
    again = leases.state()
    assert again is not None
    assert taken(leases, "b", silent=again.beat).token == first.token + 1


def test_a_transaction_with_an_older_token_is_refused(
    new_place: Callable[[], Place], watch: Watch
) -> None:
    engine = open_database(new_place())
    leases = Leases(engine, watch)
    first = taken(leases, "a")
    with writing(engine) as connection:
        guard(connection, first.token)
    watch.forward(minutes=2)
    second = taken(leases, "b")
    with reading(engine) as connection:
        guard(connection, second.token)
        with pytest.raises(LeaseLostError, match="another runner"):
            guard(connection, first.token)
