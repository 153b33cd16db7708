from collections.abc import Iterator
from concurrent.futures import Future
from itertools import count

from broker.planning.searches import Budget, Search, Share, run_all


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_what_one_search_does_not_use_is_the_later_ones() -> None:
    clock = Clock()
    budget = Budget(ends_at_s=100, workers=2, searches=4, clock=clock)
    assert budget.take_share_s() == 100 * 2 / 4
    clock.now_s = 10
    assert budget.take_share_s() == 90 * 2 / 3
    budget.pass_on()
    assert budget.take_share_s() == 90  # two processes, but a search is in one at a time
    clock.now_s = 101
    assert budget.left_s == budget.take_share_s() == 0


def test_a_share_counts_its_own_solves_and_ends_with_the_budget() -> None:
    clock = Clock()
    share = Share(Budget(ends_at_s=100, workers=1, searches=2, clock=clock))
    clock.now_s = 20
    assert share.left_s == 40  # half of the 80 that were left when it began
    share.used_s += 30
    assert share.left_s == 10
    clock.now_s = 95
    assert share.left_s == 5


def test_no_more_searches_work_at_a_time_than_there_are_processes() -> None:
    budget = Budget(ends_at_s=100, workers=2, searches=5, clock=Clock())
    working: list[Future[int]] = []
    most = 0
    numbers = count()

    def begin() -> Future[int]:
        nonlocal most
        working.append(Future())
        most = max(most, len(working))
        return working[-1]

    def search() -> Search[int]:
        first = yield from budget.in_turn(begin)
        second = yield from budget.in_turn(lambda: None)
        assert second is None
        return first or 0

    def finisher() -> Search[int]:
        """Ends what works, one after the other, as processes would."""
        for _ in range(5):
            done: Future[None] = Future()
            done.set_result(None)
            yield done
            working.pop(0).set_result(next(numbers))
        return -1

    assert run_all([*(search() for _ in range(5)), finisher()], lambda _: None) == [
        *range(5),
        -1,
    ]
    assert most == 2


def test_several_searches_may_wait_for_one_thing() -> None:
    signal: Future[str] = Future()

    def waiting() -> Search[str]:
        yield signal
        return signal.result()

    def signalling() -> Search[str]:
        signal.set_result("go")
        yield from _nothing()
        return "sent"

    assert run_all([waiting(), waiting(), signalling()], lambda _: None) == ["go", "go", "sent"]


def test_when_the_time_is_up_a_search_goes_on_without_what_it_waits_for() -> None:
    clock = Clock()
    budget = Budget(ends_at_s=10, workers=1, searches=2, clock=clock)
    never: Future[int] = Future()

    def search() -> Search[int | None]:
        found = yield from budget.in_turn(lambda: never)
        return found

    def late() -> Search[str]:
        clock.now_s = 11
        yield from _nothing()
        return "late"

    found = run_all(
        [search(), search(), late()],
        lambda _: None,
        gives_up_at_s=lambda: budget.ends_at_s,
        clock=clock,
    )
    assert found == [None, None, "late"]


def _nothing() -> Iterator[Future[None]]:
    return iter(())
