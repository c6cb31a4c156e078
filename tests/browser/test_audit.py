"""The audit page in a real browser: one key an answer, undo, and nothing lost when it is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apps.audit.runs import make_run
from tests.browser.chromium import Chromium
from trustgauge.apps.audit.page import LabelServer
from trustgauge.run.audit import Audit
from trustgauge.run.audit_log import read_log
from trustgauge.run.labelling import Labelling


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("audited"))


def visit(browser: Chromium, server: LabelServer) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    browser.call("Page.navigate", url="about:blank")
    browser.events.clear()
    browser.call("Page.navigate", url=server.address)
    browser.until("document.querySelector('#turn') && !document.querySelector('#turn').hidden")


def press(browser: Chromium, key: str) -> None:
    browser.key(key, ord(key.upper()), text=key)


def shown(browser: Chromium) -> str:
    return str(browser.run("document.querySelector('#question').textContent"))


def done(browser: Chromium, count: int, of: int) -> None:
    browser.until(f"document.querySelector('#done').textContent === '{count} of {of}'")


def test_a_sample_is_labelled_by_keys_alone(
    browser: Chromium, folder: Path, axe: str, tmp_path: Path
) -> None:
    audit = Audit(folder, "bot")
    sample = audit.draw(12)
    n = len(sample.items)
    with LabelServer(Labelling(audit, sample, "Ann")) as server:
        visit(browser, server)
        assert browser.violations(axe) == []
        for count in range(1, 6):
            before = shown(browser)
            press(browser, "3")
            done(browser, count, n)
        assert len(read_log(folder).labels[audit.place]) == 5
        press(browser, "u")
        done(browser, 4, n)
        assert shown(browser) == before  # the answer that was taken back comes again
        press(browser, "9")  # no such label
        assert len(read_log(folder).labels[audit.place]) == 4
    with LabelServer(Labelling(audit, audit.sample(), "Ann")) as server:  # stopped and started again
        visit(browser, server)
        done(browser, 4, n)
        for count in range(5, n + 1):
            press(browser, "1" if count % 2 else "2")
            done(browser, count, n)
        browser.until("!document.querySelector('#finished').hidden")
        press(browser, "q")
        browser.until("document.querySelector('#status').textContent.startsWith('Ended')")
        assert server.ended.is_set()
    labels = read_log(folder).labels[audit.place]
    assert len(labels) == n
    assert browser.complaints == []
    page = browser.run("document.documentElement.outerHTML")
    assert "rivescript" not in page


def test_what_cannot_be_saved_is_said_and_the_answer_stays(browser: Chromium, folder: Path) -> None:
    audit = Audit(folder, "bot")
    with LabelServer(Labelling(audit, audit.draw(12), "Ben")) as server:
        visit(browser, server)
        before = shown(browser)
    press(browser, "3")  # the server is gone
    browser.until("document.querySelector('#status').textContent.startsWith('Not saved')")
    assert shown(browser) == before
