"""A catalogue on a port of its own, and pages of it in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.browser.chromium import Chromium
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.server import CatalogueServer
from trustgauge.apps.catalogue.store import CatalogueStore

LOOKS: tuple[dict[str, Any], ...] = ({"width": 1280}, {"width": 390}, {"width": 1280, "dark": True})


class Address:
    """An address of a server, for a browser that opens files otherwise."""

    def __init__(self, address: str) -> None:
        self.address = address

    def as_uri(self) -> str:
        return self.address


@contextmanager
def serving(store: CatalogueStore, options: ServeOptions, url: str = "") -> Iterator[str]:
    """The address of a server that starts runs too; `url` is of the database, for their workers."""
    server = CatalogueServer(store, url, options, allow_runs=True)
    ready = threading.Event()
    address: list[str] = []

    def tell(given: str) -> None:
        address.append(given)
        ready.set()

    thread = threading.Thread(target=server.run, args=("127.0.0.1", 0, tell))
    thread.start()
    assert ready.wait(20)
    try:
        yield address[0]
    finally:
        server.stop()
        thread.join(20)


def open_page(browser: Chromium, address: str, *, width: int = 1280, script: bool = True) -> None:
    browser.open(Address(address), width=width, script=script)  # type: ignore[arg-type]
    browser.until("location.protocol === 'http:' && document.readyState === 'complete'")


def look(browser: Chromium, *, width: int, dark: bool = False) -> None:
    """Make the page that is open as wide, and as dark."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.call("Emulation.setEmulatedMedia", features=[scheme])


def faults(browser: Chromium, axe: str) -> list[str]:
    """What is wrong with the page that is open: by axe-core wide, narrow and dark, or if it scrolls sideways.

    Scripts of the page that were not let run stay so; only our questions need them.
    """
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    found = []
    for one in LOOKS:
        look(browser, **one)
        found += [f"{one}: {each}" for each in browser.violations(axe)]
        if browser.run("document.documentElement.scrollWidth") > one["width"]:
            found.append(f"{one}: scrolls sideways")
    look(browser, **LOOKS[0])
    return found + browser.complaints
