import os
from pathlib import Path

import pytest

from broker.domain.errors import ConfigurationError
from cli.files import check_writable, write_whole


def test_a_file_is_replaced_whole_and_a_link_to_it_stays(tmp_path: Path) -> None:
    old, link = tmp_path / "old.json", tmp_path / "plan.json"
    old.write_text("an older plan")
    link.symlink_to(old)
    write_whole(link, "€ 1.00")
    assert link.is_symlink()
    assert old.read_text(encoding="utf-8") == "€ 1.00"
    assert sorted(tmp_path.iterdir()) == [old, link]


def test_a_new_file_has_the_rights_of_any_other(tmp_path: Path) -> None:
    plan, other = tmp_path / "plan.json", tmp_path / "other"
    write_whole(plan, "a plan")
    other.touch()
    assert plan.stat().st_mode == other.stat().st_mode


def test_a_device_is_written_to_and_stays_a_device() -> None:
    device = Path(os.devnull)
    check_writable(device, inputs=())
    write_whole(device, "a plan")
    assert device.is_char_device()


def test_asking_whether_a_file_can_be_written_leaves_no_trace(tmp_path: Path) -> None:
    plan, old = tmp_path / "plan.json", tmp_path / "old.json"
    old.write_text("an older plan")
    check_writable(plan, inputs=[old])
    check_writable(old, inputs=[plan])
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "an older plan"


def test_an_input_is_not_overwritten_by_another_name_of_it(tmp_path: Path) -> None:
    workloads, link = tmp_path / "workloads.yaml", tmp_path / "plan.json"
    workloads.touch()
    link.symlink_to(workloads)
    with pytest.raises(ConfigurationError, match="would overwrite an input"):
        check_writable(link, inputs=[workloads])
