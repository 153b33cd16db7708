"""Following the joint plan's search, and ending it by Ctrl-C."""

import math
import os
import signal
import threading
from contextlib import closing

import pytest

from broker.planning.watching import Watched, standing


@pytest.mark.parametrize(
    ("best", "bound", "text"),
    [
        (math.inf, 1234.5, "no plan costs less than 1,234.50 USD"),
        (2000.0, 1990.0, "best 2,000.00 USD, bound 1,990.00, gap 0.50%"),
        (0.0, 0.0, "best 0.00 USD, bound 0.00, gap 0.00%"),
    ],
)
def test_a_search_is_told_in_one_line(best: float, bound: float, text: str) -> None:
    assert standing(best, bound) == text


def test_what_the_child_sends_is_told() -> None:
    heard, lines = threading.Event(), list[str]()

    def progress(line: str) -> None:
        lines.append(line)
        heard.set()

    with closing(Watched(progress)) as watched:
        watched.watcher.tell.send((10.0, 9.0))
        assert heard.wait(5)
    assert lines == ["best 10.00 USD, bound 9.00, gap 10.00%"]


def test_the_first_ctrl_c_ends_a_search_that_has_a_plan_and_the_second_all() -> None:
    with closing(Watched(lambda _: None)) as watched:
        watched.has_plan = True
        ended = []
        watched.on_end = lambda: ended.append(True)
        with pytest.raises(KeyboardInterrupt), watched.interrupts():  # noqa: PT012 - two signals
            os.kill(os.getpid(), signal.SIGINT)
            assert watched.watcher.ended.poll(5)
            assert (watched.was_ended, ended) == (True, [True])
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_before_there_is_a_plan_ends_all() -> None:
    with (
        closing(Watched(lambda _: None)) as watched,
        pytest.raises(KeyboardInterrupt),
        watched.interrupts(),
    ):
        os.kill(os.getpid(), signal.SIGINT)
    assert not watched.was_ended
