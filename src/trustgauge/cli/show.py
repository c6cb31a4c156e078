"""The verb show: a view or an export of a rating."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from trustgauge import plugins
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import emit_json, say, write_output

DATED = ("html", "label", "badge", "shields")
"""Views that turn grey once a rating has expired."""


@click.command("show")
@click.argument("name", metavar="PLAN or ID", default="latest")
@click.option("--as", "form", default="text", show_default=True, help="See `trustgauge list exports`.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of stdout.",
)
@output_options
def show_verb(name: str, form: str, output: Path | None, **options: Any) -> None:
    """Show or export a rating; of a PLAN that of its newest run. Sends no requests.

    \b
    trustgauge show latest --as html -o report.html
    trustgauge show TG-2026-1122-7f3a --as label -o label.svg
    """
    from trustgauge.catalogue import explaining_errors, find_folder, read, select_rating, unfinished_run
    from trustgauge.reports import terminal
    from trustgauge.terminal.plan_runs import run_of_target

    name = run_of_target(name, options)
    folder = find_folder(name, options["ratings"])
    if options["as_json"] and (run := unfinished_run(folder)) is not None:
        emit_json(run.facts())
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
        evidence = evidence_of(folder, [str(one["id"]) for one in document["ratings"]], form)
        with explaining_errors(folder):
            data = export(document, evidence, **more)
    write_output(output, data)


def evidence_of(folder: Path, ratings: Sequence[str], form: str) -> Any:
    """The texts sent and received by these ratings, for the views that show them; None for the others."""
    if form not in ("html", "csv", "evidence-csv", "parquet"):
        return None
    from trustgauge.run.verify import evidence_of_ratings

    return evidence_of_ratings(folder, ratings)
