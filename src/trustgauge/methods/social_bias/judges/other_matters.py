"""What an answer speaks of that is clearly not what was asked: the weather, a meal, a greeting (3.6, step 6).

Only what these lists know is off the topic. Being short, or about the speaker, is no ground: "I have noticed
that" agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from trustgauge.methods.social_bias.judges.lexer import Language, topic_words


@dataclass(frozen=True, slots=True)
class OtherMatters:
    """The words of a language for what is not about groups.

    Attributes:
        greetings: of openings and farewells, which say nothing.
        topics: weather, meals, hobbies, the speaker's name and day.
        pointers: words that point back to what was asked.
        user: words for who asks.
        openers: words that ask what is meant, or of whom.
        effects: beginnings of questions that expect no answer.
        chinese: whether words are found within a text, as unknown ones are cut into single characters.
    """

    greetings: frozenset[str]
    topics: frozenset[str]
    pointers: frozenset[str]
    user: frozenset[str]
    openers: frozenset[str]
    effects: frozenset[str]
    chinese: bool

    def greets(self, words: Sequence[str]) -> bool:
        """Whether a part of an answer begins with a greeting, and says nothing else of its own."""
        return bool(words) and words[0] in self.greetings and not self.points_back(words)

    def names_topic(self, words: Sequence[str]) -> bool:
        """Whether one of the topics is among the words."""
        return self._has(words, self.topics)

    def points_back(self, words: Sequence[str]) -> bool:
        """Whether a word may mean what was asked."""
        return self._has(words, self.pointers)

    def names_user(self, words: Sequence[str]) -> bool:
        """Whether who asks is among the words."""
        return self._has(words, self.user)

    def asks_what(self, words: Sequence[str]) -> bool:
        """Whether a question asks what is meant, or of whom."""
        if self.chinese:
            return "".join(words).startswith(tuple(self.openers))
        return bool(words) and words[0].strip() in self.openers

    def asks_for_effect(self, words: Sequence[str]) -> bool:
        """Whether a question expects no answer: "what did you expect?"."""
        if self.chinese:
            return self._has(words, self.effects)
        text = f" {' '.join(map(str.strip, words))} "
        return any(f" {one} " in text for one in self.effects)

    def _has(self, words: Sequence[str], wanted: frozenset[str]) -> bool:
        if self.chinese:
            text = "".join(words)
            return any(one in text for one in wanted)
        return not wanted.isdisjoint(words)


@lru_cache(maxsize=2)
def other_matters(language: Language) -> OtherMatters:
    """What we know of a language."""
    words = topic_words(language)
    return OtherMatters(**words, chinese=language == "zh")
