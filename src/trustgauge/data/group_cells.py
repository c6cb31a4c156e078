"""Cells of group tables: labels, names, ids, singulars, and the JSON of descriptors by axis."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.data.tables import fault, short

EVERY = "*"
"""The attribute of a row that holds for all attributes of its table."""
FLAGS: Mapping[str, str] = {
    "": "0",
    "0": "0",
    "no": "0",
    "false": "0",
    "1": "1",
    "yes": "1",
    "true": "1",
}
SYNONYMS: Mapping[str, str] = {"characteristics": "character"}
"""Labels of tables, and the attribute of ours that they mean unless a plan says otherwise."""
AXES: Mapping[str, str] = {
    "ability": "ability",
    "age": "age",
    "body_type": "body",
    "characteristics": "character",
    "cultural": "culture",
    "gender_and_sex": "gender",
    "nationality": "culture",
    "nonce": EVERY,
    "political_ideologies": "social",
    "race_ethnicity": "race",
    "religion": "religion",
    "sexual_orientation": "gender",
    "socioeconomic_class": "social",
}
"""Axes of descriptors and the attribute of social-bias 3.1 in which we compare them; others stay."""
NONCE = "nonce"  # the axis of invented words
DISPREFERRED = "dispreferred"
IRREGULAR: Mapping[str, str] = {
    "people": "person",
    "folks": "person",
    "folk": "person",
    "men": "man",
    "women": "woman",
    "children": "child",
    "wives": "wife",
    "heroes": "hero",
}
"""Plurals and their singulars; words that end in one of them go with it (housewives)."""
VERBS: Mapping[str, str] = {"are": "is", "have": "has", "do": "does", "were": "was", "don't": "doesn't"}
HEAD_ENDS = re.compile(
    r"\s(?:with|without|of|who|that|from|in|on|at|born|living|experiencing|aged|under|over|for)\s|-in-law\b"
)


def label(text: str) -> str:
    """A label of a category in one form.

    >>> label("  Body Type ")
    'body type'
    """
    return " ".join(text.casefold().split())


def names(cell: str) -> tuple[str, ...]:
    """Names of a cell that are separated by "|", without empty ones."""
    return tuple(dict.fromkeys(name for part in cell.split("|") if (name := part.strip())))


def tidy(cells: pl.Series) -> pl.Series:
    """Cells as text without nulls: compatible characters in one form, single spaces, none at the ends."""
    plain = cells.cast(pl.String).fill_null("").str.normalize("NFKC")
    return plain.str.replace_all(r"\s+", " ").str.strip_chars()


def singular(plural: str) -> str:
    """One of the people whom a plural names; the plural itself if it has no ending that we know.

    >>> [singular(name) for name in ("old people", "people who use wheelchairs", "ladies", "the poor")]
    ['old person', 'person who uses wheelchairs', 'lady', 'the poor']
    """
    found = HEAD_ENDS.search(plural)
    head, tail = (plural[: found.start()], plural[found.start() :]) if found else (plural, "")
    before, space, word = head.rpartition(" ")
    if before.casefold() == "the":
        return plural
    one = _singular_word(word)
    return plural if one == word else f"{before}{space}{one}{_of_one(tail)}"


def _singular_word(word: str) -> str:
    lower = word.casefold()
    for several, one in IRREGULAR.items():
        if lower.endswith(several) and (lower == several or several not in ("men", "folk", "folks")):
            return _replaced(word, several, one)
    if lower.endswith("men") and not lower.endswith("women"):
        return _replaced(word, "men", "man")
    if re.search(r"(?:ss|ous|[oy]sis|ese)$", lower) or not lower.endswith("s") or len(lower) < 4:
        return word
    # Hippies, yuppies and junkies have their "ie" in the singular too.
    if lower.endswith("ies") and len(lower) > 5 and not lower.endswith(("ppies", "kies")):
        return f"{word[:-3]}y"
    return word[:-2] if re.search(r"(?:ss|sh|ch|x|zz)es$", lower) else word[:-1]


def _replaced(word: str, ending: str, by: str) -> str:
    """The word with another ending, in the case of the one it had."""
    kept, old = word[: -len(ending)], word[-len(ending) :]
    if old.isupper():
        by = by.upper()
    elif old[0].isupper():
        by = by.capitalize()
    return kept + by


def _of_one(tail: str) -> str:
    """What follows the noun, with the verb of one person: " who are tall" -> " who is tall"."""
    found = re.match(r"(\s(?:who|that)\s)(\S+)(.*)", tail)
    if not found:
        return tail
    before, verb, after = found.groups()
    if verb in VERBS:
        return f"{before}{VERBS[verb]}{after}"
    # Past tenses and helping verbs are the same for one and for several.
    if verb.endswith("ed") or verb in ("can", "can't", "cannot", "will", "would", "could", "should", "must"):
        return tail
    if re.search(r"[^aeiou]y$", verb):
        return f"{before}{verb[:-1]}ies{after}"
    return f"{before}{verb}{'es' if re.search(r'(?:s|sh|ch|x|z|o)$', verb) else 's'}{after}"


def slug(text: str) -> str:
    """A text as an id: letters and digits in lower case, joined by "-".

    >>> slug("People with Down's syndrome"), slug("Bahá'ís"), slug("女性")
    ('people-with-downs-syndrome', 'bahais', '女性')
    """
    apart = unicodedata.normalize("NFKD", text.casefold().replace("'", "").replace("’", ""))
    plain = "".join(one for one in apart if not unicodedata.combining(one))
    return re.sub(r"[\W_]+", "-", plain).strip("-")


def distinct_ids(plurals: Iterable[str], attributes: Iterable[str]) -> list[str]:
    """An id for each group: its plural, with its attribute and then a number where that is taken."""
    taken: set[str] = set()
    ids = []
    for plural, attribute in zip(plurals, attributes, strict=True):
        first = slug(plural) or "group"
        found = next(one for one in _candidates(first, slug(attribute)) if one not in taken)
        taken.add(found)
        ids.append(found)
    return ids


def _candidates(first: str, attribute: str) -> Iterator[str]:
    yield first
    second = f"{first}-{attribute}" if attribute else first
    yield second
    number = 2
    while True:
        yield f"{second}-{number}"
        number += 1


def by_axis(file: Path, place: str, text: str) -> pl.DataFrame:
    """Descriptors or noun phrases by axis, as rows of groups.

    Args:
        file: the text came from.
        place: of the setting that names the file, for errors.
        text: JSON: {axis: [entry]} or {axis: {part: [entry]}}; an entry is a word, or an object with
            `descriptor`, or one with `noun_phrase` and perhaps `plural_noun_phrase`.

    Returns:
        Columns attribute, plural, singular, offensive, control, all text.

    Raises:
        PlanError: the text is no such JSON.
    """
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        raise fault(file, place, "the file is not JSON", must="an object of axes") from None
    must = "an object: axis -> list of descriptors, or axis -> part -> list of descriptors"
    if not isinstance(table, dict):
        raise fault(file, place, "no descriptors by axis", must=must, got=type(table).__name__)
    rows = []
    for axis, parts in table.items():
        lists = list(parts.values()) if isinstance(parts, dict) else [parts]
        if not all(isinstance(one, list) for one in lists):
            raise fault(file, place, f"no descriptors in axis {short(axis)}", must=must)
        for entry in (entry for one in lists for entry in one):
            rows.append((AXES.get(axis, axis), *_entry(file, place, entry), "1" if axis == NONCE else "0"))
    columns = ("attribute", "plural", "singular", "offensive", "control")
    safe = [[cell.encode("utf-8", "replace").decode() for cell in row] for row in rows]
    return pl.DataFrame(safe, schema=dict.fromkeys(columns, pl.String), orient="row")


def _entry(file: Path, place: str, entry: Any) -> tuple[str, str, str]:
    """Plural, singular and mark of offence of one descriptor or noun phrase."""
    named = entry
    if isinstance(entry, str):
        named = {"noun_phrase" if "{noun}" in entry else "descriptor": entry}
    if not isinstance(named, dict) or not all(isinstance(cell, str) for cell in named.values()):
        raise fault(file, place, "an entry is not a descriptor", must="a word, or an object of words")
    offensive = "1" if named.get("preference") == DISPREFERRED else "0"
    if word := named.get("descriptor", "").strip():
        return f"{word} people", f"{word} person", offensive
    one: str = named.get("noun_phrase", "")
    several: str = named.get("plural_noun_phrase", one)
    if not one.strip():
        got = short(json.dumps(entry, ensure_ascii=False))
        must = "`descriptor` or `noun_phrase`"
        raise fault(file, place, "an entry has no name", must=must, got=got)
    return _phrase(several, "people"), _phrase(one, "person"), offensive


def _phrase(template: str, noun: str) -> str:
    """A noun phrase with its noun and without its article."""
    filled = template.replace("{article}", "").replace("{noun}", noun)
    return re.sub(r"^\s*(?:an?|the)\s+", "", filled).strip()
