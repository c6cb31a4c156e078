"""The published tables recomputed, in words: lines for a terminal, and a page.

Both are functions of one document (`trustgauge.reproduction/2`), whose tables and cells are plain
values. A verdict is a word everywhere; colour only repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.reports import components, html, numbers, sanitize
from trustgauge.reports.sanitize import terminal
from trustgauge.reports.terminal import Line, columns, line

Facts = Mapping[str, Any]

RULES = ("printed", "published", "released", "sound")
STYLES = {"agrees": "level1", "differs": "level2", "cannot be recomputed": "head"}
"""Style of each verdict in a terminal; a cell without a documented reason is `bad`."""
PAPERS = {
    "two-step": "The two-step paper",
    "causal": "The causal paper",
    "social-bias": "The social-bias paper",
    "trust": "The trust paper",
}
TOGETHER = 4  # cells with one reason that are shown one by one
KINDS = {"recomputed": "recomputed", "consistent": "consistent", "constant": "constant of ours"}
LOST = {"public": "with --data", "effort": "with effort", "unpublished": "not published"}
"""What it would take to recompute a figure; the last cannot be."""


def counts(tally: Facts) -> str:
    """Cells by kind and verdict: "recomputed: agrees 69, differs 3 (documented); not recomputed: 2"."""
    parts = [_checked(tally, kind) for kind in KINDS if sum(tally[kind].values())]
    lost = tally["cannot_be_recomputed"]
    if any(lost.values()):
        each = ", ".join(f"{LOST[kind]} {numbers.count(n)}" for kind, n in lost.items() if n)
        parts.append(f"cannot be recomputed: {numbers.count(sum(lost.values()))} ({each})")
    if unexplained := sum(tally["unexplained"].values()):
        parts.append(f"{numbers.count(unexplained)} without a documented reason")
    return "; ".join(parts)


def _checked(tally: Facts, kind: str) -> str:
    """One kind of check: "consistent: agrees 70, of all values 31 % would"."""
    agrees, differs = tally[kind]["agrees"], tally[kind]["differs"]
    line = f"{KINDS[kind]}: agrees {numbers.count(agrees)}"
    if differs:
        documented = "" if tally["unexplained"].get(kind) else " (documented)"
        line += f", differs {numbers.count(differs)}{documented}"
    return f"{line}, {share(tally['share'])}" if kind == "consistent" else line


def share(value: float) -> str:
    """The share of values that would be consistent: "of all values 31 % would"."""
    return f"of all values {numbers.percent(value)} would"


def figure(value: Any) -> str:
    """A figure as it is shown: six digits at most; a dash where a rule has none."""
    match value:
        case None:
            return numbers.NONE
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(figure(one) for one in value) if value else "none"
        case float():
            return f"{value:.6g}" if math.isfinite(value) else "X"
        case dict():
            return ", ".join(f"{key} {figure(one)}" for key, one in value.items())
    return str(value)


def sentence(reason: str) -> str:
    """A reason as a sentence."""
    return reason[:1].upper() + reason[1:].rstrip(".") + "." if reason else ""


def text(document: Facts, *, every: bool = False) -> list[Line]:
    """Lines for a terminal.

    Args:
        document: as `papers.reproduction.document` makes it.
        every: every cell with the figures of all rules, not only those that do not agree.
    """
    lines: list[Line] = []
    for table in document["tables"]:
        lines.append(
            [(f"{table['method']} {table['name']}", "strong"), (f"  {terminal(table['title'])}", "")]
        )
        lines += _every(table) if every else _odd(table)
        if every:
            lines += [line("note", one) for one in table["notes"]]
        lines += [line("cells", counts(table["counts"]), "head" if table["as_expected"] else "bad"), []]
    totals = document["totals"]
    cells, tables = (_several(totals[key], key) for key in ("cells", "tables"))
    said = f"{cells} in {tables}: {counts(totals)}"
    lines.append(line("total", said, "strong" if document["as_expected"] else "bad"))
    return lines


def _several(count: int, things: str) -> str:
    return f"{numbers.count(count)} {things if count != 1 else things.removesuffix('s')}"


def _odd(table: Facts) -> Iterator[Line]:
    """The cells that do not agree; many with one reason are shown together, but no unexplained difference."""
    groups: dict[tuple[str, str, bool], list[Facts]] = {}
    for cell in table["cells"]:
        if cell["verdict"] != "agrees":
            groups.setdefault((cell["verdict"], cell["reason"], cell["documented"]), []).append(cell)
    for (verdict, reason, documented), cells in groups.items():
        style = STYLES[verdict] if documented else "bad"
        head = "lost" if verdict == "cannot be recomputed" else verdict
        why = sentence(reason)
        if len(cells) > TOGETHER and (documented or head == "lost"):
            place = f"{cells[0]['row']}, {cells[0]['column']} and {len(cells) - 1} more"
            yield line(head, f"{place}. {why}", style)
            continue
        for cell in cells:
            yield line(head, f"{cell['row']}, {cell['column']}: {_figures(cell)}. {why}", style)


def _figures(cell: Facts) -> str:
    """The figures of a cell: "printed 1, published 3, released 3"."""
    known = [f"{rule} {figure(cell[rule])}" for rule in RULES if cell[rule] is not None]
    if cell["verdict"] == "cannot be recomputed":
        known.append("cannot be recomputed")
    return ", ".join(known) or "no figure"


def _every(table: Facts) -> Iterator[Line]:
    """All cells in columns; rules without a figure have no column."""
    rules = [rule for rule in RULES if any(cell[rule] is not None for cell in table["cells"])]
    heads = ["row", "column", *rules, "kind", "verdict"]
    rows = [
        [
            *(terminal(str(cell[key])) for key in ("row", "column")),
            *(terminal(figure(cell[rule])) for rule in rules),
            kind(cell),
        ]
        for cell in table["cells"]
    ]
    sizes = [max(columns(row[i]) for row in [heads[:-1], *rows]) for i in range(len(heads) - 1)]
    yield [(_joined(heads[:-1], sizes) + heads[-1], "head")]
    for row, cell in zip(rows, table["cells"], strict=True):
        agrees, documented = cell["verdict"] == "agrees", cell["documented"]
        style = STYLES[cell["verdict"]] if agrees or documented else "bad"
        why = f"  {terminal(sentence(cell['reason']))}" if cell["reason"] else ""
        yield [(_joined(row, sizes), ""), (cell["verdict"], style), (why, "")]


def kind(cell: Facts) -> str:
    """What a verdict rests on: "recomputed", "consistent, of all values 31 % would", "not published"."""
    if cell["share"] is not None:
        return f"{cell['kind']}, {share(cell['share'])}"
    rests: str = cell["kind"]
    return LOST.get(rests, rests)


def _joined(cells: Sequence[str], sizes: Sequence[int]) -> str:
    pairs = zip(cells, sizes, strict=True)
    return "".join(f"{cell}{' ' * (size - columns(cell))}  " for cell, size in pairs)


def page(document: Facts) -> str:
    """The page of a reproduction: one HTML file without a script.

    Args:
        document: as `papers.reproduction.document` makes it.
    """
    papers = [
        {"title": PAPERS.get(method, method), "tables": [_section(one) for one in tables]}
        for method, tables in groupby(document["tables"], lambda one: str(one["method"]))
    ]
    content = {
        "papers": papers,
        "totals": document["totals"],
        "as_expected": document["as_expected"],
        "policy": policy(),
        "style": Markup(html.style()),  # our own file
    }
    return _environment().get_template("reproduction.html.j2").render(content)


@cache
def policy() -> str:
    """The content policy: this file's own style, and no script at all."""
    return components.policy(html.style())


def _section(table: Facts) -> dict[str, Any]:
    """One table as its template needs it."""
    rules = [rule for rule in RULES if any(cell[rule] is not None for cell in table["cells"])]
    return {
        "id": f"{table['method']}-{table['name']}",
        "table": table,
        "rules": rules,
        "rows": [(cell, [figure(cell[rule]) for rule in rules]) for cell in table["cells"]],
        "lost": sum(table["counts"]["cannot_be_recomputed"].values()),
        "unexplained": sum(table["counts"]["unexplained"].values()),
    }


def tone(cell: Facts) -> str:
    """The colour of a verdict: a step of the scale of levels."""
    if cell["verdict"] == "agrees":
        return "l1"
    return "l2" if cell["documented"] else "l3"


@cache
def _environment() -> Environment:
    environment = components.environment()
    environment.filters |= {
        "count": numbers.count,
        "counts": counts,
        "kind": kind,
        "sentence": sentence,
        "shown": lambda text: sanitize.visible(str(text)),
        "tone": tone,
    }
    return environment
