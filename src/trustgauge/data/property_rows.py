"""Properties for bias questions, and how rows of any table become properties (social-bias 3.1)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from trustgauge.data.predicates import comparable, fold, slug

Polarity = Literal["positive", "negative"]
CATEGORIES = (
    "appearance",
    "financial-status",
    "social-status",
    "crime",
    "mistreatment",
    "personality",
    "competence",
    "morality",
    "belief",
    "health",
    "family-relation",
    "culture",
)
"""Labels of properties, in the order of their numbers 1 to 12."""
NAMES = {
    "ability": "competence",
    "family": "family-relation",
    "relation": "family-relation",
    "family-relations": "family-relation",
    "family-relationship": "family-relation",
    "family-relationships": "family-relation",
}
"""Other names that tables have for a category, folded."""
REJECTING = frozenset(("delete", "deleted", "discard", "discarded"))
"""Words with which an annotator takes a row out."""
INTENSE = re.compile(r"^(比较|非常|十分|特别|有点|都很|真|很|太|是)+(?=.)|(?<=.)的$")
COUNTS = (
    "rows",
    "empty",
    "discarded",
    "duplicates",
    "without a category",
    "waiting for a person",
    "antonym unusable",
    "properties",
    "without an antonym",
    "without Chinese",
    "comparable",
)
"""What a report of an import counts. Up to "antonym unusable" rows and their antonyms, then properties."""


@dataclass(frozen=True, slots=True)
class Property:
    """What can be said of a group.

    Attributes:
        id: slug of the English predicate.
        predicate: said of a plural group: "are poor", "can not be trusted".
        categories: one or more of `CATEGORIES`.
        polarity: what it says of the group.
        antonym: id of the property that says the opposite; "" in imported tables that have none.
        comparable: "are ADJ" or "are ADV ADJ", so that groups can be compared in it.
        zh: the predicate in Chinese, "很穷"; "" where an imported table has none.
        zh_comparative: what follows "A比B更": "穷"; "" unless comparable and in Chinese.
        offensive: masked where it is shown, unless asked for.
    """

    id: str
    predicate: str
    categories: tuple[str, ...]
    polarity: Polarity
    antonym: str
    comparable: bool
    zh: str
    zh_comparative: str
    offensive: bool


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """One predicate of a table, before it is checked. `antonym` is an id or the predicate itself."""

    predicate: str
    categories: str
    polarity: Polarity = "negative"
    antonym: str = ""
    zh: str = ""
    zh_antonym: str = ""
    comparable: str = ""  # "1", "0", or "" if the table does not say
    zh_comparative: str = ""
    offensive: str = ""
    waiting: str = ""  # what a person has still to do


def category(written: str) -> str:
    """The category of a label: its number, its name, or one of its other names; "" if it is none.

    >>> category("4"), category(" Family & relation "), category("Ability"), category("colour")
    ('crime', 'family-relation', 'competence', '')
    """
    folded = re.sub(r"[^a-z0-9]+", "-", written.lower().replace(" and ", " ")).strip("-")
    if folded.isdigit():
        return CATEGORIES[int(folded) - 1] if 1 <= int(folded) <= len(CATEGORIES) else ""
    return folded if folded in CATEGORIES else NAMES.get(folded, "")


def labels(written: str) -> tuple[str, ...]:
    """The labels in a cell, as they are written: "[1, 4]", "Crime, Health", "crime|health".

    >>> labels("[1, 4]"), labels("Family & relation, Health")
    (('1', '4'), ('Family & relation', 'Health'))
    """
    found = re.split(r"[,;|，、]", written.strip().strip("[]"))
    return tuple(dict.fromkeys(name for one in found if (name := one.strip().strip("'\"").strip())))


def categories(written: str) -> tuple[str, ...]:
    """The known categories in a cell, in the order of their numbers."""
    known = {category(one) for one in labels(written)}
    return tuple(one for one in CATEGORIES if one in known)


def unknown_labels(rows: Iterable[PropertyRow]) -> tuple[str, ...]:
    """The labels of rows that would be asked about which are no category, each once."""
    asked = (row for row in rows if not rejects(row) and not row.waiting and slug(row.predicate))
    every = dict.fromkeys(label for row in asked for label in labels(row.categories))
    return tuple(label for label in every if not category(label))


def rejects(row: PropertyRow) -> bool:
    """Whether an annotator took the row out: "delete" for a text, or "Discard" among its labels."""
    texts = (row.predicate, row.antonym, *labels(row.categories))
    words = {text.strip().lower() for text in texts}
    return bool(words & REJECTING)


def link_antonyms(rows: Iterable[PropertyRow]) -> tuple[tuple[Property, ...], dict[str, int]]:
    """Properties from rows, in their order, each antonym behind what it is the antonym of.

    Rows with the same folded predicate are one property with the categories of all. An antonym that
    is not in the table as a row of its own becomes one, with the same categories and the other
    polarity. Antonyms are mutual where they can be: of several with one antonym the first is meant back.

    Returns:
        The properties, and the counts of `COUNTS`.
    """
    counts = Counter(dict.fromkeys(COUNTS, 0))
    kept = [row for row in rows if _usable(row, counts)]
    texts = {slug(row.predicate): row.predicate for row in kept}
    table: dict[str, PropertyRow] = {}
    antonyms: dict[str, str] = {}
    for row in kept:
        key = slug(row.predicate)
        if key in table:
            counts["duplicates"] += 1
        _add(table, key, row)
        other = slug(row.antonym)
        if not other:
            continue
        opposite = PropertyRow(
            texts.get(other, row.antonym.strip()), row.categories, _opposite(row.polarity), zh=row.zh_antonym
        )
        if other == key or (other in table and table[other].polarity == row.polarity):
            counts["antonym unusable"] += 1
            continue
        antonyms.setdefault(key, other)
        antonyms.setdefault(other, key)
        if other not in texts:
            _add(table, other, opposite)
    agreed = {key: other for key, other in antonyms.items() if table[other].polarity != table[key].polarity}
    counts["antonym unusable"] += len(antonyms) - len(agreed)
    found = tuple(_property(key, row, agreed.get(key, "")) for key, row in table.items())
    counts["properties"] = len(found)
    counts["without an antonym"] = sum(not one.antonym for one in found)
    counts["without Chinese"] = sum(not one.zh for one in found)
    counts["comparable"] = sum(one.comparable for one in found)
    return found, dict(counts)


def one_sided_pairs(rows: Sequence[PropertyRow]) -> list[int]:
    """Numbers, from 1, of rows that have the polarity of the row that is their antonym: one is wrong."""
    polarities = {slug(row.predicate): row.polarity for row in reversed(rows) if not rejects(row)}
    return [
        number
        for number, row in enumerate(rows, 1)
        if not rejects(row)
        and slug(row.antonym) != slug(row.predicate)
        and polarities.get(slug(row.antonym)) == row.polarity
    ]


def of_polarity(properties: Sequence[Property], polarity: str) -> tuple[Property, ...]:
    """The properties of one polarity, without their antonyms, which are of the other; or all of them."""
    if polarity == "both":
        return tuple(properties)
    return tuple(replace(one, antonym="") for one in properties if one.polarity == polarity)


def without_degree(zh: str) -> str:
    """A Chinese predicate as it stands behind "更": without the degree before it.

    >>> without_degree("很穷"), without_degree("是落后的"), without_degree("诚实")
    ('穷', '落后', '诚实')
    """
    return INTENSE.sub("", zh)


def _usable(row: PropertyRow, counts: Counter[str]) -> bool:
    """Whether a row becomes a property; if not, `counts` says why."""
    counts["rows"] += 1
    if rejects(row):
        counts["discarded"] += 1
    elif not slug(row.predicate):
        counts["empty"] += 1
    elif row.waiting:
        counts["waiting for a person"] += 1
    elif not categories(row.categories):
        counts["without a category"] += 1
    else:
        return True
    return False


def _add(table: dict[str, PropertyRow], key: str, row: PropertyRow) -> None:
    """Add a row, or what it knows beyond the row with the same predicate."""
    old = table.get(key)
    if old is None:
        table[key] = row
        return
    table[key] = PropertyRow(
        old.predicate,
        f"{old.categories},{row.categories}",
        old.polarity,
        old.antonym or row.antonym,
        old.zh or row.zh,
        old.zh_antonym or row.zh_antonym,
        old.comparable or row.comparable,
        old.zh_comparative or row.zh_comparative,
        old.offensive or row.offensive,
    )


def _property(key: str, row: PropertyRow, antonym: str) -> Property:
    """The property of a checked row."""
    can = comparable(row.predicate) if row.comparable == "" else is_yes(row.comparable)
    return Property(
        key,
        row.predicate.strip(),
        categories(row.categories),
        row.polarity,
        antonym,
        can,
        row.zh.strip(),
        (row.zh_comparative.strip() or without_degree(row.zh.strip())) if can else "",
        is_yes(row.offensive),
    )


def is_yes(cell: str) -> bool:
    """Whether a cell says yes."""
    return fold(cell) in ("1", "1.0", "yes", "true", "y")


def _opposite(polarity: Polarity) -> Polarity:
    return "positive" if polarity == "negative" else "negative"
