"""What was let go of is given back to the system, where that can be seen."""

import ctypes
import sys
from pathlib import Path

import pytest

from solver.milp.memory import give_back

STATUS = Path("/proc/self/status")


def resident_kib() -> int:
    return int(STATUS.read_text().split("VmRSS:")[1].split()[0])


@pytest.mark.skipif(not STATUS.exists(), reason="the system does not say how large a process is")
def test_a_process_is_smaller_once_what_is_free_is_given_back() -> None:
    small = [bytes(50_000) for _ in range(4000)]
    last = bytes(50_000)  # what is below it stays with the process until it is given back
    before = resident_kib()
    del small
    give_back()
    assert len(last) == 50_000
    assert resident_kib() < before - 100_000


def test_elsewhere_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[object]()
    monkeypatch.setattr(ctypes, "CDLL", asked.append)
    monkeypatch.setattr(sys, "platform", "win32")
    give_back()
    assert asked == []
