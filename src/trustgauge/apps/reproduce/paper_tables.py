"""A printed figure beside the same figure computed: what `trustgauge reproduce` lists, cell by cell.

The printed figures are data in `figures`; each file names its source. What tables say stands in
`messages.toml`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trustgauge.data import package_table
from trustgauge.errors import MethodError
from trustgauge.records import Json

Verdict = Literal["agrees", "differs", "cannot be recomputed"]
Kind = Literal["recomputed", "consistent", "constant", "public", "effort", "unpublished"]
CHECKED: tuple[Kind, ...] = ("recomputed", "consistent", "constant")
"""Kinds of check that agree or differ."""
LOST: tuple[Kind, ...] = ("public", "effort", "unpublished")
"""Kinds of figures that cannot be recomputed as things stand."""


FIGURES = Path(__file__).parent / "figures"


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """One printed figure and what each rule makes of the inputs it was printed with.

    Attributes:
        row, column: where it stands in its table, in the paper's words.
        printed: the figure as printed; None where only the text of the paper claims it.
        published, released, sound: the same figure by that rule; None where the rule has no such figure.
        verdict: of the rule that the paper claims (`published`, or `released` where the tables need it).
        reason: why it differs or cannot be recomputed; "" if it agrees.
        documented: whether the difference is one of the named exceptions, which count as agreement.
        kind: what the verdict rests on. `recomputed`: the rule, applied to inputs, gives the figure or
            another one. `consistent`: some inputs would give the figure; which ones is not known.
            `constant`: a figure of ours, which no paper prints or which only repeats the paper. A figure
            that cannot be recomputed is `public` (its inputs are, and `--data` reads them), `effort` (from
            public corpora or programs, by work that is not done here) or `unpublished`.
        share: of a consistent figure: the share of all values it could have that pass the same check.
    """

    row: str
    column: str
    printed: Json
    published: Json = None
    released: Json = None
    sound: Json = None
    verdict: Verdict = "agrees"
    reason: str = ""
    documented: bool = False
    kind: Kind = "recomputed"
    share: float | None = None

    @property
    def as_expected(self) -> bool:
        """Whether it agrees or is a documented exception."""
        return self.verdict == "agrees" or self.documented


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table, figure or claim of a paper, recomputed.

    Attributes:
        method: the method whose paper it stands in.
        name: one word for the command line, such as "table-7".
        title: what it shows, and where it stands in the paper.
        inputs: what it is recomputed from.
        cells: in the order of the paper.
        notes: what a reader should know of the whole table.
        fills: of a table from public data: the table whose cells at the same places it replaces.
    """

    method: str
    name: str
    title: str
    inputs: str
    cells: tuple[PrintedFigure, ...]
    notes: tuple[str, ...] = field(default=())
    fills: str = ""

    @property
    def agreeing(self) -> int:
        """Cells that agree."""
        return sum(one.verdict == "agrees" for one in self.cells)

    @property
    def documented(self) -> int:
        """Cells that differ, or cannot be recomputed, for a reason that is documented."""
        return sum(one.verdict != "agrees" and one.documented for one in self.cells)

    @property
    def as_expected(self) -> bool:
        """Whether every cell agrees or is a documented exception."""
        return all(one.as_expected for one in self.cells)


def figures(name: str) -> dict[str, Any]:
    """The figures of one file, such as "causal_tables". Raises FileNotFoundError."""
    found: dict[str, Any] = json.loads((FIGURES / f"{name}.json").read_text("utf-8"))
    return found


def _messages() -> dict[str, Any]:
    return package_table(__package__, "messages.toml")


def reasons(method: str) -> Mapping[str, str]:
    """Why figures of a method's paper differ or cannot be recomputed, by the names of the reasons."""
    known: Mapping[str, str] = _messages()[method]["reasons"]
    return known


def paper_table(
    method: str,
    name: str,
    cells: Iterable[PrintedFigure],
    /,
    *,
    fills: str = "",
    odd: Iterable[str] = (),
    **facts: object,
) -> PaperTable:
    """A table with the title, inputs and notes that `messages.toml` gives it.

    Args:
        method: the method whose paper it stands in.
        name: of the table; it may have braces, as its title, inputs and notes may.
        cells: in the order of the paper.
        fills: as of `PaperTable`.
        odd: further notes, of what the printed figures themselves say.
        facts: what stands in the braces.
    """
    words = _messages()[method]["tables"][name]
    notes = [one.format(**facts) for one in words.get("notes", ())]
    title, inputs = (words[key].format(**facts) for key in ("title", "inputs"))
    return PaperTable(method, name.format(**facts), title, inputs, tuple(cells), (*notes, *odd), fills)


def no_data_error(folder: Path, must: str) -> MethodError:
    """The error for a folder that holds none of a paper's public files.

    Args:
        folder: that was named.
        must: what it should hold.
    """
    got = f"{sum(1 for _ in folder.iterdir())} others" if folder.is_dir() else "no folder"
    do = "Copy the authors' public files into one folder, and name it"
    return MethodError(f"no public files of the paper in {folder.name}", must=must, got=got, do=do)
