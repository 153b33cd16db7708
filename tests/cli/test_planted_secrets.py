"""Every secret of the settings is planted, and looked for in all that commands print and keep."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from alert_receivers import Reply, receiver
from command_line import Gpubroker
from nights import RUN
from tiny_files import write, write_sheet

from broker.clock import system_clock
from broker.planning.service import open_service
from broker.scheduler.book import Book
from broker.scheduler.metrics import StoreCollector
from broker.scheduler.pulse import Pulse
from broker.settings import KEY_ENDINGS, Settings, is_secret
from broker.store.database import open_store

pytestmark = [pytest.mark.local_server, pytest.mark.allow_hosts(["127.0.0.1"])]

NODE = "aws,p5.4xlarge,H100-SXM,1,us-east-1,on_demand,4.50,USD,2026-11-20"
PASSWORD = "canary p@ss/word+db"  # noqa: S105 - planted, to be found
HOOK, TOKEN = "/services/T0/canary-of-slack-4711", "canary-of-the-webhook-address"
PLANTED = {
    "webhook_secret": "canary/hmac+secret=",
    "smtp_password": "canary-smtp-0815",
    **{f"lambda{ending}": f"canary{ending}-value" for ending in KEY_ENDINGS},
}
SECRETS = (*PLANTED.values(), HOOK.rpartition("/")[2], TOKEN)


class Listening(Controller):
    """A mail server on a free port that has no TLS, so that nothing is to be sent to it."""

    def __init__(self) -> None:
        super().__init__(self, hostname="127.0.0.1", port=0)
        self.heard: list[bytes] = []

    async def handle_DATA(  # noqa: N802 - the library's name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        del server, session
        self.heard.append(bytes(envelope.content or b""))
        return "250 OK"

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def mail() -> Iterator[Listening]:
    server = Listening()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def forms(secret: str) -> set[str]:
    """List the ways in which a secret may be written."""
    encoded = base64.b64encode(secret.encode()).decode()
    return {secret, quote(secret, safe=""), encoded, json.dumps(secret)[1:-1]}


def plant(patch: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        patch.setenv(f"GPUBROKER_{name.upper()}", value)


def look_for_secrets(*written: str) -> None:
    text = "\n".join(written)
    assert len(text) > 200
    for secret in (*SECRETS, PASSWORD):
        for form in forms(secret):
            assert form not in text, form


def test_every_secret_setting_is_planted_here() -> None:
    secret = {name for name in Settings.model_fields if is_secret(name)}
    assert secret - PLANTED.keys() == {"keys", "database", "slack_webhook_url"}


def test_no_secret_is_in_what_a_night_and_its_commands_print_and_keep(
    gpubroker: Gpubroker, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = " ".join(SECRETS)  # a receiver may say again whatever it was sent
    workloads = str(write(tmp_path / "team.yaml", RUN))
    sheet = str(write_sheet(tmp_path, NODE))
    with (
        receiver([Reply(403, f"no {told}")] * 9, HOOK) as slack,
        receiver([Reply(401, f"no {told}")] * 9, f"/{TOKEN}") as hook,
        mail() as mailbox,
    ):
        plant(monkeypatch, **PLANTED)
        plant(
            monkeypatch,
            slack_webhook_url=slack.url,
            webhook_url=hook.url,
            smtp_host="127.0.0.1",
            smtp_port=str(mailbox.port),
            smtp_user="ann",
            mail_from="a@example.org",
            mail_to='["b@example.org"]',
            alert_file=str(tmp_path / "alerts.jsonl"),
        )
        night = ("nightly", workloads, "--sheet", sheet, "--date", "2026-11-28")
        commands: tuple[tuple[str, ...], ...] = (
            ("doctor",),
            ("alerts", "test"),
            ("alerts", "test", "--dry-run"),
            (*night, "--dry-run"),
            ("--log-format", "json", *night),
            (*night, "--format", "json"),
            ("alerts", "list"),
            ("alerts", "flush"),
            ("plans", "--format", "json"),
            ("schedule", "add", "nightly", workloads, "--at", "02:30"),
            ("schedule", "list"),
            ("status", "--jobs"),
            ("audit",),
        )
        ended = [gpubroker(*arguments) for arguments in commands]
        assert slack.heard
        assert hook.heard
        assert mailbox.heard == []
    assert [one.code for one in ended[1:6]] == [3, 0, 0, 3, 0], [one.err for one in ended[1:6]]
    settings = Settings(data_dir=data_dir)
    planning, book = open_service(settings), Book(open_store(settings))
    metrics = StoreCollector(planning, book, Pulse("here:1", 60), system_clock).collect()
    kept = [one for folder in (data_dir, tmp_path) for one in folder.rglob("*") if one.is_file()]
    look_for_secrets(
        *(one.out + one.err for one in ended),
        *map(repr, metrics),
        *(one.read_bytes().decode("latin-1") for one in kept),
    )


def test_no_command_tells_the_password_of_a_database_that_is_not_there(
    gpubroker: Gpubroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://ana:{quote(PASSWORD, safe='')}@127.0.0.1:1/prices"
    plant(monkeypatch, database=url, alert_file=str(tmp_path / "alerts.jsonl"))
    workloads = str(write(tmp_path / "team.yaml", RUN))
    sheet = str(write_sheet(tmp_path, NODE))
    commands = (
        ("doctor",),
        ("nightly", workloads, "--sheet", sheet, "--date", "2026-11-28"),
        ("nightly", str(tmp_path / "none.yaml")),
        ("schedule", "list"),
        ("schedule", "add", "nightly", workloads, "--at", "02:30"),
        ("schedule", "run", "--once"),
        ("status", "--jobs"),
        ("alerts", "list"),
        ("plans",),
        ("audit",),
        ("approve", "0123abcd", "--by", "ann"),
    )
    ended = [gpubroker("--log-format", "json", *arguments) for arguments in commands]
    assert {one.code for one in ended} == {2}, [(one.code, one.err) for one in ended]
    look_for_secrets(*(one.out + one.err for one in ended))
