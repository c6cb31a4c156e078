"""The verb compare: ratings beside each other. It makes no call."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import click

from trustgauge.cli.options import emit_json, say, with_places
from trustgauge.records import Rule, State

FORMS = ("text", "html", "json", "csv")


@click.command("compare")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--rule", type=click.Choice(get_args(Rule)), help="Only ratings under this rule.")
@click.option(
    "--state", "states", type=click.Choice(get_args(State)), multiple=True, help="Only these; repeatable."
)
@click.option("--differences", is_flag=True, help="Only what differs, in text.")
@click.option("--as", "form", type=click.Choice(FORMS), default="text", show_default=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A file instead of stdout."
)
@with_places
def compare_verb(names: tuple[str, ...], form: str, output: Path | None, **options: Any) -> None:
    """Ratings beside each other, with ties; two dates of one service. Makes no call.

    Without an id: all ratings of the folder.

    \b
    trustgauge compare
    trustgauge compare TG-2026-1122-7f3a TG-2026-1201-0c55
    trustgauge compare --as html -o comparison.html
    """
    from trustgauge.pipeline.comparison import Wanted, compare

    links = output.parent if output is not None else Path.cwd()
    wanted = Wanted(names, options["rule"] or "", options["states"], links)
    document = compare(options["ratings"], wanted, datetime.now(UTC).date())
    if form == "text" and options["as_json"]:
        form = "json"
    if output is None and form == "text":
        from trustgauge.reports import comparison

        say(comparison.text(document, differences_only=options["differences"]), options)
    elif output is None and form == "json":
        emit_json(document)
    else:
        _send(_form(document, form, differences=options["differences"]), output)


def _form(document: Any, form: str, *, differences: bool) -> bytes:
    """The comparison in one of FORMS."""
    from trustgauge.reports import comparison, comparison_page, text

    match form:
        case "html":
            return comparison_page.page(document).encode("utf-8", "replace")
        case "csv":
            return comparison.csv(document)
        case "json":
            return (json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode(
                "utf-8", "replace"
            )
    return (text.plain(comparison.text(document, differences_only=differences)) + "\n").encode()


def _send(data: bytes, output: Path | None) -> None:
    from trustgauge.errors import StoreError

    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        what = error.strerror or str(error)
        raise StoreError(f"{output} cannot be written", got=what, do="choose another place with -o") from None
    click.echo(f"{'wrote':<9}{output}", err=True)
