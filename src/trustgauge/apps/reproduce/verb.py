"""The verb reproduce: the published tables, recomputed. Sends no requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.output import WORDS, Exit, emit_json, say, write_output

if TYPE_CHECKING:
    from trustgauge.apps.reproduce.paper_tables import PaperTable

WHAT = {
    "recomputed": "recomputed differ",
    "consistent": "cannot come from any inputs",
    "constant": "of ours differ",
}
"""What is wrong with figures of a kind; those of other kinds cannot be recomputed."""


@click.command("reproduce")
@click.argument("method", metavar="[METHOD]", default="all")
@click.argument("table", metavar="[TABLE]", required=False)
@click.option(
    "--data",
    multiple=True,
    metavar="[METHOD=]DIR",
    help="Folder with the public files of a paper's authors; repeatable. Adds figures recomputed from them.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Write an HTML page of all figures."
)
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Show every figure by every rule, and tracebacks of errors."
)
def reproduce_verb(
    method: str, table: str | None, data: tuple[str, ...], html: Path | None, **options: Any
) -> Exit:
    """Recompute the tables of the papers from their published figures. Sends no requests.

    METHOD is two-step, causal, social-bias, trust or all. A figure is recomputed from its inputs, only
    consistent with them, or a constant of ours, and agrees or differs; or it cannot be recomputed. A
    difference with a known reason is documented. Exits 10 if one is not.

    \b
    trustgauge reproduce
    trustgauge reproduce causal table-v -v
    trustgauge reproduce causal --data causal-sas-rating
    trustgauge reproduce all --data causal=causal-sas-rating --data two-step=ethics-share
    trustgauge reproduce --html reproduction.html
    """
    from trustgauge.apps.reproduce import page as reproduction
    from trustgauge.apps.reproduce.reproduction import document, folders, reproduce

    tables = reproduce(method, table, folders(method, data))
    report = document(tables)
    if options["as_json"]:
        emit_json(report)
    else:
        say(reproduction.text(report, every=options["verbose"]), options)
    if html is not None:
        write_output(html, reproduction.page(report), option="--html")
    return exit_of(tables)


def exit_of(tables: Sequence[PaperTable]) -> Exit:
    """The exit of a reproduction: 0 if every cell agrees or is a documented exception, else 10."""
    odd = [one.kind for table in tables for one in table.cells if not one.as_expected]
    if not odd:
        return Exit(0, WORDS[0])
    by_word = Counter(WHAT.get(kind, "cannot be recomputed") for kind in odd)
    each = ", ".join(f"{n:,} {word}" for word, n in by_word.items())
    return Exit(10, f"figures without a documented reason: {each}")
