"""The verbs that ask, or get ready to: init, check, plan, rate."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.consent import access_options, confirm_plan
from trustgauge.terminal.options import DEFAULT_PLAN, emit_json, plan_of, plan_options, say, show_result

if TYPE_CHECKING:
    from trustgauge.engine.events import RunAnnouncement
    from trustgauge.reports.terminal import PlanFacts
    from trustgauge.run.estimate import Estimate
    from trustgauge.run.options import AskPlan


LONG = 60.0  # seconds of asking from which on the power of a plan is worth the seconds it takes
"""Seconds from which on a run is told what it can find before it starts: that takes a second or two
of simulation. `trustgauge plan` always tells."""


@click.command("init")
@click.option("--demo", is_flag=True, help="Services of known truth; needs no network and nothing installed.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=DEFAULT_PLAN, show_default=True)
@click.option("--force", is_flag=True, help="Write over an existing plan.")
def init_verb(demo: bool, output: Path, force: bool) -> None:
    """Write a commented plan.

    \b
    trustgauge init --demo
    """
    from trustgauge.cli.init import write_plan

    said = write_plan(output, demo=demo, force=force)
    click.echo(f"{'wrote':<9}{output}: {said}")
    click.echo(f"{'next':<9}trustgauge rate{'' if output == DEFAULT_PLAN else f' {output}'}")


@click.command("check")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@access_options
@plan_options
def check_verb(target: str | None, **options: Any) -> Any:
    """Check a plan, then make one call to each service.

    \b
    trustgauge check trustgauge.toml
    """
    from trustgauge.run.run import prepare
    from trustgauge.run.smoke_test import smoke_test
    from trustgauge.terminal.exits import Exit

    plan = plan_of(target, options)
    confirm_plan(plan, options)
    results = smoke_test(prepare(plan))
    if options["as_json"]:
        emit_json([one.facts() for one in results])
    else:
        for one in results:
            click.echo(one.text())
    failed = [one.name for one in results if one.error]
    return Exit(3, f"{', '.join(failed)} did not answer; nothing rated") if failed else None


@click.command("plan")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@click.option("--fresh", is_flag=True, help="Count as if nothing was kept.")
@plan_options
def plan_verb(target: str | None, fresh: bool, **options: Any) -> None:
    """Calls, cost, time and the smallest effect a plan can find. Makes no call.

    \b
    trustgauge plan trustgauge.toml
    """
    from trustgauge.reports import terminal
    from trustgauge.run.options import RunOptions
    from trustgauge.run.run import forecast, prepare

    sitting = RunOptions(ratings=options["ratings"], fresh=fresh)
    prepared = prepare(plan_of(target, options), sitting)
    estimate = forecast(prepared, sitting)
    finds = [method.power(prepared.plan.seed) for method in prepared.methods]
    if options["as_json"]:
        emit_json({"plan": prepared.plan.hash, "estimate": estimate.facts(), "finds": finds})
        return
    say(
        terminal.plan([plan_facts(prepared, estimate, index, finds[index]) for index in _asked(prepared)]),
        options,
    )
    for line in judge_lines(estimate):
        say([line], options)
    for over in estimate.over(prepared.plan.budget.model_dump()):
        say([terminal.line("limit", over, "warn")], options)


@click.command("rate")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@click.option("--fresh", is_flag=True, help="Start a new run; copy nothing from earlier ones.")
@click.option("--yes", is_flag=True, envvar="TRUSTGAUGE_YES", help="Run although it goes beyond a limit.")
@click.option("--need-certainty", type=click.FloatRange(0, 1), envvar="TRUSTGAUGE_NEED_CERTAINTY")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="[METHOD:]LEVEL",
    envvar="TRUSTGAUGE_FAIL_ON",
    help="Exit 10 at this level or worse; `worst` is the last of any scale, METHOD:none leaves a method out. "
    "Repeatable: every method of the plan needs one.",
)
@click.option(
    "--progress",
    type=click.Choice(["auto", "plain", "json", "none"]),
    default="auto",
    envvar="TRUSTGAUGE_PROGRESS",
)
@click.option("--store", envvar="TRUSTGAUGE_STORE", help="Where a new run keeps answers: sqlite, or parquet.")
@click.option("--engine", envvar="TRUSTGAUGE_ENGINE", help="Who asks: local, or dask for several processes.")
@click.option("--workers", type=int, envvar="TRUSTGAUGE_WORKERS", help="Worker processes of dask.")
@click.option("--scheduler", envvar="TRUSTGAUGE_SCHEDULER", help="Address of a Dask cluster that runs.")
@click.option("--shared", envvar="TRUSTGAUGE_SHARED", help="Folder that all workers see.")
@access_options
@plan_options
def rate_verb(target: str | None, **options: Any) -> Any:
    """Ask, rate, and write ratings/<id>/. The same command resumes.

    \b
    trustgauge rate trustgauge.toml --limit-calls 2000
    trustgauge rate apertium/en-es --attribute gender
    """
    from trustgauge.run.options import RunOptions
    from trustgauge.run.run import check_gate, forecast, prepare, run
    from trustgauge.terminal.exits import exit_of
    from trustgauge.terminal.progress import progress_display

    plan = plan_of(target, options)
    sitting = RunOptions(ratings=options["ratings"], fresh=options["fresh"])
    prepared = prepare(plan, sitting)
    check_gate(prepared.methods, options["fail_on"])
    estimate = forecast(prepared, sitting)
    print_plan(prepared, estimate, options)
    confirm_plan(plan, options)
    with progress_display(options, announcement(prepared, estimate)) as watch:
        finished = run(
            prepared,
            RunOptions(
                ratings=options["ratings"],
                fresh=options["fresh"],
                watch=watch,
                fail_on=options["fail_on"],
                need_certainty=options["need_certainty"],
            ),
        )
    show_result(finished.document, finished.folder, options)
    refused = "; ".join(f"{part}: {why.rstrip('.')}" for part, why in finished.asked.refused.items())
    return exit_of(finished.document, refused)


def print_plan(prepared: AskPlan, estimate: Estimate, options: dict[str, Any]) -> None:
    """Say what will be asked; above a limit ask whether to go on, or demand --yes."""
    from trustgauge.errors import Fault, PlanError
    from trustgauge.reports import terminal

    if not (options["quiet"] or options["as_json"]):
        methods, seed, long = prepared.methods, prepared.plan.seed, estimate.seconds >= LONG
        finds = {index: methods[index].power(seed) if long else None for index in _asked(prepared)}
        facts = [plan_facts(prepared, estimate, index, found) for index, found in finds.items()]
        say(terminal.plan(facts), options, err=True)
        for line in judge_lines(estimate):
            say([line], options, err=True)
    over = estimate.over(prepared.plan.budget.model_dump())
    if not over or options["yes"]:
        return
    said = "; ".join(over)
    if sys.stdin.isatty() and sys.stderr.isatty():
        signal.siginterrupt(signal.SIGINT, True)  # else a library's handler lets Ctrl-C wait for Enter
        click.confirm(f"{said}. It stops at the limit and keeps everything. Go on?", abort=True, err=True)
        return
    fault = Fault("budget", "the run would go beyond a limit", got=said, do="--yes runs it up to the limit")
    raise PlanError((fault,))


def announcement(prepared: AskPlan, estimate: Estimate) -> RunAnnouncement:
    """What was said of a run, which its progress is held against."""
    from trustgauge.engine.budget import BudgetLimits
    from trustgauge.engine.events import RunAnnouncement

    caps = prepared.plan.budget
    limits = BudgetLimits(caps.calls, caps.usd, caps.tokens, caps.seconds, before=estimate.spent)
    judging = sum(one.seconds for one in estimate.judging)  # which begins when all is asked
    return RunAnnouncement(estimate.seconds - judging, estimate.units, limits)


def judge_lines(estimate: Estimate) -> list[Any]:
    """A line for each second judge: how often it will be asked, at most."""
    from trustgauge.reports import numbers, terminal

    lines = []
    for one in estimate.judging:
        calls, further = numbers.count(one.calls), numbers.count(one.further)
        said = f"of these calls, {calls} to {one.service}"
        if one.refer == "all":
            said += " at most, as equal answers are judged once"
        elif one.further:
            said += (
                f"; and {further} more at most ({numbers.usd(one.most_usd - one.usd)}), if no answer can be "
                "read by rule"
            )
        lines.append(terminal.line("judge", said))
    return lines


def _asked(prepared: AskPlan) -> list[int]:
    """The experiments that ask somebody."""
    return list(dict.fromkeys(one.experiment for one in prepared.subjects if one.control is None))


def plan_facts(prepared: AskPlan, estimate: Estimate, index: int, finds: Any) -> PlanFacts:
    """What the plan lines say of one experiment."""
    from trustgauge.reports.terminal import PlanFacts
    from trustgauge.run.probe_batches import count_blocks

    method = prepared.methods[index]
    mine = [one for one in prepared.subjects if one.experiment == index and one.control is None]
    by_service = dict.fromkeys(one.service for one in mine)
    found = [count_blocks(prepared.probes, place) for place in prepared.probes if place[0] == index]
    return PlanFacts(
        services=list(by_service),
        method=method.name,
        attribute=method.issue,
        blocks=max(found),
        texts=method.texts,
        rule=method.rule,
        calls=estimate.calls,
        kept=estimate.kept,
        seconds=estimate.seconds,
        usd=estimate.usd,
        parts=max(len({one.part for one in mine if one.service == name}) for name in by_service),
        effect=(finds or {}).get("deff_1"),
        limit_usd=prepared.plan.budget.usd,
        tokens=estimate.tokens,
        unpriced=estimate.unpriced,
        untimed=estimate.untimed,
        timed_in=estimate.timed_in,
    )
