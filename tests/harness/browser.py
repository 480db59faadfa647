"""A headless Chromium driven over its debugging pipe: no port, no websocket, no package."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip
KEYS = {"Enter": (13, "\r"), "Tab": (9, ""), " ": (32, " ")}


def chromium() -> str:
    """The browser, or a skip where there is none."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        pytest.skip("no Chromium is installed")
    return found


class Page:
    """One page of a running browser. ``errors`` collects exceptions and requests that left the file."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        wanted = self._number
        message: dict[str, Any] = {"id": wanted, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            event = self._next()
            if event.get("id") == wanted:
                assert "error" not in event, event["error"]
                result: dict[str, Any] = event["result"]
                return result
            self._note(event)

    def open(self, path: Path, fragment: str = "") -> float:
        """Load a file and wait until its script is ready; returns milliseconds from navigation until then."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=path.resolve().as_uri() + fragment)
        return float(self.wait("document.documentElement?.dataset.ready || 0"))

    def run(self, script: str) -> Any:
        """The value of an expression; promises are awaited."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 20.0) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(script)
            if value or isinstance(value, dict):  # an element comes back as an empty object
                return value
            time.sleep(0.02)
        text = self.run("document.querySelector('#task')?.innerText.slice(0, 900)")
        raise AssertionError(f"never true: {script}; errors: {self.errors}; shown: {text!r}")

    def key(self, name: str, times: int = 1) -> None:
        """Press a key."""
        code, text = KEYS.get(name, (0, ""))
        for _ in range(times):
            common = {"key": name, "code": name, "windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
            self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def size(self, width: int, height: int, mobile: bool = False) -> None:
        """The size of the window in CSS pixels."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def dark(self, on: bool) -> None:
        """Prefer a dark page or a light one."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """Save what is seen, or the whole page, as PNG."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], 60)
            assert ready, "the browser does not answer"
            read = os.read(self._read, 1 << 20)
            assert read, "the browser has ended"
            self._buffer += read
        line, self._buffer = self._buffer.split(b"\0", 1)
        event: dict[str, Any] = json.loads(line)
        return event

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(parameters["exceptionDetails"])[:500])
            case "Log.entryAdded":
                if parameters["entry"]["level"] == "error":
                    self.errors.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A page of a fresh browser whose profile lies in ``profile``."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()

    def hand_over() -> None:
        # the browser reads commands from 3 and writes answers to 4
        read, write = os.dup(in_read), os.dup(out_write)
        os.dup2(read, 3)
        os.dup2(write, 4)
        os.set_inheritable(3, True)
        os.set_inheritable(4, True)

    command = [chromium(), *FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(in_read)
    os.close(out_write)
    try:
        yield Page(in_write, out_read)
    finally:
        process.terminate()
        process.wait(20)
        os.close(in_write)
        os.close(out_read)
