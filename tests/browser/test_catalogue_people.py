"""Pages of the catalogue that people work with, in a browser: by keys, without scripts, in every look."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.apps.catalogue.documents import two_step
from tests.browser.catalogue import faults, open_page, serving
from tests.browser.chromium import Chromium
from tests.servers import LocalServer, Request, Response
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.plan import load_plan
from trustgauge.run.chain_composition import chain_plan, compose_chain
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

BOT = {
    "services": {"bot": {"use": "rivescript", "brain": "abusive"}},
    "experiments": [
        {"method": "trust", "services": ["bot"], "profiles": ["safe-language"], "issues": ["abuse"]},
    ],
}
SLOW = """
name = "slow"
[services.slow]
use = "http"
url = "{url}"
task = "translate"
concurrency = 1
[[experiments]]
method = "two-step"
services = ["slow"]
texts = 400
"""
HIS = {"She": "He", "she": "he", "her": "his"}
HER = re.compile(rf"\b(?:{'|'.join(HIS)})\b")


@dataclass(frozen=True)
class Served:
    """A catalogue with a run to be labelled, a bot to be talked to, and two looks at a service."""

    address: str
    token: str
    run: str
    before: str
    after: str
    expired: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("people")
    ratings, url = folder / "ratings", f"sqlite:///{folder / 'catalogue.sqlite'}"
    begun = datetime.now(UTC) - timedelta(days=1)

    def answer(request: Request) -> Response:
        """Gives back what it got; later no sentence begins with She, and in the end none speaks of her."""
        text = request.json()["text"]
        text = text.replace("She ", "He ") if looks else text
        return Response.json({"output": HER.sub(lambda her: HIS[her[0]], text) if men_only else text})

    looks: list[Any] = []
    men_only: list[bool] = []
    with LocalServer(answer) as server:
        service = {"use": "http", "task": "translate", "url": server.url}
        plan = {
            "services": {"mine": service},
            "experiments": [{"method": "two-step", "services": ["mine"], "texts": 40, "draws": 1000}],
        }
        for moment in (begun, begun + timedelta(hours=1)):
            options = RunOptions(ratings=ratings, fresh=True, now=lambda moment=moment: moment)  # type: ignore[misc]
            looks.append(rate(load_plan(plan), options).document)
        chain = compose_chain("mine > mine", ratings, begun.date())  # inferred from the first look
        men_only.append(True)
        rate(load_plan(chain_plan(chain)), RunOptions(ratings=ratings))
    rate(load_plan(BOT), RunOptions(ratings=ratings))
    store = CatalogueStore(url)
    FolderReader(store, ratings).take_in()
    store.add(two_step("TG-2024-0102-01d0", tested="2024-01-02", expires="2024-04-01"), actor="lab")
    token = store.make_token("ann", "assessor")
    before, after = (one["ratings"][0]["id"] for one in looks)
    with serving(store, ServeOptions(ratings), url) as address:
        yield Served(address, token, looks[1]["run"]["id"], before, after, "TG-2024-0102-01d0.1")
    store.close()


def shown(browser: Chromium, text: str) -> None:
    browser.until(f"document.readyState === 'complete' && document.body.innerText.includes({text!r})")


def write(browser: Chromium, text: str) -> None:
    """By keys, into what has the focus."""
    for letter in text:
        browser.key(letter, 0, text=letter)


def enter(browser: Chromium) -> None:
    browser.key("Enter", 13, text="\r")


def tab_to(browser: Chromium, wanted: str) -> None:
    """By the tabulator to what a condition on `one` describes; its focus can be seen."""
    for _ in range(40):
        browser.key("Tab", 9)
        if browser.run(f"(one => {wanted})(document.activeElement)"):
            assert browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
            return
    raise AssertionError(f"not reached by keys: {wanted}")


def test_answers_are_labelled_without_a_script(browser: Chromium, axe: str, served: Served) -> None:
    open_page(browser, f"{served.address}audit/{served.run}/", script=False)
    shown(browser, "You read a sample")
    found = faults(browser, axe)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    tab_to(browser, "one.name === 'token'")
    write(browser, served.token)
    enter(browser)
    shown(browser, "0 of ")
    found += faults(browser, axe)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    tab_to(browser, "one.name === 'label'")
    enter(browser)
    shown(browser, "1 of ")
    assert "Saved." in browser.run("document.querySelector('[role=status]').textContent")
    tab_to(browser, "one.value === 'end'")
    enter(browser)
    shown(browser, "labelled 1 of ")
    assert found + faults(browser, axe) == []


def test_a_bot_is_talked_to_by_keys_and_without_a_script(browser: Chromium, axe: str, served: Served) -> None:
    open_page(browser, f"{served.address}chat/", script=False)
    found = faults(browser, axe)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    tab_to(browser, "one.name === 'token'")
    write(browser, served.token)
    enter(browser)
    shown(browser, "Chat with bot")
    for number, words in enumerate(("hello", "you are stupid"), 1):
        tab_to(browser, "one.name === 'text'")
        write(browser, words)
        enter(browser)
        shown(browser, words)
        browser.until(f"document.querySelectorAll('.talk li').length === {number}")
    shown(browser, "Provisional")
    found += faults(browser, axe)
    chat = browser.run("document.querySelector('main .mono').textContent")
    open_page(browser, f"{served.address}chat/{chat}/", script=False)
    shown(browser, "Go on with a chat")
    found += faults(browser, axe)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    tab_to(browser, "one.name === 'token'")
    write(browser, served.token)
    enter(browser)
    shown(browser, "you are stupid")
    tab_to(browser, "one.value === 'end'")
    enter(browser)
    shown(browser, "What was said is rated")
    assert found + faults(browser, axe) == []


def test_a_run_is_started_watched_and_stopped_by_keys(
    browser: Chromium, axe: str, served: Served, serve: Callable[..., LocalServer]
) -> None:
    slow = serve(lambda request: Response.json({"output": request.json()["text"]}), 0.1)
    open_page(browser, f"{served.address}runs/", script=False)
    browser.run(f"document.querySelector('textarea').value = {SLOW.format(url=slow.url)!r}")
    tab_to(browser, "one.name === 'token'")
    write(browser, served.token)
    enter(browser)
    browser.until("location.pathname !== '/runs/' && !!document.querySelector('main[data-events]')")
    run = browser.run("location.href")
    shown(browser, "Without scripts: look again")
    found = faults(browser, axe)
    open_page(browser, run)
    browser.until("document.querySelector('#parts progress')?.value > 3")
    found += faults(browser, axe)
    seen = browser.run("document.querySelector('#parts progress').value")
    browser.until(f"document.querySelector('#parts progress').value > {seen}")  # as it comes
    tab_to(browser, "one.name === 'token'")
    write(browser, served.token)
    enter(browser)
    shown(browser, "Stopped; received answers are stored")
    found += faults(browser, axe)
    open_page(browser, f"{served.address}runs/")
    shown(browser, "slow")
    assert found + faults(browser, axe) == []


def test_two_looks_a_contradicted_chain_and_expired_ratings_are_accessible(
    browser: Chromium, axe: str, served: Served
) -> None:
    found = []
    for page, words in (
        (f"compare/?a={served.before}&b={served.after}", "Answers that changed"),
        ("compose/?s1=mine&s2=mine", "contradict each other"),
        (f"r/{served.expired}/", "Expired "),
        ("?state=expired&earlier=1", "expired"),
    ):
        for script in (True, False):
            open_page(browser, served.address + page, script=script)
            shown(browser, words)
        found += [f"{page}: {one}" for one in faults(browser, axe)]
    assert found == []
