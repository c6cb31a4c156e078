"""The verb gate: passes, fails, or cannot tell. Sends no requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from trustgauge.errors import StoreError
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import Exit, emit_json, say, write_output

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("gate")
@click.argument("target", metavar="[PLAN or ID or IMPORTED]", default="latest")
@click.option(
    "--against",
    default="",
    metavar="BASELINE",
    help="Fail on a regression from this run, the newest other run of this plan, or these results.",
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="LEVEL",
    help="Fail at this level or worse, BS or high; METHOD:LEVEL for one method, or worst; repeatable.",
)
@click.option(
    "--need-certainty",
    multiple=True,
    metavar="SHARE",
    help="Certainty that is required; METHOD:SHARE for one method; repeatable.",
)
@click.option(
    "--at-least", multiple=True, metavar="METRIC=VALUE", help="Limit of a metric's mean; repeatable."
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    help="Smallest regression that matters, as a share of the scale.",
)
@click.option(
    "--error",
    type=click.FloatRange(0.0001, 0.2),
    default=0.005,
    show_default=True,
    help="Chance of calling an unchanged system changed, over all metrics.",
)
@click.option("--only", multiple=True, metavar="NAME", help="Check only this service or metric; repeatable.")
@click.option("--junit", type=FILE, help="Write JUnit XML; inconclusive checks are skipped, with the reason.")
@click.option("--sarif", type=FILE, help="Write SARIF 2.1.0; inconclusive checks are open.")
@click.option("--summary", type=FILE, help="Append a summary in Markdown.")
@output_options
def gate_verb(target: str, **options: Any) -> Exit:
    """Pass or fail a rating or imported results. Sends no requests.

    \b
    trustgauge gate latest --fail-on worst
    trustgauge gate trustgauge.toml --fail-on two-step:BS --need-certainty 0.95
    trustgauge gate today --against yesterday --junit gate.xml --summary gate.md
    trustgauge gate today --at-least exact_match=0.7

    PLAN means the newest run of this plan. Exits 0 if every check passes, 4 if too much is missing, else 10
    if one fails, even if another is inconclusive, else 5 if one is inconclusive.
    """
    from trustgauge.apps.gate import outputs
    from trustgauge.apps.gate.checks import CODES, GateOptions, checks, exit_of_checks
    from trustgauge.reports import sanitize, terminal
    from trustgauge.terminal.plan_runs import run_of_target

    target = run_of_target(target, options)
    asked = GateOptions(
        against=_baseline(options["against"], target, options),
        fail_on=options["fail_on"],
        need_certainty=_shares(options["need_certainty"]),
        at_least=_limits(options["at_least"]),
        margin=options["margin"],
        error=options["error"],
        only=options["only"],
    )
    found = checks(target, options["ratings"], asked, datetime.now(UTC).date())
    ended = exit_of_checks(found)
    if options["junit"]:
        write_output(options["junit"], outputs.junit(target, found), option="--junit")
    if options["sarif"]:
        write_output(options["sarif"], outputs.sarif(target, found), option="--sarif")
    if options["summary"]:
        _append(options["summary"], outputs.markdown(target, found))
    if options["as_json"]:
        rows = [
            {
                name: getattr(one, name)
                for name in ("about", "name", "kind", "outcome", "sentence", "following")
            }
            for one in found
        ]
        emit_json({"target": target, "exit": ended.code, "why": ended.why, "checks": rows})
    elif not options["quiet"]:
        heads = {
            "passed": "pass",
            "failed": "fail",
            "unsettled": "open",
            "incomplete": "lost",
            "void": "void",
        }
        lines = []
        for one in sorted(found, key=lambda one: -CODES[one.outcome]):
            lines.append(terminal.line(heads[one.outcome], sanitize.terminal(f"{one.name}: {one.sentence}")))
            lines += [
                terminal.line("", sanitize.terminal(row)) for row in one.examples if one.outcome == "failed"
            ]
            lines += [terminal.line("next", sanitize.terminal(one.following))] if one.following else []
        say(lines, options)
    return ended


def _baseline(named: str, target: str, options: dict[str, Any]) -> str:
    """What is compared with; of a plan its newest run that is not the gated one."""
    from trustgauge.catalogue import find_folder
    from trustgauge.data.results import is_results
    from trustgauge.terminal.plan_runs import run_of_target

    if Path(named).suffix != ".toml":
        return named
    gated = "" if is_results(target) else find_folder(target, options["ratings"]).name
    return run_of_target(named, options, other_than=gated)


def _append(path: Path, text: str) -> None:
    """Add to a file: a build's summary may have other parts."""
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise StoreError(f"{path} cannot be written", got=error.strerror or str(error)) from None
    click.echo(f"{'wrote':<9}{path}", err=True)


def _shares(written: Sequence[str]) -> dict[str, float]:
    """Certainties by method, "" for all."""
    found: dict[str, float] = {}
    for one in written:
        method, _, share = one.rpartition(":")
        _check_once(method, found, one, "--need-certainty")
        try:
            found[method] = float(share)
        except ValueError:
            found[method] = -1.0
        if not 0 < found[method] < 1:
            raise click.BadParameter(
                f'must be a share such as 0.95, or METHOD:0.95; got "{one}"', param_hint="--need-certainty"
            )
    return found


def _limits(written: Sequence[str]) -> dict[str, float]:
    """Limits by metric."""
    found: dict[str, float] = {}
    for one in written:
        metric, _, value = one.rpartition("=")
        _check_once(metric, found, one, "--at-least")
        try:
            found[metric] = float(value)
        except ValueError:
            metric = ""
        if not metric:
            raise click.BadParameter(f'must be METRIC=VALUE; got "{one}"', param_hint="--at-least")
    return found


def _check_once(name: str, found: Mapping[str, float], written: str, option: str) -> None:
    """Refuse a second limit of one thing: the first would not be checked."""
    if name in found:
        raise click.BadParameter(f'there is one already; got "{written}" too', param_hint=option)
