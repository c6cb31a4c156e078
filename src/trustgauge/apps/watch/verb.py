"""The verb watch: re-rate on a schedule or from a growing log, and tell when a settled level changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import PlanError
from trustgauge.terminal.options import access_options, confirm_plan, plan_of, plan_options
from trustgauge.terminal.output import (
    Exit,
    emit_json,
    exit_of,
    first_exit,
    progress_display,
    say,
    say_or_emit,
    say_under_heads,
)

if TYPE_CHECKING:
    from trustgauge.apps.watch.watcher import LookOutcome, Watcher, WatchOptions
    from trustgauge.plan import Plan

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
MOST_LOOKS = 400


class Period(click.ParamType[float]):
    """A number and a unit: "30m", "12h", "7d", "2w"."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds. A bare number has no unit, so it is refused."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", str(value).strip())
        seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is no period. Must be a number and a unit, such as 30m, 12h, 7d or 2w.")
        return seconds


@click.command("watch")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@click.option("--every", type=Period(), metavar="PERIOD", help="Interval between ratings: 12h, 7d, 2w.")
@click.option(
    "--log", type=click.Path(path_type=Path, dir_okay=False), help="Rate this transcript while it grows."
)
@click.option(
    "--grown",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="New chatbot utterances needed before a log is rated again.",
)
@click.option(
    "--looks",
    type=click.IntRange(2, MOST_LOOKS),
    default=52,
    show_default=True,
    help="Number of looks the error rate is split over; later looks report no changes.",
)
@click.option("--once", is_flag=True, help="Rate once, for cron; exit 10 if a level got worse.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="[METHOD:]LEVEL",
    help="Also report each look that is settled at this level (BS, high) or worse, as `rate --fail-on` does; "
    "repeatable.",
)
@click.option(
    "--notify", metavar="COMMAND", help="Program that gets each change as JSON on stdin; run without a shell."
)
@click.option(
    "--yes",
    is_flag=True,
    envvar="TRUSTGAUGE_YES",
    help="Watch even if the estimate of a look exceeds a limit.",
)
@click.option(
    "--progress",
    type=click.Choice(["auto", "plain", "json", "none"]),
    default="none",
    show_default=True,
    envvar="TRUSTGAUGE_PROGRESS",
)
@access_options
@plan_options
def watch_verb(target: str | None, **options: Any) -> Any:
    """Rate repeatedly and report when a settled level changes.

    \b
    trustgauge watch trustgauge.toml --every 7d
    trustgauge watch trustgauge.toml --once --notify ./tell-us.sh
    trustgauge watch trustgauge.toml --every 1d --fail-on worst --notify ./tell-us.sh
    trustgauge watch trustgauge.toml --log transcript.jsonl
    """
    from trustgauge.apps.watch.notify import check_program, split_command
    from trustgauge.apps.watch.watcher import Watcher, WatchOptions
    from trustgauge.run.prepare import check_gate
    from trustgauge.run.targets import methods

    if options["every"] is None and options["log"] is None and not options["once"]:
        raise click.UsageError("when to look? Give --every PERIOD, --log FILE, or --once.")
    hook = split_command(options["notify"]) if options["notify"] is not None else []
    if hook:
        check_program(hook)
    plan = plan_of(target, options)
    check_gate(methods(plan), options["fail_on"])
    confirm_plan(plan, options)
    with progress_display(options) as progress:
        terms = WatchOptions(
            options["ratings"],
            options["looks"],
            every=options["every"],
            log=options["log"],
            grown=options["grown"],
            progress=progress,
            fail_on=options["fail_on"],
        )
        with Watcher(plan, terms) as watch:
            if terms.log is None:
                _within_limits(plan, terms, yes=options["yes"])
            if options["once"]:
                return _once(watch, hook, options)
            _announce(watch, options)
            watch.run(lambda seen: _tell(seen, hook, options))
    return None


def _within_limits(plan: Plan, terms: WatchOptions, *, yes: bool) -> None:
    """Refuse a plan of which one look would go beyond a limit: nobody sits there to be asked."""
    from trustgauge.run.options import RunOptions
    from trustgauge.run.prepare import forecast, prepare

    run_options = RunOptions(terms.ratings, fresh=True)
    over = forecast(prepare(plan, run_options), run_options).over(plan.budget.model_dump())
    if over and not yes:
        do = "--yes lets every look run up to the limit"
        raise PlanError.of("budget", "a look would exceed a limit", got="; ".join(over), do=do)


def _once(watch: Watcher, hook: list[str], options: dict[str, Any]) -> Exit | None:
    """One look; its exit code says whether a settled level became worse."""
    due = watch.terms.log is None or watch.due() == 0
    if not due and not watch.state.untold:
        _wait(watch, options)
        return None
    seen = watch.look() if due else watch.pending_changes()
    _tell(seen, hook, options)
    watch.mark_reported()
    if seen.error is not None:
        raise seen.error
    reached = [Exit(0, "done")]
    if seen.finished is not None:
        reached.append(exit_of(seen.finished.document, seen.finished.asked.refused))
    worse = [one for one in seen.event["changes"] if one["direction"] == "worse"]
    if worse:
        named = ", ".join(dict.fromkeys(one["service"] for one in worse))
        reached.append(Exit(10, f"gate failed: the level of {named} has changed for the worse"))
    return first_exit(reached)


def _wait(watch: Watcher, options: dict[str, Any]) -> None:
    """Say that a log has not grown enough."""
    new, wanted = watch.new(), watch.terms.grown
    facts = {"event": "waiting", "watch": watch.key, "new": new, "wanted": wanted}
    say_or_emit(facts, [("waits", f"{new} of {wanted} new utterances of the bot")], options)


def _announce(watch: Watcher, options: dict[str, Any]) -> None:
    """Say what is watched, and what is promised."""
    from trustgauge.apps.watch import sentences
    from trustgauge.apps.watch.state import ERROR

    if options["quiet"] or options["as_json"]:
        return
    promise = f"{watch.plan.name} · {sentences.promise(watch.terms.looks, ERROR)}"
    page = str(watch.terms.ratings / "watch.html")
    say_under_heads([("watch", promise), ("page", page)], options, err=True)


def _tell(seen: LookOutcome, hook: list[str], options: dict[str, Any]) -> None:
    """A look on stdout, its troubles on stderr, and every change to the user's program."""
    from trustgauge.apps.watch import sentences
    from trustgauge.apps.watch.notify import notify
    from trustgauge.reports import terminal

    if options["as_json"] and options["once"]:
        emit_json(seen.event)
    elif options["as_json"]:
        click.echo(json.dumps(seen.event, ensure_ascii=False, sort_keys=True))
    else:
        lines = sentences.look_lines(seen.event)
        bad = len(seen.event["changes"]) + sum(one["fails"] for one in seen.event["series"])
        quiet = lines[len(lines) - bad :] if options["quiet"] else lines
        if quiet:
            say(quiet, options)
    if seen.error is not None and not options["once"]:
        say(terminal.problem(seen.error), options, err=True)
    for event in _reports(seen.event) if hook else ():
        if failed := notify(hook, event):
            say([terminal.line("note", f"--notify: {failed}", "warn")], options, err=True)


def _reports(look: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What a program hears of a look: its changes, and the ratings that `--fail-on` does not allow."""
    yield from look["changes"]
    facts = {name: look[name] for name in ("watch", "look", "looks", "run")}
    for one in look["series"]:
        if one["fails"]:
            yield {"event": "level", **facts, **{name: one[name] for name in one if name != "fails"}}
