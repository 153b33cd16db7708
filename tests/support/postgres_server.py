"""A PostgreSQL server of our own, in a temporary folder, on a unix socket, from installed programs.

    python tests/support/postgres_server.py pytest tests/broker/store

runs a command with GPUBROKER_TEST_DATABASE naming such a server, and gives its exit code. The
server asks for a password, and sorts texts by a language, as servers of teams do. It refuses to run
as root, so a root runs it as the user `postgres` that comes with Debian's package.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

PASSWORD = "canary p@ss/word"  # noqa: S105 - of a server that is gone after the test
USER = "gpubroker"
_OWNER = "postgres"
_OPTIONS = "-c listen_addresses='' -c fsync=off -c unix_socket_directories={folder}"


def programs() -> Path | None:
    """Find the newest server's programs, None where none is installed."""
    found = shutil.which("initdb")
    folders = Path("/usr/lib/postgresql").glob("*/bin")
    newest = sorted(folders, key=lambda one: int(one.parent.name), reverse=True)
    return Path(found).parent if found else next(iter(newest), None)


class PostgresServer:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs

    @property
    def url(self) -> str:
        """Give the URL of its database, with the password in it."""
        return self.url_with(PASSWORD)

    def url_with(self, password: str) -> str:
        """Give the URL with another password."""
        return f"postgresql://{USER}:{quote(password, safe='')}@/postgres?host={self._folder}"

    def make(self) -> None:
        """Make its files."""
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self._folder, secret):
                shutil.chown(path, _OWNER)
        self._run(
            "initdb",
            f"--username={USER}",
            f"--pwfile={secret}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale-provider=icu",
            "--icu-locale=en-US",
            "--no-sync",
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = _OPTIONS.format(folder=self._folder)
        log = self._folder / "log"
        self._run("pg_ctl", "start", "--wait", f"--log={log}", f"--options={options}")

    def stop(self) -> None:
        """Stop it at once, whoever is connected."""
        self._run("pg_ctl", "stop", "--wait", "--mode=immediate")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), f"--pgdata={self._folder / 'data'}", *arguments]
        subprocess.run(  # noqa: S603 - programs of the system's package
            command,
            user=_OWNER if os.geteuid() == 0 else None,
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )


@contextmanager
def running_server(programs: Path) -> Iterator[PostgresServer]:
    """Make and start a server; it is stopped and its files are gone in the end."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: the path of a socket has 107 bytes
    server = PostgresServer(folder, programs)
    try:
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(command: Sequence[str]) -> int:
    """Run a command beside a server."""
    found = programs()
    if found is None:
        sys.exit("error: no PostgreSQL server is installed (Debian: postgresql)")
    with running_server(found) as server:
        environment = os.environ | {"GPUBROKER_TEST_DATABASE": server.url}  # noqa: TID251 - no setting
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - asked for


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
