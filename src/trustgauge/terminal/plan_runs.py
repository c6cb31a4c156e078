"""The run that a command means by the file of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trustgauge.catalogue import index, read, unfinished_runs
from trustgauge.errors import PlanError, StoreError
from trustgauge.plan import Plan
from trustgauge.terminal.options import plan_of

SHOWN = 5  # runs that are named


def run_of_target(target: str, options: dict[str, Any], *, other_than: str = "") -> str:
    """A target as it is; of a plan's file the folder of its newest run.

    Args:
        target: a plan, a run, or whatever else a command takes.
        options: of the command.
        other_than: name of a run that is not meant: what is held against itself has never changed.

    Raises:
        PlanError: the plan has no run as it stands; runs by its name with other settings are named.
    """
    if Path(target).suffix != ".toml":
        return target
    plan, ratings = plan_of(target, options), options["ratings"]
    runs = [(run.started, name) for name, run in index(ratings).items() if run.plan == plan.hash]
    runs += [(run.began, run.folder.name) for run in unfinished_runs(ratings) if run.plan == plan.hash]
    if meant := [run for run in runs if run[1] != other_than]:
        return str(ratings / max(meant)[1])
    what, do = "no run of this plan", f"`trustgauge rate {target}` makes one"
    if runs:
        raise PlanError.of(target, f"{what} but {other_than}, which is gated", do=do)
    if others := _other_runs(plan, ratings):
        what += " as it stands: it was rated with other options, or has changed since"
        raise PlanError.of(target, what, must=f"one of: {', '.join(others)}", do=f"Name a run; or {do}")
    raise PlanError.of(target, what, do=do)


def _other_runs(plan: Plan, ratings: Path) -> Sequence[str]:
    """Runs of other plans by the same name, newest first, each with its seed if that is another."""
    known = sorted(index(ratings).items(), key=lambda one: one[1].started, reverse=True)
    found: list[str] = []
    for name, _ in known:
        try:
            run = read(ratings / name)["run"]
        except StoreError:
            continue
        if run["name"] == plan.name:
            found.append(name if run["seed"] == plan.seed else f"{name} (seed {run['seed']})")
        if len(found) == SHOWN:
            break
    return found
