from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, found
from tests.browser.pages import PAGES

AXE_HOLDER = "axe_playwright_python"
"""A package that carries axe-core; it is never imported, as it would need a browser driver."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    if found() is None:
        pytest.skip("Chromium is not installed: no chromium, chromium-browser or google-chrome on PATH")
    with Chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="session")
def axe() -> str:
    holder = find_spec(AXE_HOLDER)
    if holder is None or holder.origin is None:
        pytest.skip("axe-core is not installed: pip install --no-deps axe-playwright-python")
    return (Path(holder.origin).parent / "axe.min.js").read_text("utf-8")


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages under test, written to disk."""
    folder = tmp_path_factory.mktemp("pages")
    written = {}
    for name, make in PAGES.items():
        written[name] = folder / f"{name}.html"
        written[name].write_text(make(), "utf-8")
    return written
