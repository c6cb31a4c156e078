"""The verb rate: ask the services of a plan and rate their answers."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import PlanError
from trustgauge.terminal.options import DEFAULT_PLAN, access_options, confirm_plan, plan_of, plan_options
from trustgauge.terminal.output import (
    asking_experiments,
    best_cases,
    computing,
    exit_of,
    judge_lines,
    plan_facts,
    progress_display,
    say,
    show_result,
    simulated_effects,
)

if TYPE_CHECKING:
    from trustgauge.engine import RunAnnouncement
    from trustgauge.plan import Plan
    from trustgauge.run.cost import Estimate
    from trustgauge.run.options import AskPlan


LONG = 60.0  # seconds of asking from which on the power of a plan is worth the seconds it takes
"""Seconds from which on a run says what it can find before it starts: that takes a second or two
of simulation. Whether it can settle the best level is said of what costs money too. `trustgauge plan`
always tells both."""


@click.command("rate")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@click.option("--fresh", is_flag=True, help="Start a new run without reusing earlier answers.")
@click.option(
    "--yes", is_flag=True, envvar="TRUSTGAUGE_YES", help="Run even if the estimate exceeds a limit."
)
@click.option("--need-certainty", type=click.FloatRange(0, 1), envvar="TRUSTGAUGE_NEED_CERTAINTY")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="[METHOD:]LEVEL",
    envvar="TRUSTGAUGE_FAIL_ON",
    help="Exit 10 at this level (BS, high) or worse; `worst` is the last of any scale, METHOD:none exempts a "
    "method. Repeatable: every method of the plan needs one.",
)
@click.option(
    "--progress",
    type=click.Choice(["auto", "plain", "json", "none"]),
    default="auto",
    envvar="TRUSTGAUGE_PROGRESS",
)
@click.option(
    "--store", envvar="TRUSTGAUGE_STORE", help="Store for the answers of a new run: sqlite or parquet."
)
@click.option(
    "--engine",
    envvar="TRUSTGAUGE_ENGINE",
    help="Engine that sends requests: local, or dask for several processes.",
)
@click.option("--workers", type=int, envvar="TRUSTGAUGE_WORKERS", help="Number of Dask worker processes.")
@click.option("--scheduler", envvar="TRUSTGAUGE_SCHEDULER", help="Address of a running Dask cluster.")
@click.option("--shared", envvar="TRUSTGAUGE_SHARED", help="Folder that all workers can access.")
@access_options
@plan_options
def rate_verb(target: str | None, **options: Any) -> Any:
    """Run a plan and write ratings/<id>/. The same command resumes.

    \b
    trustgauge rate trustgauge.toml --limit-calls 2000
    trustgauge rate apertium/en-es --attribute gender
    """
    from trustgauge.run.options import RunOptions
    from trustgauge.run.prepare import check_gate, forecast, prepare
    from trustgauge.run.run import run

    plan = plan_of(target, options)
    run_options = RunOptions(
        ratings=options["ratings"],
        fresh=options["fresh"],
        fail_on=options["fail_on"],
        need_certainty=options["need_certainty"],
    )
    if lock := lock_of(target, plan):
        run_options = replace(run_options, lock=lock)
    ask_plan = prepare(plan, run_options)
    check_gate(ask_plan.methods, options["fail_on"])
    estimate = forecast(ask_plan, run_options)
    print_plan(ask_plan, estimate, options)
    confirm_plan(plan, options)
    with progress_display(options, announcement(ask_plan, estimate)) as watch, computing(options) as show:
        finished = run(ask_plan, replace(run_options, watch=watch, show=show))
    show_result(finished.document, finished.folder, options)
    return exit_of(finished.document, finished.asked.refused)


def lock_of(target: str | None, plan: Plan) -> dict[str, str] | None:
    """What `trustgauge lock` recorded of a plan's file, if it did. Raises StoreError for another plan."""
    path = Path(target) if target else DEFAULT_PLAN
    if not path.with_name(f"{path.name}.lock").exists():
        return None
    from trustgauge.run.plan_lock import checked_lock

    return checked_lock(path, plan)


def print_plan(ask_plan: AskPlan, estimate: Estimate, options: dict[str, Any]) -> None:
    """Say what will be asked; above a limit ask whether to go on, or demand --yes."""
    from trustgauge.reports import terminal

    if not (options["quiet"] or options["as_json"]):
        asking = asking_experiments(ask_plan)
        is_long = estimate.seconds >= LONG
        finds = simulated_effects(ask_plan, asking, options, whole=False) if is_long else {}
        costs = is_long or estimate.usd or estimate.unpriced
        too_small = best_cases(ask_plan, asking, options) if costs else {}
        facts = [
            replace(plan_facts(ask_plan, estimate, index, finds.get(index)), best_case=too_small.get(index))
            for index in asking
        ]
        say(terminal.plan(facts), options, err=True)
        for line in judge_lines(estimate):
            say([line], options, err=True)
    over = estimate.over(ask_plan.plan.budget.model_dump())
    if not over or options["yes"]:
        return
    said = "; ".join(over)
    if sys.stdin.isatty() and sys.stderr.isatty():
        if hasattr(signal, "siginterrupt"):  # not on Windows
            signal.siginterrupt(signal.SIGINT, True)  # else a library's handler lets Ctrl-C wait for Enter
        click.confirm(f"{said}. It stops at the limit and keeps everything. Go on?", abort=True, err=True)
        return
    raise PlanError.of("budget", "the run would exceed a limit", got=said, do="--yes runs it up to the limit")


def announcement(ask_plan: AskPlan, estimate: Estimate) -> RunAnnouncement:
    """What was said of a run, with which its progress is compared."""
    from trustgauge.engine import BudgetLimits, RunAnnouncement

    caps = ask_plan.plan.budget
    limits = BudgetLimits(caps.calls, caps.usd, caps.tokens, caps.seconds, before=estimate.spent)
    judging = sum(one.seconds for one in estimate.judging)  # which begins when all is asked
    return RunAnnouncement(estimate.seconds - judging, estimate.units, limits)
