"""The verbs that read what is kept: show, verify, list. They make no call."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from trustgauge.terminal.options import emit_json, output_options, say

DATED = ("html", "label", "badge", "shields")
"""Views that turn grey once a rating has expired."""


@click.command("show")
@click.argument("name", metavar="ID", default="latest")
@click.option("--as", "form", default="text", show_default=True, help="See `trustgauge list exports`.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file instead of stdout."
)
@output_options
def show_verb(name: str, form: str, output: Path | None, **options: Any) -> None:
    """Any view of a rating. Makes no call.

    \b
    trustgauge show latest --as html -o report.html
    trustgauge show TG-2026-1122-7f3a --as label -o label.svg
    """
    from trustgauge import plugins
    from trustgauge.catalogue import explaining_errors, find_folder, read, select_rating
    from trustgauge.reports import terminal

    folder = find_folder(name, options["ratings"])
    document = select_rating(read(folder), name)
    if form == "text" and options["as_json"]:
        form = "json"
    if form == "text":
        with explaining_errors(folder):
            lines = terminal.show(document)
        if output is None:
            say(lines, options)
            return
        data = (terminal.plain(lines) + "\n").encode()
    else:
        export = plugins.load("exports", form, "--as")
        more = {"today": datetime.now(UTC).date()} if form in DATED else {}
        evidence = evidence_of(folder, form)
        with explaining_errors(folder):
            data = export(document, evidence, **more)
    if output is None:
        sys.stdout.buffer.write(data)
    else:
        _write(output, data)
        click.echo(f"{'wrote':<9}{output}", err=True)


def evidence_of(folder: Path, form: str) -> Any:
    """The texts sent and received, for the views that show them; None for the others."""
    if form not in ("html", "csv", "evidence-csv", "parquet"):
        return None
    from trustgauge.run.verify import evidence_of_run

    return evidence_of_run(folder)


def _write(path: Path, data: bytes) -> None:
    from trustgauge.errors import StoreError

    try:
        path.write_bytes(data)
    except OSError as error:
        what = error.strerror or str(error)
        raise StoreError(f"{path} cannot be written", got=what, do="choose another place with -o") from None


@click.command("verify")
@click.argument("name", metavar="ID or FILE", default="latest")
@output_options
def verify_verb(name: str, **options: Any) -> Any:
    """Re-derive hashes, summaries and levels from the kept answers. Makes no call.

    \b
    trustgauge verify TG-2026-1122-7f3a
    """
    from trustgauge.catalogue import find_folder
    from trustgauge.reports import numbers
    from trustgauge.run.verify import verify
    from trustgauge.terminal.exits import Exit

    verdict = verify(find_folder(name, options["ratings"]), datetime.now(UTC).date())
    if options["as_json"]:
        emit_json(verdict.facts())
    elif not verdict.differences:
        until = f"{'expired' if verdict.expired else 'valid until'} {numbers.day(verdict.expires)}"
        click.echo(
            f"{'ok':<9}{verdict.answers:,} answers, {verdict.readings:,} readings, "
            f"{verdict.levels:,} levels re-derived; all equal · {until}"
        )
    for difference in verdict.differences:
        click.echo(f"{'differs':<9}{difference}", err=options["as_json"])
    if verdict.differences:
        return Exit(10, "verify disagrees with the rating that was issued")
    return None


@click.command("list")
@click.argument("what", required=False, default="ratings")
@output_options
def list_verb(what: str, **options: Any) -> None:
    """What there is: services, methods, attributes, anchors, languages, exports, ratings, schemas.

    \b
    trustgauge list services
    trustgauge list ratings --json
    """
    from trustgauge import plugins
    from trustgauge.cli.list import LISTS
    from trustgauge.errors import PlanError

    if what not in LISTS:
        raise PlanError((plugins.unknown("WHAT", "list", what, tuple(LISTS)),))
    rows = LISTS[what](options["ratings"])
    if options["as_json"]:
        emit_json(rows)
        return
    if isinstance(rows, dict):
        emit_json(rows)
        return
    for row in rows:
        click.echo("  ".join(str(value) for value in row.values() if value not in ("", None)))
    if not rows:
        click.echo(f"no {what}", err=True)
