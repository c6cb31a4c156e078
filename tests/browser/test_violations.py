"""Contrast is looked at once in rows that are alike, and in every row that is not."""

from __future__ import annotations

from pathlib import Path

from tests.browser.chromium import Chromium

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>rows</title><main><h1>Rows</h1>
<style>.pale { color: #ccc; background: #fff } .dim td { color: #bbb; background: #fff }</style>
<table><tr><th>name</th></tr>%s</table></main></html>"""
PLAIN = "<tr><td>plain</td></tr>"


def found(browser: Chromium, axe: str, folder: Path, *rows: str) -> list[str]:
    page = folder / "rows.html"
    page.write_text(PAGE % "".join(rows), "utf-8")
    browser.open(page)
    return browser.violations(axe)


def test_a_pale_row_among_rows_alike_is_found(browser: Chromium, axe: str, tmp_path: Path) -> None:
    assert found(browser, axe, tmp_path, PLAIN * 5) == []
    for pale in (
        '<tr><td class="pale">pale</td></tr>',
        '<tr><td style="color: #ccc; background: #fff">pale</td></tr>',
        '<tr class="dim"><td>pale</td></tr>',
        '<tr><td><span class="pale">pale</span></td></tr>',
    ):
        (fault,) = found(browser, axe, tmp_path, PLAIN * 2, pale, pale, PLAIN)
        assert fault.startswith("color-contrast: ")
        assert fault.count(">pale<") == 1


def test_other_rules_look_at_every_row(browser: Chromium, axe: str, tmp_path: Path) -> None:
    unnamed = '<tr><td><button type="button"></button></td></tr>'
    (fault,) = found(browser, axe, tmp_path, PLAIN, unnamed * 3)
    assert fault.startswith("button-name: ")
    assert fault.count("<button") == 3
