"""A real Chromium driven over the DevTools protocol through two pipes: no port, no driver, no package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

WAIT = 30.0
REPEATED = Path(__file__).with_name("repeated.js").read_text("utf-8")


def found() -> str | None:
    """The path of a Chromium on this machine, None if there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One headless browser with one page; use it as a context manager."""

    def __init__(self, profile: Path) -> None:
        program = found()
        assert program, "ask found() first"
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        command = [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
            "about:blank",
        ]
        # The protocol wants the pipes as 3 and 4; a shell puts them there and becomes the browser.
        moved = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", moved, "bash", *command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(one for one in targets if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self._session = None
            self.call("Browser.close")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events on the way are kept in `events`."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        self._send(message)
        while True:
            value = self._receive()
            if value.get("id") == self._number:
                if "error" in value:
                    raise RuntimeError(f"{method}: {value['error']['message']}")
                result: dict[str, Any] = value["result"]
                return result
            if "method" in value:
                self.events.append(value)

    def _send(self, message: dict[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._out, data) :]

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + WAIT
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("Chromium went away")
            self._buffer += data
        raw, _, self._buffer = self._buffer.partition(b"\0")
        facts: dict[str, Any] = json.loads(raw)
        return facts

    def open(
        self, page: Path, *, width: int = 1180, dark: bool = False, script: bool = True, hash: str = ""
    ) -> None:
        """Open a file and wait until it is loaded; the log of the page before is forgotten."""
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url="about:blank")
        self._until("Page.loadEventFired")
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri() + hash)
        self._until("Page.loadEventFired")

    def _until(self, event: str) -> None:
        end = time.monotonic() + WAIT
        while not any(one["method"] == event for one in self.events):
            if time.monotonic() > end:
                raise TimeoutError(f"{event} did not come")
            result = self._receive()
            if "method" in result:
                self.events.append(result)
        self.events = [one for one in self.events if one["method"] != event]

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + WAIT
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.05)

    def key(self, key: str, code: int, *, shift: bool = False, text: str = "") -> None:
        """Press and release a key."""
        facts = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **facts)
        self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def picture(self, to: Path) -> None:
        """Save the whole page as a picture."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self) -> bytes:
        """The page as it prints."""
        return base64.b64decode(
            self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"]
        )

    def violations(self, axe: str) -> list[str]:
        """What axe-core, given as its source, finds wrong on the page: rules, each with the places.

        Contrast, three quarters of its time, is looked at in the first of rows that are built and styled
        alike: it is the same in the others.
        """
        self.run(axe + ";0")
        self.run(REPEATED)
        found: list[str] = self.run(
            "axe.run({rules: {'color-contrast': {enabled: false}}}).then(rest =>"
            " axe.run({include: ['html'], exclude: ['[data-repeated]']}, {runOnly: ['color-contrast']}).then("
            "colour => [...rest.violations, ...colour.violations].map("
            "v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 200)).join(' | '))))"
        )
        return found

    @property
    def requests(self) -> list[str]:
        """Addresses that the page asked for since it was opened."""
        asked = [one for one in self.events if one["method"] == "Network.requestWillBeSent"]
        return [one["params"]["request"]["url"] for one in asked]

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings in the console since the page was opened."""
        result = []
        for one in self.events:
            facts = one.get("params", {})
            if one["method"] == "Runtime.exceptionThrown":
                result.append(str(facts["exceptionDetails"]))
            elif one["method"] == "Log.entryAdded" and facts["entry"]["level"] in {"error", "warning"}:
                result.append(facts["entry"]["text"])
            elif one["method"] == "Runtime.consoleAPICalled" and facts["type"] in {
                "error",
                "warning",
                "assert",
            }:
                result.append(str(facts["args"]))
        return result
