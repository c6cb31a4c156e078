"""The verb ask: write questions for people to ask, read their answers."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.options import plan_of, plan_options
from trustgauge.terminal.output import say_or_emit

if TYPE_CHECKING:
    from trustgauge.apps.sheets.manual_answers import ExportSummary, ImportSummary

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("ask")
@click.argument("target", metavar="PLAN")
@click.argument("service")
@click.option(
    "--export", "export_to", type=_FILE, metavar="FILE", help="Write the questions still to be asked."
)
@click.option("--import", "import_from", type=_FILE, metavar="FILE", help="Import the answers.")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Export at most N questions.")
@click.option("--all", "every", is_flag=True, help="Also export answered questions, with their answers.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--fresh", is_flag=True, help="Import: into a new run, to correct answers or take some back.")
@click.option(
    "--by", default="", metavar="NAME", help="Import: who asked; a column `by` overrides it per row."
)
@plan_options
def ask_verb(target: str, service: str, **options: Any) -> None:
    """Rate a service without an API: export questions, import the answers.

    \b
    trustgauge ask trustgauge.toml assistant --export questions.csv --batch 50
    trustgauge ask trustgauge.toml assistant --import questions.csv --by "A. Tester"
    trustgauge rate trustgauge.toml

    FILE is CSV, TSV, JSON lines or XLSX. Fill in the column `answer`; ask each question, or the
    turns of each session in order, in a new chat. Empty rows stay pending; the same file may
    be imported again. A column `status` may mark a question without an answer text as empty,
    refused or unreadable. Pass the same options to --import as to --export.

    Stored answers are never changed. To correct some or take them back, --import --fresh a sheet with
    the right ones; --export --all writes what is stored.
    """
    from trustgauge.apps.sheets import manual_answers

    export_to, import_from = options["export_to"], options["import_from"]
    if (export_to is None) == (import_from is None):
        raise click.UsageError("give either --export FILE or --import FILE")
    if options["fresh"] and import_from is None:
        raise click.UsageError("--fresh goes with --import FILE")
    prepared = manual_answers.prepare(plan_of(target, options))
    if export_to is not None:
        batch = manual_answers.PendingRows(options["batch"], options["every"], options["force"])
        written = manual_answers.export(prepared, service, export_to, options["ratings"], batch)
        after = f"trustgauge ask {target} {service} --import {export_to}"
        say_or_emit(asdict(written), _exported(written, after), options)
        return
    now = datetime.now(UTC)
    source = manual_answers.SheetSource(options["by"], now, options["fresh"])
    taken = manual_answers.import_answers(prepared, service, import_from, options["ratings"], source)
    say_or_emit(asdict(taken), _imported(taken, target), options)


def _exported(done: ExportSummary, after: str) -> list[tuple[str, str]]:
    from trustgauge.reports.sanitize import count_with_noun

    rows = count_with_noun(done.rows, "question", "questions")
    said = f"{done.file}: {rows}; {done.pending:,} of {done.asked:,} are to be asked"
    return [("wrote", said), ("next", f"fill in the column answer, then {after}")]


def _imported(done: ImportSummary, target: str) -> list[tuple[str, str]]:
    from trustgauge.reports.sanitize import count_with_noun

    known = f", {done.known:,} were stored before" if done.known else ""
    lines = [("stored", f"{count_with_noun(done.new, 'new answer', 'new answers')} in {done.folder}{known}")]
    if done.encoding in ("GB18030", "Windows-1252"):
        said = f"the file is not UTF-8 and was read as {done.encoding}: look at a few answers"
        lines.append(("note", said))
    if done.waiting:
        waiting = count_with_noun(done.waiting, "answer", "answers")
        lines.append(("waiting", f"{waiting} whose chat is not answered to its end"))
    lines.append(("pending", f"{done.pending:,} of {done.asked:,} questions"))
    return lines if done.pending else [*lines, ("next", f"trustgauge rate {target}")]
