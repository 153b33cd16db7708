"""A headless Chromium over its own pipe: no socket, no driver, one page at a time."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_PATIENCE_S = 60
_Message = dict[str, Any]
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
)


@dataclass
class Browser:
    """Speaks the DevTools protocol: JSON messages that end in a zero byte."""

    to_browser: int
    from_browser: int
    heard: list[_Message] = field(default_factory=list)
    session: str = ""
    _next: int = 0
    _rest: bytes = b""

    def ask(self, method: str, **params: object) -> _Message:
        """Send a command and wait for its reply; events that come before it are kept."""
        self._next += 1
        message: _Message = {"id": self._next, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._hear()
            if reply.get("id") == self._next:
                assert "error" not in reply, (method, reply["error"])
                result: _Message = reply["result"]
                return result
            self.heard.append(reply)

    def wait_for(self, method: str) -> _Message:
        """Wait for an event."""
        for event in self.heard:
            if event.get("method") == method:
                return event
        while True:
            event = self._hear()
            self.heard.append(event)
            if event.get("method") == method:
                return event

    def open(self, url: str) -> None:
        """Open a page in a tab of its own, and hear what it asks for and complains of."""
        self.session = ""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.heard.clear()
        self.ask("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def look(self, width: int, *, scheme: str = "light", height: int = 900) -> None:
        """Set the width of the window in CSS pixels, and day or night."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)

    def run(self, script: str) -> Any:  # noqa: ANN401 - whatever the script gives
        """Run a script of the test in the page, and give what it evaluates to."""
        done = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def events(self, method: str) -> list[_Message]:
        """List the events of one kind since the page was opened."""
        return [event["params"] for event in self.heard if event.get("method") == method]

    def _hear(self) -> _Message:
        end = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.from_browser], [], [], end - time.monotonic())
            assert ready, "the browser does not answer"
            chunk = os.read(self.from_browser, 1 << 20)
            assert chunk, "the browser has ended"
            self._rest += chunk
        one, _, self._rest = self._rest.partition(b"\0")
        heard: _Message = json.loads(one)
        return heard


@contextmanager
def chromium(environment: Mapping[str, str] | None = None) -> Iterator[Browser]:
    """Start the browser; it ends with the block."""
    assert CHROMIUM is not None
    theirs_in, to_browser = os.pipe()
    from_browser, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *_FLAGS, f"--user-data-dir={Path(profile) / 'profile'}"]
        # The browser reads from its file 3 and writes to its file 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        process = subprocess.Popen(  # noqa: S603 - our own words
            ["/bin/bash", "-c", script, "chromium", *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment) if environment else None,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        browser = Browser(to_browser, from_browser)
        try:
            yield browser
        finally:
            os.close(to_browser)
            os.close(from_browser)
            process.terminate()
            process.wait(_PATIENCE_S)
