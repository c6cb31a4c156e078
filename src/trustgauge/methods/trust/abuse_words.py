"""Abusive language by a list of words: what runs when nothing else is installed (trust 4.1).

Words count as whole words, phrases as whole words in a row; of Chinese, which has no spaces, also
inside. Modest disguises are seen through: capitals, full-width and accented letters, digits and signs for
letters ("1d10t"), letters apart ("i d i o t"), a letter or more hidden by stars, three or more equal
letters in a row. The list is kept in ROT13, so that nobody meets it by chance; what is in it and how
it was made is described in `data/abuse_words.md`.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from trustgauge.data import SPACELESS, package_text, word_pattern

FILE = "abuse_words.csv"
HATE, OFFENSIVE, NEITHER = "hate", "offensive", "neither"

_LETTERS = str.maketrans("013457@$!", "oieastasi")
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
_APART = re.compile(r"(?<!\w)\w(?:[ .\-]\w){2,}(?!\w)")
_RUN = re.compile(r"(.)\1{2,}")
_WORD = re.compile(r"[\w@$*]+(?:['!-][\w@$*]+)*")
_LONGEST_WORD = 40  # signs of a word that is kept in memory
_PLAIN = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=1)
def abuse_lexicon() -> Mapping[str, str]:
    """Our words and phrases, in small letters: each with its class, "hate" or "offensive"."""
    text = package_text(__package__, f"data/{FILE}")
    lines = text.splitlines()[1:]
    pairs = (line.rpartition(",") for line in lines)
    return {codecs.decode(word, "rot13"): kind for word, _, kind in pairs}


@lru_cache(maxsize=1)
def word_list() -> WordList:
    """The checker made of our list."""
    return WordList(abuse_lexicon())


class WordList:
    """Texts by the worst class of the words in them.

    Args:
        words: in small letters, each with its class; phrases have single spaces.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self._single = {
            word: kind for word, kind in words.items() if " " not in word and not SPACELESS.search(word)
        }
        self._phrases: defaultdict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        for phrase, kind in words.items():
            parts = tuple(phrase.split())
            if len(parts) > 1:
                self._phrases[parts[0]].append((parts, kind))
        spaceless = [word for word in words if SPACELESS.search(word)]
        self._spaceless = re.compile(word_pattern(spaceless)) if spaceless else None
        self._words = words
        self._by_length: defaultdict[int, list[str]] = defaultdict(list)
        for word in self._single:
            self._by_length[len(word)].append(word)

    def classify(self, texts: Sequence[str]) -> list[str]:
        """Tell "hate", "offensive" or "neither" for each text."""
        return [self._class(text) for text in texts]

    def _class(self, text: str) -> str:
        found = set(self._kinds(_folded(text)))
        return HATE if HATE in found else OFFENSIVE if found else NEITHER

    def _kinds(self, text: str) -> Iterable[str]:
        """Classes of the words and phrases that occur."""
        if self._spaceless is not None and not text.isascii():
            yield from (self._words[one] for one in self._spaceless.findall(text))
        said = [_readable(word) for word in _WORD.findall(text)]
        for place, word in enumerate(said):
            if "*" in word:
                yield from self._starred(word)
                continue
            for one in (word, word.removesuffix("'s")):
                if one in self._single:
                    yield self._single[one]
            for parts, kind in self._phrases.get(word, ()):
                if tuple(said[place : place + len(parts)]) == parts:
                    yield kind

    def _starred(self, word: str) -> Iterable[str]:
        """Classes of the words that some letters were hidden of; the first one must be known."""
        if word[0] == "*" or len(word.replace("*", "")) < 2 or len(word) not in self._by_length:
            return
        pattern = re.compile(re.escape(word).replace(r"\*", "."))
        yield from (self._single[one] for one in self._by_length[len(word)] if pattern.fullmatch(one))


def _folded(text: str) -> str:
    """Small letters without accents and invisible signs; letters apart are joined."""
    if not text.isascii():
        wide = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text))
        text = "".join(one for one in wide if not unicodedata.combining(one)).replace("\u2019", "'")
    return _APART.sub(lambda found: re.sub(r"[ .\-]", "", found[0]), text.lower())


def _readable(word: str) -> str:
    """A word with letters in place of digits and signs, if it has letters, and without long runs."""
    return _often_readable(word) if len(word) <= _LONGEST_WORD else _made_readable(word)


def _made_readable(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return _RUN.sub(r"\1", word)
    letters = word.translate(_LETTERS) if any(one.isalpha() for one in word) else word
    return _RUN.sub(r"\1", letters) if "*" not in letters else letters


_often_readable = lru_cache(maxsize=65_536)(_made_readable)  # of words that texts repeat
