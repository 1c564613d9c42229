"""A headless Chromium, spoken to through a pipe: what pages really do, in tests, and pictures of them for the docs."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 30.0  # seconds


def find_browser() -> str | None:
    """The program of a Chromium on this machine: one on the path, or the newest that Playwright keeps."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    kept = sorted(Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    return found or (str(kept[-1]) if kept else None)


class Browser:
    """One page of a headless browser; errors holds whatever its console complained of."""

    def __init__(self, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        program = find_browser()
        if program is None:
            raise FileNotFoundError("no Chromium on this machine")
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        inward, self._write = os.pipe()
        self._read, outward = os.pipe()
        command = [
            program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={self._home.name}", "about:blank",
        ]  # fmt: skip
        script = f'exec 3<&{inward} 4>&{outward}; exec "$@"'  # the browser listens on 3 and answers on 4
        self._process = subprocess.Popen(
            ["bash", "-c", script, "-", *command], pass_fds=(inward, outward), stderr=subprocess.DEVNULL
        )
        os.close(inward)
        os.close(outward)
        self._rest, self._number, self._session = b"", 0, None
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log"):
            self.call(f"{part}.enable")
        self.size(width, height, dark)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._home.cleanup()

    # -- messages --------------------------------------------------------------------------

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask the browser for something, and wait for its answer."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            said["sessionId"] = self._session
        os.write(self._write, json.dumps(said).encode() + b"\0")
        while (heard := self._hear()).get("id") != self._number:
            self._note(heard)
        if "error" in heard:
            raise RuntimeError(f"{method}: {heard['error']['message']}")
        return heard["result"]

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise ConnectionError("the browser has ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, heard: dict[str, Any]) -> None:
        """Keep what a console would show in red."""
        method, params = heard.get("method"), heard.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])

    # -- what people do --------------------------------------------------------------------

    def size(self, width: int, height: int, dark: bool = False) -> None:
        """Another window, in the light or in the dark; one that is narrow is a phone's."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Go to a page, and wait until it has loaded."""
        self.call("Page.navigate", url=address)
        self.wait(
            f"document.readyState === 'complete' && location.href.startsWith({json.dumps(address.split('#')[0])})"
        )

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        heard = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in heard:
            raise RuntimeError(heard["exceptionDetails"].get("exception", {}).get("description", expression))
        return heard["result"].get("value")

    def wait(self, expression: str) -> None:
        """Until an expression in the page is true."""
        end = time.monotonic() + PATIENCE
        while not self.ask(f"Boolean({expression})"):
            if time.monotonic() > end:
                raise TimeoutError(f"not true in {PATIENCE:g} s: {expression}")
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """A key, such as Tab or ArrowLeft."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=CODES.get(key, 0))

    def point(self, x: float, y: float) -> None:
        """The mouse over a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path: str | os.PathLike[str], whole: bool = False) -> None:
        """What the window shows, or all of the page, as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))


CODES = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
