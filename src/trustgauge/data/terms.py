"""Kinds of terms: domain-specific, common, and stop words (trust 4.1, conversation complexity).

A term is a word in small letters, or several words that stand together. The shipped lists of stop words and
common words, English and Chinese, are described in `terms.md`; what belongs to a domain follows from a list
that somebody has, or from a corpus of dialogs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from trustgauge.data import package_table
from trustgauge.data.dialogs import DialogSource
from trustgauge.data.tables import check_content, fault, read_text, short
from trustgauge.plan import PlanPath
from trustgauge.records import Json

Kind = Literal["domain", "common", "stop"]
KINDS: tuple[Kind, ...] = ("domain", "common", "stop")
PLACE = "terms"  # the key of the settings of an issue under which a source of terms stands

HAN = "\u3400-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+(?:'[^\W\d_{HAN}]+)*")
ADJECTIVES = ("feelings_and_qualities", "directions_and_order")  # classes whose words have degrees
ENGLISH = 0.36
"""Share of `english` words from which a text is taken for English."""
FEWEST_TO_TELL = 50  # words or terms below which nobody can tell a language
ENDING = re.compile(
    r"\w{3}(?:tions?|ings?|ed|ly|ments?|ity|ies|ness|ships?|ful|less|[ae]nce|[ai]ble|ives?|ous|[ao]ry|ants?"
    r"|ees?|[eo]rs?|ates?|al|ism|ages?)$",
    re.ASCII,
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
NEARLY_ALL = 0.9  # share of the dialogs of a corpus from which on a word tells nothing of its domain
FEWEST = 2  # dialogs that a word of the domain occurs in: what only one has is a name or a slip
FEWEST_TOGETHER = 3  # dialogs that words of the domain stand together in
TOGETHER = 0.5  # share of the occurrences of the rarest of several words that stand with the others


@dataclass(frozen=True)
class TermLists:
    """Which term is of which kind.

    A term that stands in several lists is a stop word, else domain-specific, else common. One that stands
    in none is common if `domain` is given, since the list then says what belongs to the domain; without
    such a list it is domain-specific: neither a stop word nor in common use.

    Attributes:
        common: words in common use, with their inflected forms.
        stop: words that say little by themselves.
        domain: terms of the domain, words separated by a space; None if nobody listed them.
    """

    common: frozenset[str]
    stop: frozenset[str]
    domain: frozenset[str] | None = None
    _kinds: dict[str, Kind] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)
    _han: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        domain = self.domain or frozenset()
        kinds: dict[str, Kind] = {
            **dict.fromkeys(self.common, "common"),
            **dict.fromkeys(domain, "domain"),
            **dict.fromkeys(self.stop, "stop"),
        }
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "_longest", max((term.count(" ") + 1 for term in domain), default=1))
        spaceless = (len(term) for term in kinds if re.match(f"[{HAN}]", term))
        object.__setattr__(self, "_han", max(spaceless, default=1))

    def terms(self, text: str) -> list[tuple[str, Kind]]:
        """The terms of a text in order, each with its kind; one of several words counts once.

        Numbers are no terms, nor is a single letter that is no stop word.
        """
        found = self._words(text)
        rest: Kind = "common" if self.domain is not None else "domain"
        kinds, longest = self._kinds, self._longest
        if longest == 1:
            return [(word, kinds.get(word, rest)) for word in found]
        listed: list[tuple[str, Kind]] = []
        place = 0
        while place < len(found):
            size = min(longest, len(found) - place)
            while size > 1 and kinds.get(" ".join(found[place : place + size])) != "domain":
                size -= 1
            term = " ".join(found[place : place + size])
            listed.append((term, kinds.get(term, rest)))
            place += size
        return listed

    def __contains__(self, term: str) -> bool:
        """Whether a term stands in one of the lists."""
        return term in self._kinds

    def _words(self, text: str) -> list[str]:
        """The words that can be terms; a possessive counts as its owner, unless it is listed."""
        found: list[str] = []
        for word in words(text):
            if word in self._kinds:
                found.append(word)
            elif "\u3400" <= word[0] <= "\u9fff" or "\uf900" <= word[0] <= "\ufaff":
                found.extend(self._cut(word))
            else:
                bare = word.removesuffix("'s")
                if len(bare) > 1 or bare in self._kinds:
                    found.append(bare)
        return found

    def _cut(self, run: str) -> Iterator[str]:
        """Words of Chinese characters: the longest listed ones; what is in no list, two by two."""
        place = unknown = 0
        while place <= len(run):
            size = min(self._han, len(run) - place)
            while size > 0 and run[place : place + size] not in self._kinds:
                size -= 1
            if size or place == len(run):
                yield from (run[start : min(start + 2, place)] for start in range(unknown, place, 2))
                unknown = place + size
            if size:
                yield run[place : place + size]
            place += size or 1


def words(text: str) -> list[str]:
    """The words of a text in small letters; a run of Chinese characters stands as one.

    What begins with a digit is a number and no word.

    >>> words("That’s $40 for 2 MP3s on the 8th, at P.F. Chang's!")
    ["that's", 'for', 'mp3s', 'on', 'the', 'at', 'p', 'f', "chang's"]
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")
    return [word for word in WORD.findall(plain.casefold()) if not word[0].isdigit()]


@lru_cache(maxsize=1)
def default_terms() -> TermLists:
    """Our own common words and stop words, English and Chinese, without a list of any domain."""
    table = _table()
    stop = frozenset(_all(table["english"]["stop"])) | frozenset(_all(table["chinese"]["stop"]))
    common = set(_all(table["chinese"]["common"]))
    for name, text in table["english"]["common"].items():
        for word in text.split():
            common |= inflections(word, adjective=name in ADJECTIVES)
    return TermLists(frozenset(common), stop)


@lru_cache(maxsize=1)
def english_stop_words() -> frozenset[str]:
    """Our English stop words: in running English text they are between a third and a half of the words."""
    return frozenset(_all(_table()["english"]["stop"]))


def english(word: str) -> bool:
    """Whether a word in small letters is an English function word, or has an ending usual in English.

    Running English has such words for about half of its words, be it plain talk, where most are function
    words, or dense legal prose, where most have endings. Other languages in Latin letters reach a third at
    most: see `ENGLISH`.

    >>> [english(word) for word in ("the", "indemnification", "Haftung")]
    [True, True, False]
    """
    return word in english_stop_words() or ENDING.search(word) is not None


def count_english(text: str) -> tuple[int, int]:
    """How many words a text has, and how many of them are English by form.

    >>> count_english("The lessee pays.")
    (3, 2)
    """
    said = words(text)
    return len(said), sum(map(english, said))


def without_code(text: str) -> str:
    r"""A text without what stands between fences of code; what no fence closes is code to its end.

    >>> without_code("Run it:\n```sh\npip install it\n```\nThen wait.").split()
    ['Run', 'it:', 'Then', 'wait.']
    """
    return _CODE.sub("\n", text) if "```" in text else text


def in_another_language(said: float, known: float) -> bool:
    """Whether so many words, of which so many are English by form, are enough to tell that it is not English.

    >>> in_another_language(60, 12), in_another_language(60, 40), in_another_language(10, 0)
    (True, False, False)
    """
    return said >= FEWEST_TO_TELL and known < ENGLISH * said


def inflections(word: str, *, adjective: bool = False) -> set[str]:
    """An English word and the regular forms that it may have; some of them are no words, and do no harm.

    >>> sorted(inflections("try"))
    ['tried', 'tries', 'try', 'trying', 'trys']
    >>> sorted(inflections("easy", adjective=True))
    ['easied', 'easier', 'easies', 'easiest', 'easily', 'easy', 'easying', 'easyly', 'easys']
    """
    forms = {word}
    if len(word) < 3:
        return forms
    stem = word
    if word.endswith("e"):
        stem = word[:-1]
    elif word.endswith("y") and word[-2] not in "aeiou":
        stem = word[:-1] + "i"
    doubled = stem + stem[-1] if re.search(r"[^aeiou][aeiou][bdgklmnprt]$", word) else stem
    ing = stem if word.endswith("e") else doubled if doubled != stem else word
    forms |= {word + "s", stem + "es", doubled + "ed", stem + "ed", ing + "ing", word + "ing"}
    if adjective:
        forms |= {doubled + "er", stem + "er", doubled + "est", stem + "est", stem + "ly", word + "ly"}
    return forms


def learn_terms(dialogs: pl.DataFrame, ngrams: int = 1) -> TermLists:
    """The kinds of terms that a corpus tells.

    Stop words are the shipped ones. Common are the shipped common words, and those that `NEARLY_ALL`
    dialogs of the corpus have, which tell nothing of what a dialog is about. Of the domain are all other
    words in `FEWEST` dialogs or more, and sequences of up to `ngrams` words other than stop words that stand
    together in `FEWEST_TOGETHER` dialogs or more and in `TOGETHER` or more of the occurrences of their
    rarest word. Words of fewer dialogs, and words that the corpus does not have, count as common.

    Args:
        dialogs: columns of `dialogs.TURNS`; both sides are read.
        ngrams: words of the longest term, 1 or more.
    """
    ours = default_terms()
    spread: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    size = 0
    for texts in _by_dialog(dialogs):
        said: Counter[str] = Counter()
        for text in texts:
            said.update(_sequences(ours.terms(text), ngrams))
        counts.update(said)
        spread.update(said.keys())
        size += 1
    everywhere = {
        term for term, n in spread.items() if " " not in term and size >= FEWEST and n >= NEARLY_ALL * size
    }
    common = ours.common | everywhere
    fewest = min(FEWEST, size)
    alone = {term for term, n in spread.items() if " " not in term and n >= fewest and term not in common}
    together = {
        term
        for term, n in spread.items()
        if " " in term
        and n >= FEWEST_TOGETHER
        and counts[term] >= TOGETHER * min(counts[word] for word in term.split())
    }
    return TermLists(frozenset(common), ours.stop, frozenset(alone | together))


def _sequences(terms: list[tuple[str, Kind]], ngrams: int) -> Iterator[str]:
    """Every word of a text but its stop words, and every sequence of such words that no stop word parts."""
    run: list[str] = []
    for term, kind in terms:
        if kind == "stop":
            run = []
            continue
        run.append(term)
        yield from (" ".join(run[-size:]) for size in range(1, min(ngrams, len(run)) + 1))


def _by_dialog(dialogs: pl.DataFrame) -> Iterator[list[str]]:
    """What was said in each dialog, by either side."""
    said = dialogs.group_by("dialog", maintain_order=True).agg(pl.concat_list("user", "bot").alias("said"))
    for turns in said["said"].to_list():
        yield [text for turn in turns for text in turn]


class TermSource(BaseModel):
    """Where the kinds of terms come from; by default the shipped lists of common words and stop words.

    A file is a list in place of ours: UTF-8, one term per line, words of a term separated by a space, lines
    that begin with "#" left out; nothing is inflected. With `learn_from`, lists are learned from dialogs
    as `learn_terms` tells, and files stand in place of the list that was learned.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    domain: PlanPath | None = Field(None, description="Domain-specific terms")
    common: PlanPath | None = Field(None, description="Words in common use")
    stop: PlanPath | None = Field(None, description="Stop words")
    learn_from: DialogSource | None = Field(None, description="Dialogs to learn the lists from")
    ngrams: int = Field(1, ge=1, le=4, description="Words of the longest term that is learned")
    # Declared after the files, whose checked values it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the lists, filled in; refuses changed files"
    )

    @field_validator("domain", "common", "stop")
    @classmethod
    def _with_lists(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        if value is not None:
            _listed(value, f"{PLACE}.{info.field_name}")
        return value

    @field_validator("content")
    @classmethod
    def _the_same_files(cls, value: str, info: ValidationInfo) -> str:
        named = [info.data[kind] for kind in KINDS if info.data.get(kind) is not None]
        return check_content(named, value, PLACE) if named else value

    def __hash__(self) -> int:
        return hash((self.content, self.learn_from, self.ngrams))

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the files in place of where they lie."""
        facts = {f"own_{kind}": getattr(self, kind) is not None for kind in KINDS}
        corpus = None if self.learn_from is None else self.learn_from.identity()
        return {**facts, "learn_from": corpus, "ngrams": self.ngrams, "content": self.content}

    def lists(self) -> TermLists:
        """The lists, read or learned once.

        Raises:
            PlanError: a file cannot be read, or is not the one that was rated.
        """
        return _lists(self)


@lru_cache(maxsize=8)
def _lists(source: TermSource) -> TermLists:
    named = {kind: getattr(source, kind) for kind in KINDS}
    given = {kind: _listed(file, f"{PLACE}.{kind}") for kind, file in named.items() if file is not None}
    if given:
        check_content([file for file in named.values() if file is not None], source.content, PLACE)
    found = (
        default_terms() if source.learn_from is None else learn_terms(source.learn_from.read(), source.ngrams)
    )
    if not given:
        return found
    return TermLists(
        given.get("common", found.common), given.get("stop", found.stop), given.get("domain", found.domain)
    )


def _listed(file: Path, place: str) -> frozenset[str]:
    """The terms of a file, a line each.

    Raises:
        PlanError: the file cannot be read, holds no term, or a line that is none.
    """
    text, _ = read_text(file, place)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    terms = [(number, line, " ".join(words(line))) for number, line in lines]
    odd = next(((number, line) for number, line, term in terms if not term), None)
    if odd is not None:
        raise fault(file, place, f"line {odd[0]} is no term", must="letters", got=short(odd[1]))
    if not terms:
        raise fault(file, place, "the file lists no term", must="one term per line")
    return frozenset(term for _, _, term in terms)


def topic_questions() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Things of some field ("photosynthesis"), and questions with places for {one} and {other} of them."""
    table = _table()["topics"]
    return tuple(table["names"]), tuple(table["questions"])


def _all(classes: Mapping[str, str]) -> list[str]:
    return [word for text in classes.values() for word in text.split()]


def _table() -> dict[str, Any]:
    return package_table(__package__, "terms.toml")
