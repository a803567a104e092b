"""A headless Chromium driven over WebDriver (W3C, chromedriver's vendor commands for what that leaves out)."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium and chromedriver here (Debian's packages chromium and chromium-driver)",
)
_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-background-networking"
_KEYS = {"Tab": "\ue004", "ArrowRight": "\ue014", "ArrowLeft": "\ue012"}


class Browser:
    """One page at a time of a session."""

    def __init__(self, address: str, session: str) -> None:
        self._place = f"{address}/session/{session}"

    def open(self, page: Path) -> None:
        self._post("url", {"url": page.as_uri()})

    def evaluate(self, script: str) -> Any:
        """What a function body returns."""
        return self._post("execute/sync", {"script": script, "args": []})

    def press(self, *keys: str) -> None:
        strokes = [{"type": kind, "value": _KEYS[key]} for key in keys for kind in ("keyDown", "keyUp")]
        self._post("actions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def shows_as(self, media: str = "screen", **features: str) -> None:
        """Show the page for `media` ("print") to a reader with such preferences, as `color_scheme="dark"`."""
        wanted = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self._command("Emulation.setEmulatedMedia", {"media": media, "features": wanted})

    def size(self, width: int, height: int) -> None:
        self._command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def complaints(self) -> list[str]:
        """What the console got since it was last asked."""
        found = self._post("se/log", {"type": "browser"})
        return [entry["message"] for entry in found]

    def picture(self, target: Path) -> None:
        """The whole page as it shows now."""
        shot = self._command("Page.captureScreenshot", {"captureBeyondViewport": True})
        target.write_bytes(base64.b64decode(shot["data"]))

    def _command(self, name: str, parameters: Mapping[str, Any]) -> Any:
        return self._post("goog/cdp/execute", {"cmd": name, "params": dict(parameters)})

    def _post(self, what: str, body: Mapping[str, Any]) -> Any:
        return _request(f"{self._place}/{what}", "POST", body)


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A session whose files lie in `folder`."""
    assert DRIVER is not None
    with subprocess.Popen(
        [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if "successfully" in line)
            address = f"http://127.0.0.1:{line.rstrip('.' + chr(10)).rpartition(' ')[2]}"
            options = {"binary": CHROMIUM, "args": [*_FLAGS.split(), f"--user-data-dir={folder / 'user'}"]}
            wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
            session = _request(f"{address}/session", "POST", {"capabilities": wanted})["sessionId"]
            yield Browser(address, session)
            _request(f"{address}/session/{session}", "DELETE", None)
        finally:
            process.terminate()


def _request(url: str, method: str, body: Mapping[str, Any] | None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(asked, timeout=120) as answer:
        return json.load(answer)["value"]
