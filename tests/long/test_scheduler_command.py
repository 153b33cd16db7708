"""`gpubroker schedule run` as people start it: a service with its page for Prometheus."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from command_line import ROOT, run_apart

pytestmark = [
    pytest.mark.long,
    pytest.mark.local_server,
    pytest.mark.allow_hosts(["127.0.0.1"]),
]

COMMAND = "from cli.app import main; main()"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a runner over a schedule with one job, which is due."""
    data = tmp_path / "data"
    job = ("reprice", "--every", "1 h", "--provider", "lambda", "--recorded")
    assert run_apart(data, "schedule", "add", *job).code == 0
    environment = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "GPUBROKER_DATA_DIR": str(data)}
    options = ("--metrics-port", "0", "--lease", "4")
    process = subprocess.Popen(  # noqa: S603 - the code is that of this file
        [sys.executable, "-c", COMMAND, "schedule", "run", *options],
        env=environment,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def heard(service: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """Read what the service says up to what is looked for."""
    assert service.stderr is not None
    found = (re.search(pattern, line) for line in service.stderr)
    return next(match for match in found if match)


def test_the_service_runs_its_job_tells_prometheus_and_ends_at_sigterm(
    service: subprocess.Popen[str],
) -> None:
    page = heard(service, r"metrics: (http://127\.0\.0\.1:\d+)/metrics")[1]
    heard(service, r"reprice-lambda: done, \d+ offers")
    told = httpx.get(f"{page}/metrics").text
    assert (
        'gpubroker_job_runs_total{job="reprice-lambda",kind="reprice",outcome="done"} 1.0' in told
    )
    assert re.search(r'^gpubroker_catalog_offers\{provider="lambda"\} [1-9]', told, re.MULTILINE)
    assert "gpubroker_runner_running 1.0" in told
    assert httpx.get(f"{page}/healthz").json()["is_well"] is True
    service.send_signal(signal.SIGTERM)
    assert service.wait(10) == 0


def test_ctrl_c_ends_the_service_with_its_own_code(service: subprocess.Popen[str]) -> None:
    heard(service, "reprice-lambda: done")
    time.sleep(0.2)
    service.send_signal(signal.SIGINT)
    assert service.wait(10) == 130
