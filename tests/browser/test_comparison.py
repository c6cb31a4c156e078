"""The page of a comparison in the browser: accessible, narrow, silent, and whole without a script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import Chromium
from tests.browser.test_report import CONTRAST, LOOKS
from tests.reports import comparisons
from trustgauge.reports.comparison_page import page

PAGES: dict[str, Callable[[], Any]] = {
    "several": comparisons.several,
    "attacked": comparisons.attacked,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("comparisons")
    written = {}
    for name, make in PAGES.items():
        written[name] = folder / f"{name}.html"
        written[name].write_text(page(make()), "utf-8")
    return written


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(
    browser: Chromium, files: dict[str, Path], axe: str, name: str, look: dict[str, Any]
) -> None:
    browser.open(files[name], **look)
    assert browser.violations(axe) == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1180, 720, 390])
def test_nothing_leaves_the_file_and_the_page_never_scrolls_sideways(
    browser: Chromium, files: dict[str, Path], name: str, width: int
) -> None:
    browser.open(files[name], width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.requests == [files[name].as_uri()]
    assert browser.complaints == []


@pytest.mark.parametrize("look", LOOKS)
def test_text_in_the_scatter_can_be_read(
    browser: Chromium, files: dict[str, Path], look: dict[str, Any]
) -> None:
    browser.open(files["several"], **look)
    result = browser.run(CONTRAST)
    assert result["seen"] > 10
    assert result["weak"] == []


def test_differences_only_hides_what_is_alike_by_style_alone(
    browser: Chromium, files: dict[str, Path]
) -> None:
    browser.open(files["several"], script=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)  # only our question needs it
    count = "[...document.querySelectorAll('tr{}')].filter(r => r.checkVisibility()).length"
    alike, all_rows = browser.run(count.format(".alike")), browser.run(count.format(""))
    assert alike > 0
    browser.run("document.querySelector('#only').click()")
    assert browser.run(count.format(".alike")) == 0
    assert browser.run(count.format("")) == all_rows - alike
