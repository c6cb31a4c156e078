"""Confirming what a plan sends and runs, before anything is sent or run.

A plan may name a host that is not the provider's, a program or a module. The user sees the list once;
what was confirmed is remembered by the hash of the plan and of the list.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from trustgauge.plan import Plan


def access_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every verb that asks services."""
    for option in (
        click.option("--no-commands", is_flag=True, help="Refuse plans that run programs or Python code."),
        click.option(
            "--trust",
            is_flag=True,
            envvar="TRUSTGAUGE_TRUST",
            help="Confirm what the plan sends and runs without a prompt.",
        ),
    ):
        function = option(function)
    return function


def confirm_plan(plan: Plan, options: Mapping[str, Any]) -> None:
    """Let the user confirm what asking the services of a plan reaches; see `confirm`."""
    confirm(plan.services, plan.hash, options)


def confirm(services: Mapping[str, Any], mark: str, options: Mapping[str, Any]) -> None:
    """Let the user confirm to which other hosts services send keys, and what they run.

    Without a terminal nothing is asked: the plan is refused unless `--trust` is given or it was confirmed.

    Args:
        services: name -> description.
        mark: hash of what names them; another hash is confirmed again.
        options: `trust` and `no_commands`.

    Raises:
        PlanError: it is not confirmed, or runs something although `--no-commands` is given.
    """
    from trustgauge.errors import Fault, PlanError
    from trustgauge.records import digest
    from trustgauge.reports.sanitize import terminal

    reached = ((name, part.access()) for name, one in services.items() for part in one.parts().values())
    needed = list(dict.fromkeys((name, access) for name, each in reached for access in each))
    runs = [(name, one) for name, one in needed if one.kind == "runs"]
    if options["no_commands"] and runs:
        faults = [Fault(f"services.{name}", str(one), must="nothing, by --no-commands") for name, one in runs]
        raise PlanError(tuple(faults))
    if not needed or options["trust"]:
        return
    mark = digest("access", [mark, sorted(f"{name}: {one}" for name, one in needed)])
    if mark in _confirmed():
        return
    lines = [terminal(f"{name} {one}") for name, one in needed]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        fault = Fault("services", "not confirmed", got="; ".join(lines), do="If that is meant, give --trust")
        raise PlanError((fault,))
    for line in lines:
        click.echo(f"{'confirm':<9}{line}", err=True)
    signal.siginterrupt(signal.SIGINT, True)  # else a library's handler lets Ctrl-C wait for Enter
    click.confirm("Is that meant?", abort=True, err=True)
    _remember(mark)


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "trustgauge" / "confirmed-plans"


def _confirmed() -> set[str]:
    try:
        return set(_file().read_text("ascii").split())
    except (OSError, UnicodeDecodeError):
        return set()


def _remember(mark: str) -> None:
    """Note what was confirmed; where that cannot be written, it is asked again next time."""
    try:
        _file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _file().touch(mode=0o600)
        with _file().open("a", encoding="ascii") as opened:
            opened.write(mark + "\n")
    except OSError:
        click.echo(f"{'note':<9}{_file()} cannot be written: it is asked again next time", err=True)
