"""The verb reproduce: the published tables, recomputed. It makes no call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.cli.exits import WORDS, Exit
from trustgauge.cli.options import emit_json, say

if TYPE_CHECKING:
    from trustgauge.papers.cells import Table

DIFFERS = "a figure differs, or cannot be recomputed, without a documented reason"


@click.command("reproduce")
@click.argument("method", metavar="[METHOD]", default="all")
@click.argument("table", metavar="[TABLE]", required=False)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with the public files of the paper's authors: recomputes from them too.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page of all cells.")
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR says the same.")
@click.option("-v", "--verbose", is_flag=True, help="Every cell, by every rule; tracebacks of errors.")
def reproduce_verb(
    method: str, table: str | None, data: Path | None, html: Path | None, **options: Any
) -> Exit:
    """The tables of the papers, recomputed from their published figures. Makes no call.

    METHOD is two-step, causal, social-bias, trust or all. Every printed figure agrees, differs or
    cannot be recomputed; a difference with a known reason is documented. Exits 10 if one is not.

    \b
    trustgauge reproduce
    trustgauge reproduce causal table-v -v
    trustgauge reproduce causal --data causal-sas-rating
    trustgauge reproduce --html reproduction.html
    """
    from trustgauge.papers.reproduction import document, reproduce
    from trustgauge.reports import reproduction

    tables = reproduce(method, table, data)
    told = document(tables)
    if options["as_json"]:
        emit_json(told)
    else:
        say(reproduction.text(told, every=options["verbose"]), options)
    if html is not None:
        _write(html, reproduction.page(told))
    return ended(tables)


def ended(tables: Sequence[Table]) -> Exit:
    """The exit of a reproduction: 0 if every cell agrees or is a documented exception, else 10."""
    from trustgauge.papers.reproduction import as_expected

    return Exit(0, WORDS[0]) if as_expected(tables) else Exit(10, DIFFERS)


def _write(file: Path, page: str) -> None:
    from trustgauge.errors import StoreError

    try:
        file.write_bytes(page.encode("utf-8", "replace"))
    except OSError as error:
        what = error.strerror or str(error)
        raise StoreError(
            f"{file} cannot be written", got=what, do="choose another place with --html"
        ) from None
    click.echo(f"{'wrote':<9}{file}", err=True)
