"""The team's database is one setting; its password is in no message, whatever goes wrong."""

import pytest
from command_line import Gpubroker

CANARY = "canary-5e0c"


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("plans",),
        ("quarantine", "list"),
        ("offers", "--gpu", "H100-SXM"),
        ("refresh", "--recorded", "--provider", "aws"),
    ],
)
@pytest.mark.parametrize(
    "url",
    [f"postgresql://ana:{CANARY}@127.0.0.1:1/prices", f"mysql://ana:{CANARY}@127.0.0.1/prices"],
)
def test_a_database_that_cannot_be_used_is_told_without_its_password(
    gpubroker: Gpubroker, monkeypatch: pytest.MonkeyPatch, url: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("GPUBROKER_DATABASE", url)
    ended = gpubroker(*arguments)
    assert ended.code == 2
    assert "error: " in ended.err
    assert "GPUBROKER_DATABASE" in ended.err
    assert CANARY not in ended.out + ended.err
