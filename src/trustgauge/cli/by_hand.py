"""The verbs for people's work: ask (questions out, answers in) and judge-check."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.cli.options import emit_json, load_environment, plan_of, say, shared_options

if TYPE_CHECKING:
    from trustgauge.pipeline.hand import Exported, Imported
    from trustgauge.pipeline.judge_asking import Asking
    from trustgauge.pipeline.judge_check import Checked

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("ask")
@click.argument("target", metavar="PLAN")
@click.argument("service")
@click.option("--export", "export_to", type=_FILE, metavar="FILE", help="Write what is still to be asked.")
@click.option("--import", "import_from", type=_FILE, metavar="FILE", help="Take the answers in.")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Export at most so many questions.")
@click.option("--all", "every", is_flag=True, help="Export also what is answered, with its answers.")
@click.option("--force", is_flag=True, help="Write over the file that is there.")
@click.option(
    "--by", default="", metavar="NAME", help="Import: who asked; a column `by` tells it row by row."
)
@shared_options
def ask_verb(target: str, service: str, **options: Any) -> None:
    """Ask a service that has no API: write the questions, read answers collected by hand.

    \b
    trustgauge ask trustgauge.toml assistant --export questions.csv --batch 50
    trustgauge ask trustgauge.toml assistant --import questions.csv --by "A. Tester"
    trustgauge rate trustgauge.toml

    FILE is CSV, TSV, JSON lines or XLSX. Fill in the column `answer`; ask each question, or the
    turns of each session in order, in a new chat. What is left empty stays to be asked; the same
    file may be imported again. A column `status` may say that a question got no words: empty,
    refused or unreadable. Give --import the options that --export got.
    """
    from trustgauge.pipeline import hand

    export_to, import_from = options["export_to"], options["import_from"]
    if (export_to is None) == (import_from is None):
        raise click.UsageError("give either --export FILE or --import FILE")
    prepared = hand.prepare(plan_of(target, options))
    if export_to is not None:
        batch = hand.Batch(options["batch"], options["every"], options["force"])
        written = hand.export(prepared, service, export_to, options["ratings"], batch)
        _tell(written, _exported(written, f"trustgauge ask {target} {service} --import {export_to}"), options)
        return
    now = datetime.now(UTC)
    taken = hand.import_answers(prepared, service, import_from, options["ratings"], by=options["by"], now=now)
    _tell(taken, _imported(taken, target), options)


def _tell(done: Exported | Imported, lines: list[tuple[str, str]], options: dict[str, Any]) -> None:
    """What was done, on stdout: one JSON document, or a line each."""
    from trustgauge.reports import text

    if options["as_json"]:
        emit_json(done.facts())
        return
    say([text.line(head, said) for head, said in lines], options)


def _exported(done: Exported, after: str) -> list[tuple[str, str]]:
    said = f"{done.file}: {done.rows:,} questions; {done.pending:,} of {done.asked:,} are to be asked"
    return [("wrote", said), ("next", f"fill in the column answer, then {after}")]


def _imported(done: Imported, target: str) -> list[tuple[str, str]]:
    known = f", {done.known:,} were kept before" if done.known else ""
    lines = [("kept", f"{done.new:,} new answers in {done.folder}{known}")]
    if done.encoding == "GB18030":
        lines.append(("note", "the file is not UTF-8 and was read as GB18030: look at a few answers"))
    if done.waiting:
        lines.append(("waiting", f"{done.waiting:,} answers whose chat is not answered to its end"))
    lines.append(("pending", f"{done.pending:,} of {done.asked:,} questions"))
    return lines if done.pending else [*lines, ("next", f"trustgauge rate {target}")]


@click.command("judge-check")
@click.argument("judge")
@click.argument("table")
@click.option("--split", default="", metavar="NAME", help="Only rows with NAME in the column split.")
@click.option("--groups", "group_table", type=_FILE, metavar="FILE", help="Groups that the table names.")
@click.option("--plan", "plan_file", type=_FILE, metavar="FILE", help="A plan that names SERVICE.")
@click.option("--keep", type=_FILE, metavar="FILE", help="Keep replies here; the same command goes on.")
@click.option("--limit-calls", type=int)
@click.option("--limit-usd", type=float)
@click.option("--limit-tokens", type=int)
@click.option("--limit-seconds", type=float)
@click.option("--progress", type=click.Choice(["auto", "plain", "json", "none"]), default="auto")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR says the same.")
@click.option("-v", "--verbose", is_flag=True, help="Tracebacks of errors.")
def judge_check_verb(judge: str, table: str, split: str, group_table: Path | None, **options: Any) -> Any:
    """Measure a judge of answers against a labelled table. Only a model is asked.

    \b
    trustgauge judge-check sound labelled.csv
    trustgauge judge-check released shipped --split held-out
    trustgauge judge-check embedding:glove.txt shipped
    trustgauge judge-check model:openai/gpt-4o-mini shipped --split held-out --limit-usd 1

    JUDGE is sound, published, released, embedding:PATH (vectors of words, or of sentences) or
    model:SERVICE (PROVIDER/MODEL, or a service of a plan).

    TABLE has the columns question, answer, language (en, zh), kind (choice, yes-no, why), group_a,
    group_b (ids of groups) and verdict; "shipped" stands for our own labelled answers.
    """
    from trustgauge.cli.exits import Exit
    from trustgauge.cli.progress import watching
    from trustgauge.pipeline.judge_check import check

    with watching(options) as watch:
        asking = _asking(options, watch)
        checked = check(judge, table, split=split, group_table=group_table, asking=asking)
    if options["as_json"]:
        emit_json(checked.facts())
    else:
        click.echo("\n".join(_judged(checked)))
    if checked.asked is None or not checked.asked.waiting:
        return None
    return Exit(4, f"incomplete: {checked.asked.stopped}; {checked.asked.waiting:,} answers were not judged")


def _asking(options: dict[str, Any], watch: Any) -> Asking:
    """How a judge that is a service is asked."""
    from trustgauge.execution.budget import Limits
    from trustgauge.pipeline.judge_asking import Asking
    from trustgauge.plan import load_plan

    load_environment()
    plan = load_plan(options["plan_file"]) if options["plan_file"] else None
    limits = Limits(*(options[f"limit_{name}"] for name in ("calls", "usd", "tokens", "seconds")))
    return Asking(plan, limits, watch, options["keep"])


SHARES = ("accuracy", "sensitivity", "specificity", "precision", "recall", "same")
"""What is printed of a judge, with 95 % intervals."""


def _judged(checked: Checked) -> list[str]:
    """The measures as a table: a row for each language and question type."""
    from trustgauge.reports import numbers
    from trustgauge.reports.inert import terminal

    split = f", {checked.split}" if checked.split else ""
    table = f"{terminal(checked.table)}{split}"
    lines = [f"{'judged':<9}{checked.pairs:,} labelled answers of {table}, by {terminal(checked.judge)}"]
    if told := checked.asked:
        spent = f"{told.calls:,} calls, {numbers.usd(told.usd)}"
        lines.append(
            f"{'asked':<9}{told.asked:,}, {told.kept:,} kept from before, {told.failed:,} failed: {spent}"
        )
    if not checked.rows:
        return lines
    heads = ["question", *SHARES, "kappa", "n", "unclear"]
    rows = [heads, *(_measures(row) for row in checked.rows)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    lines.append(
        f"{'note':<9}right or wrong as to whether an answer favours a group, with 95 % intervals; "
        "same: the very verdict of the label"
    )
    return lines


def _measures(row: Mapping[str, Any]) -> list[str]:
    from trustgauge.reports import numbers

    who = " ".join(dict.fromkeys((row["language"], row["kind"])))
    shares = [_share(row, name) for name in SHARES]
    kappa = numbers.NONE if row["kappa"] is None else f"{row['kappa']:.2f}"
    return [who, *shares, kappa, f"{row['n']:,}", f"{row['unclear']:,}"]


def _share(row: Mapping[str, Any], name: str) -> str:
    """A share with its interval: "97% (94 to 99)"."""
    from trustgauge.reports import numbers

    if row[name] is None:
        return numbers.NONE
    value, low, high = (
        numbers.percent(row[f"{name}{end}"], row["n"], tight=True) for end in ("", "_low", "_high")
    )
    return f"{value} ({low.removesuffix('%')} to {high.removesuffix('%')})"
