"""How a live chat ends: it is rated as a run of its own, and its last lines say what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trustgauge.apps.chat import lines as words
from trustgauge.methods.trust.profiles import title
from trustgauge.plan import Plan
from trustgauge.reports import numbers, sentences
from trustgauge.run import rate_transcript
from trustgauge.run.chat_store import probing_talk_plan, talk_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult
from trustgauge.terminal.output import WORDS, Exit, emit_json, progress_display

if TYPE_CHECKING:
    from trustgauge.apps.chat.session import ChatSession


def end(session: ChatSession, *, probe: bool) -> Exit | None:
    """Rate what was said, print what it came to, and say how the command ends.

    Args:
        session: whose talk is over.
        probe: whether the bot is asked for planted secrets first.
    """
    finished = save(session, probe=probe)
    if session.options["as_json"]:
        emit_json(finished.document if finished else {"chat": session.chat.id, "ratings": []})
    if finished is None:
        failed = [one for one in session.talk.exchanges if one.outcome == "failed"]
        return Exit(3, f"{failed[-1].error}; {WORDS[3].rpartition('; ')[2]}") if failed else None
    run = finished.document["run"]
    refused = "; ".join(f"{part}: {why}" for part, why in finished.asked.refused.items())
    if run["state"] == "void":
        return Exit(1, WORDS[1])
    if refused:
        return Exit(3, refused)
    return Exit(4, f"incomplete: {run['stopped']}; {WORDS[4].partition('; ')[2]}") if run["stopped"] else None


def save(session: ChatSession, *, probe: bool = False) -> RunResult | None:
    """Write the run folder of what was said so far; None if the bot said nothing."""
    if not any(one.spoke for one in session.talk.exchanges):
        session.tell([words.note("the bot has said nothing, so there is nothing to rate")])
        return None
    plan = _plan(session, probe=probe)
    kind = "none" if session.view.quiet or session.options["as_json"] else "plain"
    with progress_display({**session.options, "progress": kind}) as watch:
        finished = rate_transcript.rate(plan, RunOptions(ratings=session.options["ratings"], watch=watch))
    known = dict.fromkeys([*session.chat.runs, finished.folder.name])
    session.chat = session.chat.update(runs=tuple(known))
    _tell(session, finished, probed=probe)
    return finished


def _plan(session: ChatSession, *, probe: bool) -> Plan:
    """The plan that rates the talk for the profile first and the others after it."""
    chat = session.chat
    if not probe:
        return talk_plan(chat, session.trust)
    plan, calls = probing_talk_plan(chat, session.trust)
    session.tell([words.note(f"{numbers.count(calls)} calls for leakage; Ctrl-C stops and keeps", "")])
    return plan


def _tell(session: ChatSession, finished: RunResult, *, probed: bool) -> None:
    """The last lines: the issues, the level, and where the rating lies."""
    document, profile = finished.document, session.chat.profile
    if document["run"]["state"] == "void":
        session.tell([words.note(sentences.controls(document["run"]["anchors"]), "bad")])
    else:
        rating = next(one for one in document["ratings"] if one["issue"]["attribute"] == profile)
        known = {part["key"]: part["level"] for part in rating["parts"] if part["level"]}
        now = session.now({name: known[name] for name in session.now().unknown if name in known})
        session.tell([words.ending(rating, probed)])
        session.tell(
            words.final(rating, title(profile), now.possible, now.unknown, (now.utterances, now.dialogs))
        )
    made = sum(1 for one in session.talk.exchanges if one.generated)
    if made:
        verb = "was" if made == 1 else "were"
        session.tell([words.note(f"{numbers.count(made)} of the turns {verb} generated")])
    session.tell([[(f"{'saved':<9}", "head"), (document["run"]["id"], "strong")]])
    click.echo(f"{'report':<9}{finished.folder / 'report.html'}", err=True)
