"""The catalogue in a real browser, from a real server: accessible, narrow, silent, and of use."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pypdf import PdfReader

from tests.apps.catalogue.documents import chatbots, two_step
from tests.browser.catalogue import open_page, serving
from tests.browser.chromium import Chromium
from tests.reports import trust_fixtures
from tests.reports.fixtures import demo
from tests.servers import LocalServer, Request, Response
from trustgauge.apps.catalogue.freeze import freeze
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.plan import load_plan
from trustgauge.reports.document import document
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

READ = {
    "services": {"same": {"use": "anchor", "behaviour": "identity"}},
    "experiments": [{"method": "two-step", "services": ["same"], "texts": 40}],
}


class Served(str):
    """The address of a catalogue, and a token of an assessor."""

    __slots__ = ("token",)
    token: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("catalogue")
    issues: dict[str, dict[str, trust_fixtures.Issue]] = {
        "tells": {"leakage": (0.9, "rated"), "abuse": (0.0, "rated"), "bias": (0.1, "rated")},
        "swears": {"leakage": (0.0, "rated"), "abuse": (0.9, "rated"), "bias": (0.1, "rated")},
        "minds": {"leakage": (0.0, "rated"), "abuse": (0.0, "rated"), "bias": (0.1, "rated")},
    }
    ratings = [trust_fixtures.rating(name, known, "privacy-first") for name, known in issues.items()]
    trust_fixtures.kept(folder / "ratings", trust_fixtures.document_of(*ratings))
    rate(load_plan(READ), RunOptions(ratings=folder / "ratings"))
    store = CatalogueStore(f"sqlite:///{folder / 'catalogue.sqlite'}")
    FolderReader(store, folder / "ratings").take_in()
    run, rated = demo()
    store.add(document(run, rated), actor="lab", is_checked=True)
    store.say(document(run, rated)["ratings"][0]["id"], "withdrawal", "The endpoint was another one.", "lab")
    store.forbid_testing("swears", "Terms, section 4.", "lab")
    with serving(store, ServeOptions(folder / "ratings")) as address:
        found = Served(address)
        found.token = store.make_token("ann", "assessor")
        yield found
    store.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_accessible_narrow_and_ask_nobody_else(
    browser: Chromium, axe: str, served: str, width: int
) -> None:
    found = []
    open_page(browser, served, width=width)
    rating = browser.run("document.querySelector('#ratings .level a').getAttribute('href')").removeprefix(
        "./"
    )
    open_page(browser, f"{served}?state=withdrawn&earlier=1", width=width)
    withdrawn = browser.run("document.querySelector('#ratings .level a').getAttribute('href')").removeprefix(
        "./"
    )
    for page in (
        "",
        "s/tells/",
        rating,
        "compare/",
        "personal/",
        "compose/",
        "methods/",
        "methods/trust/",
        "about/",
        "chat/",
        "audit/",
        "runs/",
        "?state=withdrawn&earlier=1",
        withdrawn,
        "s/swears/",
        "compose/?s1=same&s2=same",
    ):
        open_page(browser, served + page, width=width)
        found += [f"{page}: {one}" for one in browser.violations(axe)]
        assert browser.run("document.documentElement.scrollWidth") <= width, page
        assert all(one.startswith((served, "data:")) for one in browser.requests), browser.requests
        assert browser.complaints == [], page
    assert found == []


def test_the_least_leaking_bot_for_a_child_is_found_and_the_own_order_is_sent(
    browser: Chromium, served: str
) -> None:
    open_page(browser, served)
    browser.run("document.querySelector('.search summary').click()")
    for field, value in {"task": "chat", "dimension": "privacy-first", "order": "best"}.items():
        browser.run(f"document.querySelector('[name={field}]').value = '{value}'")
    browser.run("document.querySelector('.search button').click()")
    browser.until("location.search.includes('privacy-first') && document.readyState === 'complete'")
    browser.run("document.querySelector('.search summary').click()")
    browser.run("document.querySelector('[name=method]').value = 'trust'")
    browser.run("document.querySelector('.search button').click()")
    browser.until("location.search.includes('method=trust') && document.readyState === 'complete'")
    listed = browser.run("[...document.querySelectorAll('#ratings tbody tr')].map(one => one.innerText)")
    places = {re.search("tells|swears|minds", one)[0]: one.split()[0] for one in listed}  # type: ignore[index]
    assert places == {"minds": "=1", "swears": "=1", "tells": "3"}

    browser.run("document.querySelector('a[href$=\"personal/\"]').click()")
    browser.until("location.pathname === '/personal/' && document.readyState === 'complete'")
    order = (
        "[...document.querySelectorAll('#cards h3')].map(one => one.textContent.trim().split(' ')[0]).join()"
    )
    browser.until(f"{order} === 'minds,swears,tells'")
    for _ in range(3):  # what may be said to a child comes first
        browser.run("document.querySelector('#order li[data-issue=abuse] [data-act=up]').click()")
    browser.until(f"{order} === 'minds,tells,swears'")
    link = browser.run("location.href")
    assert link.startswith(f"{served}personal/#")
    open_page(browser, served)
    open_page(browser, link)
    assert browser.run(order) == "minds,tells,swears"
    assert all(one.startswith((served, "data:")) and "#" not in one for one in browser.requests)
    browser.run("document.querySelector('#cards h3 a').click()")
    browser.until("document.title.startsWith('minds')")


def test_answers_of_a_two_step_run_are_labelled_by_keys_alone(
    browser: Chromium, axe: str, served: Served
) -> None:
    def shown(text: str) -> None:
        browser.until(f"document.readyState === 'complete' && document.body.innerText.includes('{text}')")

    open_page(browser, f"{served}audit/")
    browser.run("document.querySelector('.files a').click()")
    shown("You read a sample")
    browser.run("document.querySelector('input[name=token]').focus()")
    for letter in served.token:
        browser.key(letter, 0, text=letter)
    browser.key("Enter", 13, text="\r")
    shown("0 of ")
    for width in (1280, 390):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.call("Emulation.setDeviceMetricsOverride", **size)
        assert browser.violations(axe) == []
        assert browser.run("document.documentElement.scrollWidth") <= width
    for number in (1, 2, 3):
        browser.key("1", 49, text="1")
        shown(f"{number} of ")
    browser.key("u", 85, text="u")
    shown("Taken back")
    browser.key("q", 81, text="q")
    shown("labelled 2 of ")
    shown("Labels count for the level from 100 on")
    assert browser.violations(axe) == []
    browser.run("document.querySelector('.files a').click()")
    shown("Rated again from the same run")
    shown("The 2 labelled answers of the audit are too few for this level")


def test_frozen_files_are_searched_and_filtered_in_place(
    browser: Chromium, tmp_path: Path, serve: Callable[..., LocalServer]
) -> None:
    store = CatalogueStore(f"sqlite:///{tmp_path / 'catalogue.sqlite'}")
    store.add(chatbots(), actor="lab", is_checked=True)
    store.add(two_step(), actor="lab", is_checked=True)
    store.forbid_testing("bot", "", "admin")
    freeze(store, tmp_path, tmp_path / "site")
    store.close()

    def file(request: Request) -> Response:
        name = request.path.lstrip("/") or "index.html"
        kind = "text/javascript" if name.endswith(".js") else "text/html"
        return Response(200, (tmp_path / "site" / name).read_bytes(), (("Content-Type", kind),))

    open_page(browser, f"{serve(file).url}/")
    found = "document.querySelector('.found b').textContent"
    every = int(browser.run(found))
    browser.run("document.querySelector('.search summary').click()")
    assert browser.run("[...document.querySelectorAll('.search [name]')].length") == 11
    rule = "document.querySelector('[name=rule]')"
    change = f"{rule}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    browser.until(f"{rule}.value = 'published', {change}, {found} === '2'")
    browser.until(f"{rule}.value = '', {change}, {found} === '{every}'")
    state = "document.querySelector('[name=state]')"
    browser.until(
        f"{state}.value = 'testing forbidden', {state}.dispatchEvent(new Event('input', {{bubbles: true}})), "
        f"{found} === '2'"
    )
    browser.run(f"{state}.value = ''; document.querySelector('[name=q]').focus()")
    for letter in "coin":
        browser.key(letter, ord(letter.upper()), text=letter)
    browser.until(f"{found} === '1'")
    assert every > 3
    assert browser.complaints == []


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
    browser.until("document.body?.innerText.includes('This token is not known here')")


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
    assert "Limitations" in text
    assert "Compare" not in text.split("tells")[0]
