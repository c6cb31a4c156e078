"""The catalogue in a real browser, from a real server: accessible, narrow, silent, and of use."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator

import pytest
from pypdf import PdfReader

from tests.browser.chromium import Chromium
from tests.reports import trust_fixtures
from tests.reports.fixtures import demo
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.server import CatalogueServer
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.reports.document import document


class Address:
    """An address of a server, for a browser that opens files otherwise."""

    def __init__(self, address: str) -> None:
        self.address = address

    def as_uri(self) -> str:
        return self.address


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("catalogue")
    issues: dict[str, dict[str, trust_fixtures.Issue]] = {
        "tells": {"leakage": (0.9, "rated"), "abuse": (0.0, "rated"), "bias": (0.1, "rated")},
        "swears": {"leakage": (0.0, "rated"), "abuse": (0.9, "rated"), "bias": (0.1, "rated")},
    }
    ratings = [trust_fixtures.rating(name, known, "privacy-first") for name, known in issues.items()]
    trust_fixtures.kept(folder / "ratings", trust_fixtures.told(*ratings))
    store = CatalogueStore(f"sqlite:///{folder / 'catalogue.sqlite'}")
    FolderReader(store, folder / "ratings").take_in()
    run, rated = demo()
    store.add(document(run, rated), actor="lab", is_checked=True)
    server = CatalogueServer(store, "", ServeOptions(folder / "ratings"), allow_runs=True)
    ready = threading.Event()
    address: list[str] = []

    def tell(given: str) -> None:
        address.append(given)
        ready.set()

    thread = threading.Thread(target=server.run, args=("127.0.0.1", 0, tell))
    thread.start()
    assert ready.wait(20)
    yield address[0]
    server.stop()
    thread.join(20)
    store.close()


def open_page(browser: Chromium, address: str, *, width: int = 1280, script: bool = True) -> None:
    browser.open(Address(address), width=width, script=script)  # type: ignore[arg-type]
    browser.until("location.protocol === 'http:' && document.readyState === 'complete'")


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_accessible_narrow_and_ask_nobody_else(
    browser: Chromium, axe: str, served: str, width: int
) -> None:
    found = []
    open_page(browser, served, width=width)
    rating = browser.run("document.querySelector('#ratings .level a').getAttribute('href')").removeprefix(
        "./"
    )
    for page in (
        "",
        "s/tells/",
        rating,
        "compare/",
        "personal/",
        "compose/",
        "methods/trust/",
        "about/",
        "chat/",
        "audit/",
        "runs/",
    ):
        open_page(browser, served + page, width=width)
        found += [f"{page}: {one}" for one in browser.violations(axe)]
        assert browser.run("document.documentElement.scrollWidth") <= width, page
        assert all(one.startswith((served, "data:")) for one in browser.requests), browser.requests
        assert browser.complaints == [], page
    assert found == []


def test_the_bot_that_keeps_secrets_is_found_and_the_own_order_can_be_sent(
    browser: Chromium, served: str
) -> None:
    open_page(browser, f"{served}personal/")
    first = "document.querySelector('#cards h3').textContent.trim()"
    assert browser.run(first).startswith("swears")
    browser.run("document.querySelectorAll('#start button')[3].click()")  # Safe language
    browser.until(f"{first}.startsWith('tells')")
    link = browser.run("location.href")
    open_page(browser, link)
    assert browser.run(first).startswith("tells")
    browser.run("document.querySelector('#cards h3 a').click()")
    browser.until("document.title.startsWith('tells')")


def test_a_search_needs_no_script(browser: Chromium, served: str) -> None:
    open_page(browser, f"{served}?q=swears", script=False)
    assert browser.run("document.querySelector('.found b').textContent") == "1"


def test_by_keys_alone_a_service_is_found_and_its_rating_opened(browser: Chromium, served: str) -> None:
    open_page(browser, served)
    focused = "document.activeElement"
    for _ in range(20):
        browser.key("Tab", 9)
        if browser.run(f"{focused}.name") == "q":
            break
    for letter in "tells":
        browser.key(letter, ord(letter.upper()), text=letter)
    browser.key("Enter", 13, text="\r")
    browser.until("location.search.startsWith('?q=tells') && document.readyState === 'complete'")
    for _ in range(40):
        browser.key("Tab", 9)
        if "/r/" in (browser.run(f"{focused}.href || ''")):
            break
    assert browser.run(f"getComputedStyle({focused}).outlineStyle") != "none"
    browser.key("Enter", 13, text="\r")
    browser.until("document.title.startsWith('tells') && document.readyState === 'complete'")


def test_a_form_reaches_its_own_server_without_a_script(browser: Chromium, served: str) -> None:
    open_page(browser, f"{served}runs/", script=False)
    browser.run("document.querySelector('textarea').value = 'x = 1'")
    browser.run("document.querySelector('input[name=token]').value = 'wrong'")
    browser.run("document.querySelector('main form button').click()")
    browser.until("document.body?.innerText.includes('This needs a token')")


def test_pages_in_the_dark_and_on_paper(browser: Chromium, axe: str, served: str) -> None:
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", features=dark)
    try:
        open_page(browser, f"{served}s/tells/")
        assert browser.violations(axe) == []
        ground = browser.run("getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, re.findall(r"\d+", ground)[:3])) < 200
        rating = browser.run("document.querySelector('a[href*=\"/r/\"]').href")
        open_page(browser, rating)
        assert browser.violations(axe) == []
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])
    open_page(browser, rating)
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(browser.pdf())).pages)
    assert "What this rating does not say" in text
    assert "Compare" not in text.split("tells")[0]
