"""A set of properties built from raw statements (social-bias 3.2).

Every step counts what it did. What a step cannot decide is marked in the column `person` of the row and
never made up; a person fills the row in, and the file is built again from there.

Step 4 is rounds of labelling by several people, between which labels are merged or split; the majority
decides, or leaves it to a person; kappa is reported for each label; "Discard" takes a property out.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from trustgauge.apps.properties.raw_statements import PLACE, RawShape, RawStatement, shape_of, statements
from trustgauge.apps.properties.statement_parser import ParsedStatement, parse_statement
from trustgauge.data import guard, unguard
from trustgauge.data.predicates import comparable, fold, slug
from trustgauge.data.property_rows import (
    CATEGORIES,
    REJECTING,
    Polarity,
    category,
    is_yes,
    labels,
    without_degree,
)
from trustgauge.data.tables import CHINESE, fault, need_columns, read_table, short
from trustgauge.data.translations import ALIKE, Similarity, ngram_cosines, settle
from trustgauge.records import Json
from trustgauge.reports.components import read_messages

COLUMNS = (
    "id",
    "predicate",
    "categories",
    "polarity",
    "antonym",
    "comparable",
    "zh",
    "zh_comparative",
    "offensive",
    "zh_first",
    "zh_second",
    "person",
    "statement",
)
"""Of the file that is written: the shipped table's, and what a person needs to go on."""
JUDGED = ("subject", "number", "check antonym")
"""Marks that a person takes away; the others go when what is missing is filled in."""
MARKS: Mapping[str, str] = read_messages("trustgauge.apps.properties").table("marks")
"""What a person has to do for each mark."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How a set is built.

    Attributes:
        kappa: agreement of annotators (see `labelling`).
        codes: recoded labels, by folded name (see `labelling`).
        similarity: of translations.
        alike: the least similarity of translations that need no person.
        people: folded names of groups; None for the shipped ones.
    """

    kappa: Kappa
    codes: Codes = field(default_factory=dict)
    similarity: Similarity = ngram_cosines
    alike: float = ALIKE
    people: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PropertySet:
    """The rows of the file, with the columns `COLUMNS`, and the report of every step."""

    rows: tuple[Mapping[str, str], ...]
    report: Mapping[str, Json]

    def write(self, to: TextIO) -> None:
        """Write the rows as CSV."""
        writer = csv.DictWriter(to, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)


@dataclass(slots=True)
class _Entry:
    """One property in the making; `cells` are the labels of each annotator, `antonym` is a predicate."""

    predicate: str
    polarity: Polarity = "negative"
    cells: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    antonym: str = ""
    comparable: str = ""
    zh: str = ""
    zh_comparative: str = ""
    offensive: str = ""
    translations: tuple[str, str] = ("", "")
    antonym_translations: tuple[str, str] = ("", "")
    marks: set[str] = field(default_factory=set)
    statement: str = ""


def build(file: Path, building: BuildOptions, how: RawShape | None = None) -> PropertySet:
    """Build a set from a file of raw statements, or go on with a set that a person filled in.

    A predicate is taken to be negative, as statements of bias are, and its antonym positive. Negative
    ones count as offensive until a person says otherwise.

    Raises:
        PlanError: the file cannot be read, or lacks a column.
    """
    how = how or RawShape()
    shape = shape_of(file, how)
    steps: dict[str, Json] = {"shape": shape}
    if shape == "ours":
        entries, steps["rows"] = _resumed(file, how)
    else:
        entries, steps["statements"] = _read(statements(file, how, shape), building)
    table, steps["labels"] = _labelled(entries, building)
    steps["antonyms"] = _paired(table, building)
    steps["translations"] = _translated(list(table.values()), building)
    rows = tuple(_row(entry, table) for entry in table.values())
    marks = Counter(mark for entry in table.values() for mark in entry.marks)
    steps["person"] = {mark: {"rows": marks[mark], "do": MARKS[mark]} for mark in MARKS if marks[mark]}
    waiting = sum(bool(row["person"]) for row in rows)
    steps["properties"] = {"rows": len(rows), "ready": len(rows) - waiting, "waiting": waiting}
    return PropertySet(rows, steps)


def _read(raw: Sequence[RawStatement], building: BuildOptions) -> tuple[dict[str, _Entry], Json]:
    """Steps 1 to 3: subjects removed, what says nothing of people dropped, the same kept once."""
    counts: Counter[str] = Counter()
    entries: dict[str, _Entry] = {}
    for one in raw:
        if fold(one.text) in REJECTING:
            counts["discarded"] += 1
            continue
        reading = parse_statement(one.text, one.target, building.people)
        counts[reading.state] += 1
        key = slug(reading.predicate)
        if reading.state not in ("kept", "person unknown") or not key:
            continue
        entry = _entry(one, reading)
        if key in entries:
            counts["duplicates"] += 1
            _merge(entries[key], entry)
        else:
            entries[key] = entry
    drops = ("discarded", "empty", "question", "no predicate", "no person", "person unknown", "duplicates")
    return entries, {"read": len(raw), **{name: counts[name] for name in drops}, "left": len(entries)}


def _entry(one: RawStatement, reading: ParsedStatement) -> _Entry:
    """The property of one statement."""
    marks = {"subject"} if reading.state == "person unknown" else set()
    if reading.predicate.startswith(("are a ", "are an ")):
        marks.add("number")
    return _Entry(
        reading.predicate,
        cells=one.labels,
        antonym=one.antonym,
        zh=one.zh,
        translations=one.translations,
        antonym_translations=one.antonym_translations,
        marks=marks | ({"check antonym"} if one.antonym and not one.checked else set()),
        statement=one.text,
    )


def _merge(old: _Entry, new: _Entry) -> None:
    """Take over what the same predicate knows elsewhere and did not know here."""
    if "subject" not in new.marks:
        old.marks.discard("subject")
    if not old.antonym and new.antonym:
        old.antonym, old.antonym_translations = new.antonym, new.antonym_translations
        old.marks |= new.marks & {"check antonym"}
    if not any(old.cells):
        old.cells = new.cells
    if not any(old.translations):
        old.translations = new.translations
    old.zh = old.zh or new.zh


def _resumed(file: Path, how: RawShape) -> tuple[dict[str, _Entry], Json]:
    """The properties of a file that was written before, as a person left it."""
    table = read_table(file, PLACE, how.separator, CHINESE)
    need_columns(file, table, {f"{PLACE}.{name}": name for name in COLUMNS[:5]})
    rows = [{name: cell.strip() for name, cell in row.items()} for row in table.fill_null("").to_dicts()]
    texts = {row["id"]: row["predicate"] for row in rows}
    entries: dict[str, _Entry] = {}
    counts: Counter[str] = Counter()
    for place, row in enumerate(rows, 1):
        key = slug(row["predicate"])
        if not key or fold(row["predicate"]) in REJECTING:
            counts["discarded"] += 1
        elif key in entries:
            counts["duplicates"] += 1
        else:
            polarity = _polarity(file, place, row["polarity"])
            antonym = texts.get(row["antonym"], row["antonym"])
            entry = _resumed_entry(row, polarity, "" if fold(antonym) in REJECTING else antonym)
            # What a person wrote since then has been seen by that person only.
            entry.marks |= {"check antonym"} if row["antonym"] and row["antonym"] not in texts else set()
            entries[key] = entry
    return entries, {
        "read": len(rows),
        "discarded": counts["discarded"],
        "duplicates": counts["duplicates"],
        "left": len(entries),
    }


def _resumed_entry(row: Mapping[str, str], polarity: Polarity, antonym: str) -> _Entry:
    marks = {mark.strip() for mark in row.get("person", "").split("|")}
    return _Entry(
        fold(row["predicate"]),
        polarity,
        (row["categories"],),
        antonym=antonym,
        comparable=row.get("comparable", ""),
        zh=row.get("zh", ""),
        zh_comparative=row.get("zh_comparative", ""),
        offensive=row.get("offensive", ""),
        translations=(row.get("zh_first", ""), row.get("zh_second", "")),
        marks=marks & set(JUDGED),
        statement=unguard(row.get("statement", "")),
    )


def _polarity(file: Path, place: int, written: str) -> Polarity:
    if written.lower() == "positive":
        return "positive"
    if written.lower() == "negative":
        return "negative"
    what = f"unknown polarity in row {place}"
    raise fault(file, f"{PLACE}.polarity", what, must="positive or negative", got=short(written))


def _labelled(entries: Mapping[str, _Entry], building: BuildOptions) -> tuple[dict[str, _Entry], Json]:
    """Step 4: the categories of a majority; who is discarded, and who waits for a person."""
    counts: Counter[str] = Counter()
    table: dict[str, _Entry] = {}
    for key, entry in entries.items():
        decision = decide(entry.cells, building.codes)
        if decision.discarded:
            counts["discarded"] += 1
            continue
        counts[decision.open or "labelled"] += 1
        entry.categories = decision.categories
        entry.marks |= {decision.open} if decision.open else set()
        table[key] = entry
    several = [entry.cells for entry in entries.values()]
    report = {name: counts[name] for name in ("labelled", "discarded", "labels", "split", "unknown label")}
    return table, {**report, "agreement": agreement(several, building.codes, building.kappa)}


def _paired(table: dict[str, _Entry], building: BuildOptions) -> Json:
    """Step 5: antonyms that are given become properties; one that is missing is asked for."""
    counts = Counter(dict.fromkeys(("given", "added", "unusable", "missing", "same polarity"), 0))
    for key, entry in list(table.items()):
        given = bool(entry.antonym)
        entry.antonym = (
            parse_statement(entry.antonym, "told beside", building.people).predicate if given else ""
        )
        other = slug(entry.antonym)
        counts["given"] += given
        if other == key or (given and not other):
            counts["unusable"] += 1
            entry.antonym, other = "", ""
        if other and other not in table:
            counts["added"] += 1
            table[other] = _opposite(entry)
        if other and table[other].polarity == entry.polarity:
            counts["same polarity"] += 1
            entry.marks.add("check polarity")
        elif other and not table[other].antonym:
            table[other].antonym = entry.predicate
    for entry in table.values():
        if not entry.antonym:
            counts["missing"] += 1
            entry.marks.discard("check antonym")
            entry.marks.add("antonym")
    return dict(counts)


def _opposite(entry: _Entry) -> _Entry:
    """The property that an antonym becomes; it waits as long as who it is the antonym of."""
    return _Entry(
        entry.antonym,
        "positive" if entry.polarity == "negative" else "negative",
        categories=entry.categories,
        antonym=entry.predicate,
        translations=entry.antonym_translations,
        marks=entry.marks & {"labels", "split", "unknown label", "check antonym", "subject"},
    )


def _translated(entries: Sequence[_Entry], building: BuildOptions) -> Json:
    """Step 6: the second of two translations that are alike; a person settles the others."""
    waiting = [entry for entry in entries if not entry.zh and any(entry.translations)]
    settled = settle([entry.translations for entry in waiting], building.similarity, building.alike)
    for entry, (zh, _) in zip(waiting, settled, strict=True):
        entry.zh = zh
        entry.marks |= set() if zh else {"translation"}
    compared = [value for _, value in settled if value is not None]
    return {
        "given": sum(bool(entry.zh) for entry in entries) - sum(bool(zh) for zh, _ in settled),
        "compared": len(compared),
        "alike": sum(bool(zh) for zh, _ in settled),
        "for a person": sum(not zh for zh, _ in settled),
        "none": sum(not any(entry.translations) and not entry.zh for entry in entries),
        "similarity": getattr(building.similarity, "__name__", "similarity"),
        "least": building.alike,
    }


def _row(entry: _Entry, table: Mapping[str, _Entry]) -> dict[str, str]:
    """One row of the file."""
    can = is_yes(entry.comparable) if entry.comparable else comparable(entry.predicate)
    other = slug(entry.antonym)
    offensive = is_yes(entry.offensive) if entry.offensive else entry.polarity == "negative"
    return {
        "id": slug(entry.predicate),
        "predicate": entry.predicate,
        "categories": "|".join(entry.categories),
        "polarity": entry.polarity,
        "antonym": other if other in table else "",
        "comparable": str(int(can)),
        "zh": entry.zh,
        "zh_comparative": (entry.zh_comparative or without_degree(entry.zh)) if can else "",
        "offensive": str(int(offensive)),
        "zh_first": entry.translations[0],
        "zh_second": entry.translations[1],
        "person": "|".join(mark for mark in MARKS if mark in entry.marks),
        # A person opens the file in a spreadsheet, where such a text would be a formula.
        "statement": guard(entry.statement),
    }


Codes = Mapping[str, tuple[str, ...]]
"""Label -> the categories that stand for it now: one if it was merged, several if it was split."""
Kappa = Callable[[NDArray[np.float64]], float]
"""Counts [items, categories] -> agreement beyond chance, such as `stats.agreement.fleiss_kappa`; data
and statistics do not know each other, so who builds a set brings it."""
DISCARD = "discard"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the annotators of one property decided.

    Attributes:
        categories: those of a majority, in the order of `CATEGORIES`.
        discarded: a majority wants the property out.
        open: why a person has to decide: "labels" (none given, or no majority for any),
            "split" (a label was split, and which part applies is not known), "unknown label", or "".
    """

    categories: tuple[str, ...] = ()
    discarded: bool = False
    open: str = ""


def decide(cells: Sequence[str], codes: Codes) -> Decision:
    """The majority of the annotators who labelled a property.

    Args:
        cells: of each annotator; "" from those who gave no label.
        codes: recoded labels, by folded name.

    Returns:
        The decision: a category counts if more than half of those who labelled gave it.
    """
    votes = [_vote(cell, codes) for cell in cells if cell.strip()]
    if not votes:
        return Decision(open="labels")
    known = [vote for vote, _ in votes]
    if 2 * sum(DISCARD in vote for vote in known) > len(known):
        return Decision(discarded=True)
    found = tuple(one for one in CATEGORIES if 2 * sum(one in vote for vote in known) > len(known))
    reasons = [reason for _, reason in votes if reason]
    if found:
        return Decision(found, open="split" if "split" in reasons else "")
    return Decision(open=reasons[0] if reasons else "labels")


def agreement(rows: Sequence[Sequence[str]], codes: Codes, kappa: Kappa) -> dict[str, Json]:
    """For each category: how many labels were given, and the kappa of having it or not.

    Args:
        rows: cells of each annotator, property by property. Properties with one annotator say nothing
            of agreement.
        codes: recoded labels.
        kappa: of the counts of yes and no.

    Returns:
        Category (and "discard") -> labels given, kappa (None where it is undefined) and the number of
        properties that at least two people labelled.
    """
    votes = [[_vote(cell, codes)[0] for cell in row if cell.strip()] for row in rows]
    paired = sum(len(row) > 1 for row in votes)
    report: dict[str, Json] = {}
    for name in (*CATEGORIES, DISCARD):
        yes = np.array([sum(name in vote for vote in row) for row in votes], dtype=np.float64)
        given = np.array([len(row) for row in votes], dtype=np.float64)
        value = kappa(np.stack([yes, given - yes], axis=1)) if paired else math.nan
        report[name] = {
            "labels": int(yes.sum()),
            "kappa": None if math.isnan(value) else round(value, 6),
            "properties": paired,
        }
    return report


def _vote(cell: str, codes: Codes) -> tuple[frozenset[str], str]:
    """The categories of one annotator, and what is open about them."""
    found: set[str] = set()
    reason = ""
    for written in labels(cell):
        name = written.lower()
        recoded = codes.get(name)
        if name in REJECTING:
            found.add(DISCARD)
        elif recoded is not None and len(recoded) > 1:
            reason = "split"
        elif one := category(recoded[0] if recoded else written):
            found.add(one)
        else:
            reason = reason or "unknown label"
    return frozenset(found), reason
