"""Filters of evidence about groups, in the browser: rows and associations, kept in the address."""

from __future__ import annotations

from pathlib import Path

from tests.browser.chromium import Chromium
from tests.browser.test_report import choose, shown

VISIBLE = "[...document.querySelectorAll('tr[data-k]')].filter(r => r.checkVisibility()).length"


def count(browser: Chromium) -> int:
    text: str = browser.run("document.querySelector('#shown').textContent")
    return int(text.split(" match")[0].split(" · ")[-1].replace(",", ""))


def test_rows_are_found_by_group_and_by_question(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["social"])
    browser.until("document.querySelector('#shown').textContent.includes('shown')")
    every = browser.run(VISIBLE)
    choose(browser, "attribute", "gender")
    choose(browser, "question", "choice")
    assert shown(browser)
    both = count(browser)
    choose(browser, "group", "women")
    assert 0 < count(browser) < both
    said = browser.run("[...document.querySelectorAll('#rows tbody tr')].map(r => r.textContent)")
    assert all("women" in one.lower() for one in said)
    assert 0 < browser.run(VISIBLE) < every
    address = browser.run("location.hash")
    assert address == "#attribute=gender&question=choice&group=women"
    rows = shown(browser)
    browser.open(pages["social"], hash=address)
    browser.until(f"document.querySelectorAll('#rows tbody tr').length === {len(rows)}")
    assert shown(browser) == rows


def test_no_match_names_the_facet_to_undo(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["social"], hash="#attribute=age&group=women")
    browser.until("!document.querySelector('#none').hidden")
    result = browser.run("document.querySelector('#none').textContent")
    assert "Without the filter “group”" in result
    assert browser.run(VISIBLE) == 0
