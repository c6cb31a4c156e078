"""A plug-in of pytest: a test fails where the gate fails, and is skipped where the evidence cannot tell.

@pytest.mark.rated("imports/today", against="imports/yesterday")
def test_no_regression(): ...

def test_level(trustgauge_gate):
    trustgauge_gate("latest", fail_on=["two-step:BS"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

Gate = Callable[..., None]


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "rated(target, **options): passes if `trustgauge gate` passes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Ask the gate of a marked test before the test runs."""
    for mark in item.iter_markers("rated"):
        ask_gate(*mark.args, **mark.kwargs)


@pytest.fixture
def trustgauge_gate() -> Gate:
    """A function that asks a gate, as `trustgauge gate` does, and fails or skips the test."""
    return ask_gate


def ask_gate(target: str | Path = "latest", *, ratings: str | Path = "ratings", **options: Any) -> None:
    """Ask a gate.

    Args:
        target: a run, a rating, or a folder of imported results.
        ratings: folder of all runs.
        options: fields of `GateOptions`; `need_certainty` may be one number for all methods, `fail_on` and
            `only` one name.

    Raises:
        pytest.fail.Exception: a check failed, or too much is missing.
        pytest.skip.Exception: no check failed, and one cannot tell.
    """
    from trustgauge.apps.gate.checks import GateOptions, checks, exit_of_checks

    need = options.get("need_certainty", {})
    options["need_certainty"] = need if isinstance(need, Mapping) else {"": float(need)}
    options["against"] = str(options.get("against", ""))
    for name in ("fail_on", "only"):
        options[name] = [told] if isinstance(told := options.get(name, ()), str) else told
    asked = GateOptions(**options)
    ended = exit_of_checks(checks(str(target), Path(ratings), asked, datetime.now(UTC).date()))
    if ended.code == 5:
        pytest.skip(ended.why)
    if ended.code:
        pytest.fail(f"exit {ended.code}: {ended.why}", pytrace=False)
