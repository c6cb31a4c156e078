"""The verb compose: what follows for a chain of rated services, and the test of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.options import access_options, confirm_plan, load_environment, output_options
from trustgauge.terminal.output import emit_json, exit_of, progress_display, say, show_result

if TYPE_CHECKING:
    from trustgauge.run.chain_composition import ComposedChain


@click.command("compose")
@click.argument("chain", metavar='"A > B > C"')
@click.option("--test", is_flag=True, help="Rate the chain and compare prediction and measurement.")
@click.option("--rule", type=click.Choice(["sound", "published"]), default="sound", show_default=True)
@click.option("--attribute", help="Attribute, if the services were rated for several.")
@click.option("--limit-calls", type=int, help="Maximum calls of the test.")
@click.option("--progress", type=click.Choice(["auto", "plain", "json", "none"]), default="auto")
@access_options
@output_options
def compose_verb(chain: str, test: bool, rule: Any, **options: Any) -> Any:
    """Infer the rating of a chain of rated services. Sends requests only with --test.

    \b
    trustgauge compose "apertium:es > apertium:ca"
    trustgauge compose "apertium:es > apertium:ca" --test
    """
    from trustgauge.run.chain_composition import compose_chain

    composed = compose_chain(chain, options["ratings"], datetime.now(UTC).date(), rule, options["attribute"])
    if not options["as_json"]:
        say([*inference_lines(composed), *([] if test else measured_lines(composed))], options)
    if not test:
        if options["as_json"]:
            emit_json(composed.facts(options["ratings"]))
        elif composed.inference.state != "inferred":
            say(_test_line(chain, composed, options["ratings"]), options)
        return None
    return _tested(composed, options)


def inference_lines(composed: ComposedChain) -> Any:
    """The inference in lines: result, steps, what the paper's table says, what stands against it."""
    from trustgauge.reports import sentences, terminal

    one = composed.inference
    levels = " or ".join(one.levels)
    shown = levels if one.state == "inferred" else f"({levels})"
    sure = _certainty(one.certainty, {} if one.state == "inferred" else one.certainties)
    lines = [
        terminal.line(
            "inferred", f"{shown}  {' > '.join(composed.names)}  · from {WAYS[one.way]} · certainty {sure}"
        )
    ]
    for link in composed.links:
        level = f"{link.level} ({link.state})" if link.level else link.state
        lines.append(terminal.line("part", f"{link.service}: {level}"))
    coarse = "" if one.fits_steps else "  · by the levels alone"
    for step in one.steps:
        said = f"{' or '.join(step.first)} then {step.second} gives {' or '.join(step.result)}"
        lines.append(terminal.line("step", said + coarse))
    if one.published != one.levels and composed.rule == "sound":
        lines.append(terminal.line("note", f"the published table says {' or '.join(one.published)}"))
    for reason in (*composed.notes, *composed.limits):
        lines.append(terminal.line("note", sentences.reason(reason)))
    for reason in one.must_test:
        lines.append(terminal.line("test", sentences.reason(reason)))
    return lines


def measured_lines(composed: ComposedChain) -> Any:
    """What a kept test of the whole chain gave, and whether the inference rules that out."""
    from trustgauge.reports import numbers, sentences, terminal

    if composed.measured is None:
        return []
    rating = composed.measured.rating
    level, tested = str(rating["overall"]["level"]), numbers.day(rating["tested"])
    known = rating["overall"]["certainty"]
    sure = _certainty(known.get(level, 0.0), {} if rating["state"] == "rated" else known)
    said = f"{level} ({rating['state']})  · {rating['id']}, tested {tested} · certainty {sure}"
    lines = [terminal.line("measured", said)]
    if (against := composed.contradiction) is not None:
        lines.append(terminal.line("note", sentences.reason(against)))
    return lines


def _certainty(share: float, every: Mapping[str, float]) -> str:
    """The certainty of a level; where `every` holds several above 1 %, that of each, most certain first."""
    from trustgauge.reports import numbers

    likely = sorted(((said, level) for level, said in every.items() if said > SHOWN), reverse=True)
    if len(likely) < 2:
        return numbers.certainty(share)
    sure = numbers.certainties(every)
    return ", ".join(f"{level} {sure[level]}" for _, level in likely)


SHOWN = 0.01
"""Certainty above which a level is named beside one that is not settled."""

VERDICTS = {
    True: "agrees",
    False: "disagrees",
    None: "too uncertain to say whether they agree",
}
"""What `agrees_with` says, in words."""

WAYS = {
    "rates": "the measured rates of all parts",
    "two-bit": "what each part does with balanced and with skewed input",
    "levels": "the levels alone",
    "published": "the paper's table 2",
}


def _test_line(chain: str, composed: ComposedChain, ratings: Path) -> Any:
    from trustgauge.reports import terminal
    from trustgauge.run.chain_composition import chain_forecast

    left = chain_forecast(composed, ratings)
    calls = composed.inference.calls if left is None else left.calls
    takes = f"{calls:,} calls" if calls else "no calls: all answers are stored"
    rule = "" if composed.rule == "sound" else f" --rule {composed.rule}"
    return [terminal.line("test it", f'trustgauge compose "{chain}" --test{rule}   {takes}')]


def _tested(composed: ComposedChain, options: dict[str, Any]) -> Any:
    """Rate the chain as a whole; say whether the inference held."""
    from trustgauge.plan import load_plan
    from trustgauge.reports import sentences, terminal
    from trustgauge.run.chain_composition import chain_plan
    from trustgauge.run.options import RunOptions
    from trustgauge.run.run import rate

    changes = {"budget": {"calls": options["limit_calls"]}} if options["limit_calls"] is not None else {}
    plan = load_plan(chain_plan(composed), changes)
    load_environment(plan.services.values())
    confirm_plan(plan, options)
    inferred = composed.facts(options["ratings"])  # before the test, which leaves no calls to send
    with progress_display(options) as watch:
        finished = rate(plan, RunOptions(ratings=options["ratings"], watch=watch))
    measured = finished.document["ratings"][0] if finished.document["ratings"] else None
    level, state = (measured["overall"]["level"], measured["state"]) if measured else (None, "")
    agrees = composed.inference.agrees_with(level, state)
    against = composed.inference.contradicted_by(level, state)
    if options["as_json"]:
        emit_json({"inferred": inferred, "measured": finished.document, "agrees": agrees})
    else:
        show_result(finished.document, finished.folder, options)
        predicted = " or ".join(composed.inference.levels)
        if level:
            predicted += "" if composed.inference.state == "inferred" else f" ({composed.inference.state})"
            said = f"inferred {predicted}, measured {level} ({state}): {VERDICTS[agrees]}"
            say([terminal.line("compare", said)], options)
        if against is not None:
            say([terminal.line("note", sentences.reason(against))], options)
    return exit_of(finished.document, finished.asked.refused)
