import errno
import json
import os
import stat
from pathlib import Path

import pytest
from alert_receivers import a_message, an_alert

from broker.alerts.sink import DeliveryError
from broker.alerts.sinks.file import AlertFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "alerts.jsonl"


def keys(path: Path) -> list[str]:
    return [json.loads(line)["key"] for line in path.read_text().splitlines()]


def test_each_message_is_a_line_and_none_is_there_twice(path: Path) -> None:
    sink = AlertFile(path)
    for key in ("a", "b", "a"):
        sink.deliver(a_message(an_alert(title="line\nbreak"), key=key))
    assert keys(path) == ["a", "b"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_line_of_an_earlier_crash_spoils_no_other(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"key":"old"}\n{"schema":"gpubrok')
    AlertFile(path).deliver(a_message(key="new"))
    lines = path.read_text().splitlines()
    assert len(lines) == 3
    assert json.loads(lines[2])["key"] == "new"


def test_a_full_disk_leaves_no_part_of_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = AlertFile(path)
    sink.deliver(a_message(key="a"))
    whole = os.write

    def half(file: int, content: bytes) -> int:
        return whole(file, content[: len(content) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(DeliveryError, match="No space left"):
            sink.deliver(a_message(key="b"))
    assert keys(path) == ["a"]
    sink.deliver(a_message(key="b"))
    assert keys(path) == ["a", "b"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeliveryError, match=r"alerts\.jsonl") as caught:
        AlertFile(tmp_path / "file" / "alerts.jsonl").deliver(a_message())
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno in (errno.EEXIST, errno.ENOTDIR)
