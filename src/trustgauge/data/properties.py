"""Properties of groups: the shipped ones, and importers of users' tables (social-bias 3.1).

The content of the shipped table, and how it was made, is described in `social/properties.md`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trustgauge.data.property_rows import (
    CATEGORIES,
    Property,
    PropertyRow,
    link_antonyms,
    of_polarity,
    one_sided_pairs,
    rejects,
    unknown_labels,
)
from trustgauge.data.tables import (
    CHINESE,
    check_content,
    fault,
    need_columns,
    read_table,
    rows_in_words,
    short,
)
from trustgauge.data.translations import row_by_row
from trustgauge.errors import PlanError
from trustgauge.plan import PlanPath
from trustgauge.records import Json

__all__ = ["CATEGORIES", "Property", "PropertySource", "properties"]

PLACE = "property_table"
Layout = Literal["general", "ours", "sample", "manual", "full"]
OWN: tuple[Layout, ...] = ("general", "ours")
"""Layouts of a user's own making; annotators of the others have labels that we do not ask about."""
LABELS_SHOWN = 5  # unknown labels that an error lists
Role = Literal[
    "predicate",
    "categories",
    "polarity",
    "antonym",
    "zh",
    "zh_antonym",
    "comparable",
    "zh_comparative",
    "offensive",
    "waiting",
]
OURS: Mapping[Role, str] = {
    "predicate": "predicate",
    "categories": "categories",
    "polarity": "polarity",
    "antonym": "antonym",
    "zh": "zh",
    "zh_antonym": "zh_antonym",
    "comparable": "comparable",
    "zh_comparative": "zh_comparative",
    "offensive": "offensive",
    "waiting": "person",
}
COLUMNS: Mapping[Layout, Mapping[Role, str]] = {
    "general": {role: column for role, column in OURS.items() if role != "waiting"},
    "ours": OURS,
    "sample": {
        "predicate": "bias_",
        "categories": "label",
        "antonym": "bias",
        "zh": "translation_",
        "zh_antonym": "translate",
    },
    "manual": {
        "predicate": "bias",
        "categories": "label",
        "antonym": "antonym",
        "zh": "translation",
        "zh_antonym": "translate a",
    },
    "full": {"predicate": "Sentence", "categories": "Labels", "antonym": "Antonym"},
}
"""The columns of each layout; those that the plan names stand in their place."""
NEEDED: tuple[Role, ...] = ("predicate", "categories")


class PropertySource(BaseModel):
    """A table of properties, and how it is read.

    Layouts: `ours` is the shipped table's and what `build-properties` writes; `sample` and `manual` are
    the two forms of BiasAsker's sample (a biased predicate, the antonym that is asked in its place, and
    the numbers of its labels); `full` is its full form (Sentence, Labels, with or without Antonym), whose
    translations stand in files of their own, row by row; `general` has columns that are called like ours, or
    that the plan names in `columns`. A predicate of the paper's layouts is negative unless a column says
    otherwise, its antonym has the other polarity. `ours` and `general` need that column, as praise would be
    slander without it. A table with it has no empty cell in it, and no row of the same polarity as its
    antonym. Labels of `ours` and `general` that are no category are refused; of the other layouts such rows
    are left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Layout = Field("general", description="Shape of the table")
    file: PlanPath = Field(description="CSV, TSV or JSON lines; UTF-8, or GB18030")
    translation: PlanPath | None = Field(None, description="Chinese of the predicates, row by row")
    antonym_translation: PlanPath | None = Field(None, description="Chinese of the antonyms, row by row")
    separator: str = Field(
        "", description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
    columns: Mapping[Role, str] = Field({}, description="Column of each role; by layout")
    polarity: Literal["both", "positive", "negative"] = Field(
        "both", description="Which properties are asked; the paper asks the positive ones"
    )
    # Declared after the files, whose checked values it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the files, filled in; refuses a changed file"
    )

    @field_validator("content")
    @classmethod
    def _the_same_files(cls, value: str, info: ValidationInfo) -> str:
        if "file" not in info.data:
            return value
        named = [info.data["file"], info.data.get("translation"), info.data.get("antonym_translation")]
        return check_content([one for one in named if one is not None], value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.separator and len(self.separator.encode()) != 1:
            place = f"{PLACE}.separator"
            raise PlanError.of(place, "no separator", must="one ASCII character", got=self.separator)
        if not self.properties():
            raise fault(
                self.file,
                f"{PLACE}.file",
                "no property that can be asked",
                must="a predicate and a known category in at least one row",
                got=", ".join(f"{count:,} {name}" for name, count in self.report().items() if count),
            )
        return self

    def __hash__(self) -> int:
        return hash((self.content, self.file, self.layout, self.polarity))

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the files in place of where they lie."""
        facts = {
            "translation": self.translation is not None,
            "antonym_translation": self.antonym_translation is not None,
        }
        return self.model_dump(mode="json", exclude={"file", *facts}) | facts

    def properties(self) -> tuple[Property, ...]:
        """The properties of the table.

        Raises:
            PlanError: a file cannot be read, lacks a column, or is not the one that was rated.
        """
        return of_polarity(_read(self)[0], self.polarity)

    def report(self) -> dict[str, int]:
        """What became of the rows: the counts of `property_rows.COUNTS`."""
        return dict(_read(self)[1])

    def _rows(self) -> list[PropertyRow]:
        """The rows of the table, with the translations beside them."""
        named = [self.file, self.translation, self.antonym_translation]
        check_content([one for one in named if one is not None], self.content, f"{PLACE}.file")
        table = read_table(self.file, f"{PLACE}.file", self.separator, CHINESE)
        roles: dict[Role, str] = {**COLUMNS[self.layout], **self.columns}
        needed: set[Role] = {*NEEDED, *self.columns}
        need_columns(self.file, table, {f"{PLACE}.columns.{one}": roles[one] for one in sorted(needed)})
        self._check_polarity(table.columns, roles["polarity"] if self.layout in OWN else "")
        cells: dict[str, list[str]] = {
            role: table[column].fill_null("").str.strip_chars().to_list()
            for role, column in roles.items()
            if column in table.columns
        }
        for role, file in (("zh", self.translation), ("zh_antonym", self.antonym_translation)):
            if file is not None:
                cells[role] = row_by_row(file, f"{PLACE}.translation", len(table))
        written = cells.get("polarity")
        cells["polarity"] = self._polarities(cells.get("polarity", [""] * len(table)))
        rows = [PropertyRow(**_one(cells, place)) for place in range(len(table))]
        if self.layout in OWN:
            self._check_labels(rows)
        if written is not None:
            self._check_no_gaps(rows, written)
            self._check_pairs(rows)
        return rows

    def _check_polarity(self, there: Sequence[str], column: str) -> None:
        """Refuse a table of a user's own that does not say what is good and what is bad."""
        if column and column not in there:
            what = f"no column {short(column)}"
            must = "one that says positive or negative of each predicate"
            do = "Add it: whoever says something good of a group would be rated as speaking ill of it"
            raise fault(self.file, f"{PLACE}.columns.polarity", what, must=must, do=do)

    def _check_no_gaps(self, rows: list[PropertyRow], written: list[str]) -> None:
        """Refuse rows without a polarity in a table that has a column of them: praise would be slander."""
        gaps = [
            number
            for number, (row, cell) in enumerate(zip(rows, written, strict=True), 1)
            if row.predicate and not cell and not rejects(row)
        ]
        if gaps:
            what = f"no polarity in {rows_in_words(gaps)}"
            raise fault(self.file, f"{PLACE}.columns.polarity", what, must="positive or negative")

    def _check_labels(self, rows: list[PropertyRow]) -> None:
        """Refuse labels that are no category: their rows would be left out without a word."""
        unknown = unknown_labels(rows)
        if not unknown:
            return
        near = [one for label in unknown for one in get_close_matches(label.lower(), CATEGORIES, n=1)]
        raise fault(
            self.file,
            f"{PLACE}.columns.categories",
            f"no category {', '.join(map(short, unknown[:LABELS_SHOWN]))}",
            must="one of: " + ", ".join(CATEGORIES),
            do=f"Did you mean {' and '.join(dict.fromkeys(near[:LABELS_SHOWN]))}?" if near else "",
        )

    def _check_pairs(self, rows: list[PropertyRow]) -> None:
        """Refuse a row whose antonym is a row of the same polarity."""
        alike = one_sided_pairs(rows)
        if alike:
            raise fault(
                self.file,
                f"{PLACE}.columns.polarity",
                f"the same polarity as the antonym in {rows_in_words(alike)}",
                must="positive for one of the two, negative for the other",
                got=rows[alike[0] - 1].polarity,
            )

    def _polarities(self, cells: list[str]) -> list[str]:
        """The polarity of each row; negative if the table has no column that tells."""
        known = {"": "negative", **dict.fromkeys(("negative", "neg", "-"), "negative")}
        known |= dict.fromkeys(("positive", "pos", "+"), "positive")
        odd = [place for place, cell in enumerate(cells) if cell.lower() not in known]
        if odd:
            raise fault(
                self.file,
                f"{PLACE}.columns.polarity",
                f"unknown polarity in {rows_in_words([place + 1 for place in odd])}",
                must="positive or negative",
                got=short(cells[odd[0]]),
            )
        return [known[cell.lower()] for cell in cells]


def properties(source: PropertySource | None = None) -> tuple[Property, ...]:
    """The shipped properties, or those of a table, in their order.

    Raises:
        PlanError: the table cannot be read; see `PropertySource`.
    """
    return _shipped() if source is None else source.properties()


@lru_cache(maxsize=1)
def _shipped() -> tuple[Property, ...]:
    table = files("trustgauge.data").joinpath("social", "properties.csv")
    with table.open(encoding="utf-8") as opened:
        return tuple(
            Property(
                row["id"],
                row["predicate"],
                tuple(row["categories"].split("|")),
                "positive" if row["polarity"] == "positive" else "negative",
                row["antonym"],
                row["comparable"] == "1",
                row["zh"],
                row["zh_comparative"],
                row["offensive"] == "1",
            )
            for row in csv.DictReader(opened)
        )


@lru_cache(maxsize=8)
def _read(source: PropertySource) -> tuple[tuple[Property, ...], Mapping[str, int]]:
    """The properties of a source and what became of its rows, read once."""
    return link_antonyms(source._rows())


def _one(cells: Mapping[str, list[str]], place: int) -> dict[str, Any]:
    return {role: column[place] for role, column in cells.items()}
