"""How a live chat ends: it is rated as a run of its own, and its last lines say what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trustgauge.apps.chat import lines as words
from trustgauge.errors import TrustgaugeError
from trustgauge.methods.trust.profiles import PUBLISHED, title
from trustgauge.reports import numbers, sentences
from trustgauge.run import rate_transcript
from trustgauge.run.options import RunOptions
from trustgauge.terminal.exits import WORDS, Exit
from trustgauge.terminal.options import emit_json
from trustgauge.terminal.progress import progress_display

if TYPE_CHECKING:
    from trustgauge.apps.chat.console import Console
    from trustgauge.plan import Plan
    from trustgauge.run.run import RunResult


def end(console: Console, *, probe: bool) -> Exit | None:
    """Rate what was said, print what it came to, and say how the command ends.

    Args:
        console: whose talk is over.
        probe: whether the bot is asked for planted secrets first.
    """
    finished = save(console, probe=probe)
    if console.options["as_json"]:
        emit_json(finished.document if finished else {"chat": console.chat.id, "ratings": []})
    if finished is None:
        failed = [one for one in console.talk.exchanges if one.outcome == "failed"]
        return Exit(3, f"{failed[-1].error}; {WORDS[3].rpartition('; ')[2]}") if failed else None
    run = finished.document["run"]
    refused = "; ".join(f"{part}: {why}" for part, why in finished.asked.refused.items())
    if run["state"] == "void":
        return Exit(1, WORDS[1])
    if refused:
        return Exit(3, refused)
    return Exit(4, f"incomplete: {run['stopped']}; {WORDS[4].partition('; ')[2]}") if run["stopped"] else None


def save(console: Console, *, probe: bool = False) -> RunResult | None:
    """Write the run folder of what was said so far; None if the bot said nothing."""
    if not any(one.spoke for one in console.talk.exchanges):
        console.tell([words.note("the bot has said nothing, so there is nothing to rate")])
        return None
    plan = _plan(console, probe=probe)
    kind = "none" if console.view.quiet or console.options["as_json"] else "plain"
    with progress_display({**console.options, "progress": kind}) as watch:
        finished = rate_transcript.rate(plan, RunOptions(ratings=console.options["ratings"], watch=watch))
    known = dict.fromkeys([*console.chat.runs, finished.folder.name])
    console.chat = console.chat.changed(runs=tuple(known))
    _tell(console, finished, probed=probe)
    return finished


def _plan(console: Console, *, probe: bool) -> Plan:
    """The plan that rates the talk for the profile first and the others after it."""
    chat = console.chat
    every = [chat.profile, *(name for name in (*PUBLISHED, *console.trust.orders) if _rates(console, name))]
    settings = {**chat.experiment, "profiles": list(dict.fromkeys(every))}
    top: dict[str, Any] = {**chat.top, "seed": chat.seed}
    if not probe:
        top["budget"] = {}  # what was said is read and not asked again
        return rate_transcript.plan_of(chat.transcript, chat.service, settings, top=top)
    calls = rate_transcript.write_scenes(console.trust, chat.seed, chat.scenes)
    console.tell([words.note(f"{numbers.count(calls)} calls for leakage; Ctrl-C stops and keeps", "")])
    asked = {
        "dialogs": rate_transcript.dialogs_of(chat.transcript),
        "service": chat.settings,
        "scenes": str(chat.scenes),
    }
    return rate_transcript.probing_plan(asked, chat.service, settings, top)


def _rates(console: Console, profile: str) -> bool:
    """Whether a profile orders an issue that is measured."""
    try:
        return bool(console.trust.order_of(profile).issues)
    except TrustgaugeError:
        return False


def _tell(console: Console, finished: RunResult, *, probed: bool) -> None:
    """The last lines: the issues, the level, and where the rating lies."""
    document, profile = finished.document, console.chat.profile
    if document["run"]["state"] == "void":
        console.tell([words.note(sentences.controls(document["run"]["anchors"]), "bad")])
    else:
        rating = next(one for one in document["ratings"] if one["issue"]["attribute"] == profile)
        known = {part["key"]: part["level"] for part in rating["parts"] if part["level"]}
        now = console.now({name: known[name] for name in console.now().unknown if name in known})
        console.tell([words.ending(rating, probed)])
        console.tell(
            words.final(rating, title(profile), now.possible, now.unknown, (now.utterances, now.dialogs))
        )
    made = sum(1 for one in console.talk.exchanges if one.generated)
    if made:
        console.tell([words.note(f"{numbers.count(made)} of the turns were generated")])
    console.tell([[(f"{'saved':<9}", "head"), (document["run"]["id"], "strong")]])
    click.echo(f"{'report':<9}{finished.folder / 'report.html'}", err=True)
