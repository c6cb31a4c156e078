"""The verb import: chat logs and results of other tools as input."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click

from trustgauge import plugins
from trustgauge.terminal.output import emit_json, say_under_heads

READ = {
    "dialogs": {"dialogs": "dialogs", "user": "utterances of users", "bot": "answers"},
    "scores": {"scores": "scores"},
    "answers": {"questions": "questions", "groups": "groups", "properties": "properties"},
    "questions": {"groups": "groups", "properties": "properties"},
}
"""What the line about an imported plan counts, by its kind: count -> words."""
NOTES = (
    ("retried", "retried", "call that was", "calls that were", "{} made again; the last counts"),
    (
        "nested",
        "note",
        "call that contains",
        "calls that contain",
        "left out {} another with the same question",
    ),
    ("unreadable", "note", "call", "calls", "left out {} whose messages cannot be read"),
    ("cut", "note", "reply", "replies", "{} cut off or in no form that can be read; counted as missing"),
    ("others", "note", "call", "calls", "left out {} of other models or services"),
    ("history", "note", "message", "messages", "{} left out: history whose own calls the log does not hold"),
)
"""Lines about a chat log: what is counted, the head of the line, one and several of it, the line."""
ORIGINS = {"models": "--model", "services": "--service"}
"""What a log may hold several of, and the option that chooses one."""
MOST_NAMES = 5
DIALOG_ROLES = ("dialog", "speaker", "text", "turn", "question", "answer", "status")


@click.command("import")
@click.argument("form", metavar="FORMAT")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write. [default: imports/ and the name of FILE]",
)
@click.option("--system", default="", help="Name of what was evaluated, in place of the file's own.")
@click.option(
    "--model", default="", metavar="NAME", help="Read the calls of this model alone, of a chat log."
)
@click.option(
    "--service", default="", metavar="NAME", help="Read the calls of this service alone, of a chat log."
)
@click.option(
    "--column", "columns", multiple=True, metavar="ROLE=COLUMN", help="Column of a table; repeatable."
)
@click.option(
    "--lower", multiple=True, metavar="METRIC", help="Lower values of this metric are better; repeatable."
)
@click.option(
    "--range", "ranges", multiple=True, metavar="METRIC=LOW:HIGH", help="Scale of a metric; repeatable."
)
@click.option("--redact", "patterns", multiple=True, metavar="REGEX", help="Mask what matches; repeatable.")
@click.option("--force", is_flag=True, help="Replace whatever the folder holds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("--quiet", "-q", is_flag=True, help="Print only the folder.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks of errors.")
def import_verb(form: str, file: Path, folder: Path | None, **options: Any) -> None:
    """Read a chat log or the results of another evaluation tool. Sends no requests.

    \b
    trustgauge import otlp spans.jsonl -o helpdesk && trustgauge rate helpdesk/trustgauge.toml
    trustgauge import dialogs corpus.csv && trustgauge rate imports/corpus/trustgauge.toml
    trustgauge import translations table.csv --column sent=source --column received=back
    trustgauge import promptfoo output.json -o today
    trustgauge import csv scores.csv --column item=id --column value=grade
    trustgauge compare yesterday today --paired

    Chat logs: openai-jsonl, otlp, langfuse, phoenix. Results: inspect, promptfoo, lm-eval, garak, deepeval,
    and csv for any table with the columns item and value (and cluster, run, system, metric). Texts that
    were translated: translations, a table with the columns sent and received (and language, middle, block).
    Recorded dialogs: dialogs. Files of the papers' authors: dialogs (trust), translations (two-step), scores
    (causal), biasasker (social-bias: answers, or groups and properties to ask a chatbot about).
    Absent values count as missing. Keys and tokens are masked before anything is stored.
    """
    from trustgauge.apps.importers.importer import ConversationImporter, ImportOptions, import_file

    importer = plugins.load("importers", form, "FORMAT")
    only = {kind: options[kind] for kind in ("model", "service") if options[kind]}
    if only and not isinstance(importer, ConversationImporter):
        raise click.BadParameter(f"{form} is no chat log", param_hint=f"--{next(iter(only))}")
    where = folder or Path("imports") / (file.name.split(".")[0] or file.name)
    settings = ImportOptions(
        _columns(form, options["columns"]),
        options["lower"],
        {
            name: _span(written)
            for name, written in _pairs(options["ranges"], "--range", "METRIC=LOW:HIGH").items()
        },
        _patterns(options["patterns"]),
        options["system"],
        only=only,
    )
    document = import_file(importer, form, file, where, settings, force=options["force"])
    if options["as_json"]:
        emit_json(document)
    elif options["quiet"]:
        click.echo(str(where))
    else:
        _tell(document, where, options)


def _tell(document: dict[str, Any], folder: Path, options: dict[str, Any]) -> None:
    from trustgauge.reports.sanitize import count_with_noun
    from trustgauge.reports.sanitize import name as in_line

    counts = document["counts"]
    plan = quote(str(folder / document.get("plan", "")))
    if document["kind"] == "conversations":
        answers = counts["bot"] - counts["missing"]
        talks = count_with_noun(counts["dialogs"], "conversation", "conversations")
        text = f"{count_with_noun(counts['calls'], 'call', 'calls')}: {talks}, "
        text += f"{count_with_noun(answers, 'answer', 'answers')} of {in_line(document['systems'][0])}"
        following = f"trustgauge rate {plan}"
    elif document["kind"] == "translations":
        text = (
            f"{count_with_noun(counts['texts'], 'text', 'texts')} · translators: {len(document['systems'])}"
            f" · languages: {len(document['languages'])}"
        )
        following = f"trustgauge rate {plan}"
    elif document["kind"] in READ:
        known = [f"{counts[name]:,} {words}" for name, words in READ[document["kind"]].items()]
        text = ", ".join(known) + f" · services: {len(document['systems']):,}"
        verb = "plan" if document["kind"] == "questions" else "rate"
        following = f"trustgauge {verb} {plan}"
    else:
        named = document["systems"]
        text = f"{count_with_noun(counts['values'], 'value', 'values')} · systems: {len(named):,}"
        text += f" · metrics: {len(document['metrics']):,}"
        following = f"trustgauge compare BASELINE {quote(str(folder))} --paired"
        if len(named) > 1:
            first, second = (quote(f"{folder}::{name}") for name in named[:2])
            following = f"trustgauge compare {first} {second} --paired"
    missing = (
        f"{counts['missing']:,}; they count as missing, not as zero or empty" if counts["missing"] else "none"
    )
    lines = [("read", text), ("missing", missing)]
    lines += [
        (head, said.format(count_with_noun(counts[name], one, several)))
        for name, head, one, several, said in NOTES
        if counts.get(name)
    ]
    lines += [("note", _several(kind, document.get(kind, {}))) for kind in ORIGINS if _many(document, kind)]
    lines += [("note", note) for note in document.get("notes", ())]
    if counts["redacted"]:
        lines.append(("masked", f"keys, tokens and what --redact names in {counts['redacted']:,} texts"))
    lines += [("wrote", str(folder)), ("next", following)]
    say_under_heads(lines, options)


def _many(document: dict[str, Any], kind: str) -> bool:
    return sum(1 for name in document.get(kind, {}) if name) > 1


def _several(kind: str, calls: dict[str, int]) -> str:
    """That a log holds calls of several models or services, with their numbers."""
    named = sorted((name for name in calls if name), key=lambda name: -calls[name])
    listed = [f"{name} ({calls[name]:,})" for name in named[:MOST_NAMES]]
    listed += [f"{len(named) - MOST_NAMES:,} more"] if len(named) > MOST_NAMES else []
    listed += [f"without a name ({calls['']:,})"] if calls.get("") else []
    return (
        f"this log holds calls of {len(named):,} {kind}: {', '.join(listed)}; they are read as one service. "
        f"{ORIGINS[kind]} NAME reads one alone"
    )


def _columns(form: str, written: Sequence[str]) -> dict[str, str]:
    from trustgauge.apps.importers.eval_results import ROLES
    from trustgauge.services.recorded_trips import COLUMNS

    found = _pairs(written, "--column", "ROLE=COLUMN")
    roles = {"translations": tuple(COLUMNS), "dialogs": DIALOG_ROLES}.get(form, ROLES)
    for role in found:
        if role not in roles:
            must = f'the role must be one of: {", ".join(roles)}; got "{role}"'
            raise click.BadParameter(must, param_hint="--column")
    return found


def _pairs(written: Sequence[str], option: str, form: str) -> dict[str, str]:
    found = {}
    for one in written:
        name, equals, value = one.partition("=") if option == "--column" else one.rpartition("=")
        if not (name and equals and value):
            raise click.BadParameter(f'must be {form}; got "{one}"', param_hint=option)
        found[name] = value
    return found


def _span(written: str) -> tuple[float, float]:
    low, _, high = written.partition(":")
    try:
        span = float(low), float(high)
    except ValueError:
        span = math.nan, math.nan
    if not -math.inf < span[0] < span[1] < math.inf:
        raise click.BadParameter(
            f'must be METRIC=LOW:HIGH, the smaller first; got "{written}"', param_hint="--range"
        )
    return span


def _patterns(written: Sequence[str]) -> list[re.Pattern[str]]:
    found = []
    for one in written:
        try:
            found.append(re.compile(one))
        except re.error as error:
            raise click.BadParameter(
                f'no regular expression: "{one}": {error}', param_hint="--redact"
            ) from None
    return found
