from concurrent.futures import Future

from broker.planning.explaining.ground import waited


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def done(result: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_result(result)
    return future


def begun() -> Future[str]:
    future: Future[str] = Future()
    future.set_running_or_notify_cancel()
    return future


def test_what_is_not_done_soon_after_the_time_is_up_is_given_up() -> None:
    waiting: Future[str] = Future()
    found = waited([done("first"), begun(), waiting, done("last")], 100, Clock(106))
    assert found == ["first", None, None, "last"]
    assert waiting.cancelled()
