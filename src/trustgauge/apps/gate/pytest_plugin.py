"""A plug-in of pytest: a test fails where the gate fails, and is skipped where the evidence cannot tell.

@pytest.mark.rated("imports/today", against="imports/yesterday")
def test_no_regression(): ...

def test_level(trustgauge_gate):
    trustgauge_gate("latest", fail_on=["two-step:BS"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trustgauge.apps.gate.checks import GateOptions

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


def ask_gate(*targets: str | Path, **options: Any) -> None:
    """Ask a gate.

    Args:
        targets: a run, a rating, or a folder of imported results; the latest run if there is none.
        options: fields of `GateOptions`; `need_certainty` may be one number for all methods, `fail_on` and
            `only` one name. `target` is another way to name it; `ratings` is the folder of all runs.

    Raises:
        pytest.fail.Exception: a check failed, too much is missing, or the gate cannot be asked like this.
        pytest.skip.Exception: no check failed, and one cannot tell.
    """
    from trustgauge.apps.gate.checks import checks, exit_of_checks
    from trustgauge.errors import TrustgaugeError

    try:
        target, ratings, asked = _read_arguments(targets, options)
        ended = exit_of_checks(checks(target, ratings, asked, datetime.now(UTC).date()))
    except TrustgaugeError as error:
        raise pytest.fail.Exception(f"exit {error.exit_code}: {error}", pytrace=False) from None
    if ended.code == 5:
        pytest.skip(ended.why)
    if ended.code:
        pytest.fail(f"exit {ended.code}: {ended.why}", pytrace=False)


def _read_arguments(
    targets: tuple[str | Path, ...], options: Mapping[str, Any]
) -> tuple[str, Path, GateOptions]:
    """What is gated, where runs are, and what is asked.

    Raises:
        PlanError: with every argument that there is not, or that has a wrong value.
    """
    from pydantic import ValidationError

    from trustgauge.apps.gate.checks import GateOptions
    from trustgauge.errors import Fault, PlanError
    from trustgauge.plan_faults import faults_of
    from trustgauge.plugins import unknown

    paths = {"target": "latest", "ratings": "ratings"} | dict(zip(("target",), targets, strict=False))
    known = (*paths, *GateOptions.model_fields)
    faults = [unknown("trustgauge gate", "argument", one, known) for one in options if one not in known]
    if len(targets) > 1:
        what, do = "more than one target", "Give the others by name, such as against=..."
        faults.append(Fault("trustgauge gate", what, "one", ", ".join(map(repr, targets)), do))
    paths |= {name: options[name] for name in paths if name in options}
    values = {name: _as_option(name, value) for name, value in options.items() if name not in paths}
    try:
        asked = GateOptions.model_validate({name: values[name] for name in values if name in known})
    except ValidationError as error:
        faults += faults_of(error, GateOptions, "")
    if faults:
        raise PlanError(tuple(replace(fault, place=fault.place.rstrip(".")) for fault in faults))
    return str(paths["target"]), Path(paths["ratings"]), asked


def _as_option(name: str, value: Any) -> Any:
    """The value of an argument in the form that the options of a gate have."""
    if name == "need_certainty":
        return value if isinstance(value, Mapping) else {"": value}
    if name in ("fail_on", "only"):
        return [value] if isinstance(value, str) else value
    return str(value) if isinstance(value, Path) else value
