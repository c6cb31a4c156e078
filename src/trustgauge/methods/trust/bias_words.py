"""Words that make a sentence sound slanted, and what their shares in a sentence are (trust 4.1, Bias).

A class of words becomes the share of a sentence's words that are hits; `modality` becomes the mean of
its words' values. The lists are ours; what they contain, and why, is described in `data/bias_words.md`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import polars as pl

from trustgauge.data import package_table

Matching = Literal["all", "released"]
"""`all` counts every entry; `released` what the released feature code of the regression counts."""

CLASSES = (
    "opinion",
    "third_person",
    "tentative",
    "achievement",
    "discrepancy",
    "one_sided",
    "work",
    "factive",
    "hedge",
    "assertive",
    "strong_subjective",
    "weak_subjective",
)
LONG_ONLY = frozenset(
    ("opinion", "one_sided", "factive", "hedge", "assertive", "strong_subjective", "weak_subjective")
)
"""Classes of which `released` matching counts two- and three-word entries only."""

MODALITY = "modality"
STATED = 1.0  # modality of a sentence without a modal word: it is said as a fact
LONGEST = 2_000  # characters of a sentence that are read; a hostile answer cannot cost more

_WORD = re.compile(r"\d[\d.,]*|[^\W\d_]+(?:[-'][^\W_]+)*")
_JOINER = "\u2060"  # stands behind a full stop that ends no sentence
_ABBREVIATION = r"\b((?:[MD]r|Mrs|Ms|Prof|St|vs|e\.g|i\.e)\.)\s+"
_END = r"([.!?]+[\"')\]]*)\s+"


def words_of(name: str) -> tuple[str, ...]:
    """The entries of a class, in lower case; "academ*" stands for all words that begin so."""
    return tuple(_shipped()["classes"][name])


def modality_words() -> Mapping[str, float]:
    """Modal word -> how sure its speaker is, from -1 to 1."""
    return {word: float(value) for word, value in _shipped()[MODALITY].items()}


def words(text: str) -> list[str]:
    """The words of a text in lower case; words with a hyphen or an apostrophe in them are one.

    >>> words("The so-called experts can't agree, 2.5 years on.")
    ['the', 'so-called', 'experts', "can't", 'agree', '2.5', 'years', 'on']
    """
    return _WORD.findall(text.replace("’", "'").replace("ʼ", "'").lower())


def sentences(texts: pl.Series) -> pl.Series:
    """The sentences of each text: a list of texts each, empty ones left out, at most `LONGEST` characters.

    A sentence ends at a line's end, or at a full stop, question or exclamation mark with a space after
    it, unless the stop belongs to a title or a usual abbreviation.
    """
    text = pl.col(texts.name)
    marked = text.str.replace_all(_ABBREVIATION, f"${{1}}{_JOINER} ").str.replace_all(_END, "${1}\n")
    parts = marked.str.replace_all(_JOINER, "").str.split("\n")
    tidy = parts.list.eval(pl.element().str.strip_chars().str.slice(0, LONGEST))
    return texts.to_frame().select(tidy.list.eval(pl.element().filter(pl.element() != "")))[texts.name]


def shares(texts: Sequence[str], matching: Matching = "all") -> pl.DataFrame:
    """What the words of sentences come to.

    A phrase covers its words: within a class the longest entry at a place counts, and the next hit
    begins after it.

    Args:
        texts: English sentences.
        matching: which entries count.

    Returns:
        One row a sentence: `words`, how many it has; the share of each class, hits per word; `modality`
        in [-1, 1], `STATED` without a modal word. Shares and modality of a sentence without words are
        null.
    """
    index = _index(matching)
    found = np.zeros((len(texts), len(CLASSES) + 3))
    for row, text in enumerate(texts):
        index.count(words(text), found[row])
    sizes = found[:, -1]
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = found[:, : len(CLASSES)] / sizes[:, None]
        mean = found[:, -3] / found[:, -2]
    mean = np.where(sizes == 0, np.nan, np.where(found[:, -2] == 0, STATED, mean))
    columns = {name: rates[:, place] for place, name in enumerate(CLASSES)}
    frame = pl.DataFrame({"words": sizes.astype(np.int64), **columns, MODALITY: mean})
    return frame.with_columns(pl.col(*CLASSES, MODALITY).fill_nan(None))


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry: its place among the classes (`len(CLASSES)` for modality), its words, its value."""

    place: int
    words: tuple[str, ...]
    value: float = 1.0


class _Index:
    """Finds the entries that begin with a word."""

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._whole: defaultdict[str, list[_Entry]] = defaultdict(list)
        self._stems: defaultdict[str, list[_Entry]] = defaultdict(list)
        for one in sorted(entries, key=lambda entry: (-len(entry.words), -len(entry.words[0]))):
            first = one.words[0]
            if first.endswith("*"):
                self._stems[first[:-1]].append(one)
            else:
                self._whole[first].append(one)
        self._longest = max(map(len, self._stems), default=0)
        # Texts repeat their words: what begins with a word is looked up once, for at most so many words.
        self.beginning = lru_cache(maxsize=65_536)(self._beginning)

    def _beginning(self, word: str) -> tuple[_Entry, ...]:
        """Longer phrases first; then the word itself; then wildcards, the longest stem first."""
        whole = self._whole.get(word, [])
        lengths = range(min(len(word), self._longest), 0, -1)
        stems = [one for length in lengths for one in self._stems.get(word[:length], ())]
        return (*whole, *stems)

    def count(self, said: Sequence[str], into: np.ndarray[Any, Any]) -> None:
        """Add the hits of each class, the sum of modal values, their number and the number of words."""
        free = [0] * (len(CLASSES) + 1)  # where the next hit of a class may begin
        into[-1] = len(said)
        for at, word in enumerate(said):
            for one in self.beginning(word):
                size = len(one.words)
                if free[one.place] > at or (size > 1 and tuple(said[at : at + size]) != one.words):
                    continue
                free[one.place] = at + size
                into[one.place] += one.value
                if one.place == len(CLASSES):
                    into[one.place + 1] += 1


@lru_cache(maxsize=2)
def _index(matching: Matching) -> _Index:
    entries = [
        _Entry(place, tuple(entry.split()))
        for place, name in enumerate(CLASSES)
        for entry in _counted(name, matching)
    ]
    entries += [
        _Entry(len(CLASSES), tuple(entry.split()), value) for entry, value in modality_words().items()
    ]
    return _Index(entries)


def _counted(name: str, matching: Matching) -> tuple[str, ...]:
    """The entries that count (trust 4.1: `released` has no wildcards, and few one-word entries)."""
    entries = words_of(name)
    if matching == "all":
        return entries
    plain = tuple(one for one in entries if not one.endswith("*"))
    return tuple(one for one in plain if len(one.split()) in (2, 3)) if name in LONG_ONLY else plain


def _shipped() -> Mapping[str, Mapping[str, Any]]:
    return package_table(__package__, "data/bias_words.toml")
