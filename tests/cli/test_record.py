from pathlib import Path

from command_line import Gpubroker


def test_who_asks_nothing_over_the_network_is_told_so(gpubroker: Gpubroker, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = gpubroker("record", "nebius", "--out", str(out))
    assert ended.code == 2
    assert "'nebius' asks nothing over the network" in ended.err
    assert not out.exists()


def test_an_unknown_provider_ends_with_2(gpubroker: Gpubroker) -> None:
    ended = gpubroker("record", "lamda")
    assert ended.code == 2
    assert "lambda" in ended.err


def test_a_folder_in_use_is_left_alone(gpubroker: Gpubroker, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    ended = gpubroker("record", "lambda", "--out", str(tmp_path))
    assert ended.code == 2
    assert "is not empty" in ended.err
