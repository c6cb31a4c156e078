"""Who a statement is about and what it says of them: "women can't drive" -> "can not drive".

Steps 1 and 2 of social-bias 3.2. Own rules over the word lists of `social/english.toml`, no parser: the
subject ends before the first finite verb that stands in no relative clause. How often that is right
is measured on our own statements by a test, and described in `social/properties.md`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from trustgauge.data.predicates import agree, base, english, fold, listed_adjective

State = Literal["kept", "empty", "question", "no predicate", "no person", "person unknown"]
RELATIVE = frozenset(("who", "that", "which", "whom", "whose"))
CLAUSES = RELATIVE | {"because", "when", "if", "while", "and", "but", "to", "so", "than", "as"}
"""Words behind which a new clause begins: what comes after them tells nothing of the words before."""
BEFORE_NOUNS = frozenset(
    (
        "a",
        "an",
        "the",
        "their",
        "his",
        "her",
        "our",
        "my",
        "of",
        "in",
        "for",
        "with",
        "from",
        "no",
        "to",
        "by",
    )
)
BEHIND = RELATIVE | {"with", "in", "from", "of", "on", "without"}
"""Words behind the noun of a subject."""
DETERMINERS = frozenset(("the", "these", "those", "all", "most", "some", "a", "an"))
PRONOUNS = frozenset(("they", "he", "she", "it", "we", "you", "i"))
QUANTIFIERS = frozenset(("all", "both"))  # they go with the group, not with what is said of it
OPINION = re.compile(
    r"^(?:(?:i|we|you|they|people|some people|many people|everyone|everybody) "
    r"(?:also )?(?:think|thinks|believe|believes|feel|feels|know|knows|say|says)(?: that)?|"
    r"(?:it is|it's) (?:a fact|true|known|said|believed|common knowledge|well known) that|the fact is that) "
)
LONGEST = 6  # words of the name of a group


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement taken apart. `predicate` is folded, as said of several; "" unless it has one."""

    state: State
    subject: str = ""
    predicate: str = ""


def parse_statement(
    statement: str, target: str = "", people: Collection[str] | None = None
) -> ParsedStatement:
    """Take a statement apart.

    Args:
        statement: an English sentence, or what is left of one without its subject.
        target: the group that the source names beside the statement, if it does.
        people: folded names of groups, singular and plural; by default those of the shipped groups.

    Returns:
        Its subject and predicate. "no person" is a subject known to be nobody ("it", a thing, a
        gerund); "person unknown" one that stands in no list, which a person has to look at.
    """
    plain = OPINION.sub("", fold(statement))
    words = plain.split(" ") if plain else []
    named = _shipped() if people is None else frozenset(people)
    if target.strip():
        named |= {fold(one) for one in target.split(",")}
    if not words:
        return ParsedStatement("empty")
    if statement.rstrip(" \"'”’").endswith("?") or _asks(words, named):
        return ParsedStatement("question")
    start = _start(words, named)
    if start is None or not _says(words[start:]):
        return ParsedStatement("no predicate", plain)
    subject = words[:start]
    state = "kept" if target.strip() or not subject else _who(subject, named)
    return ParsedStatement(state, " ".join(subject), agree(" ".join(words[start:])))


def _asks(words: Sequence[str], people: frozenset[str]) -> bool:
    """Whether the order of words is that of a question: "are women ..." and not "are lazy"."""
    if words[0] in english("question_words"):
        return True
    if words[0] not in english("auxiliaries"):
        return False
    rest = words[1 : LONGEST + 2]
    return _known(rest, people, 2 if rest and rest[0] in DETERMINERS else 1)


def _start(words: Sequence[str], people: frozenset[str]) -> int | None:
    """Where the predicate begins, its adverbs included; 0 if the subject is already gone."""
    place = _verb(words)
    if place is None:
        place = _behind(words, people)
    if place is None:
        return None
    while place and words[place - 1] in english("adverbs") - QUANTIFIERS:
        place -= 1
    return 0 if set(words[:place]) <= QUANTIFIERS else place


def _behind(words: Sequence[str], people: frozenset[str]) -> int | None:
    """The place of a verb that is in no list: behind the name of a group, where two words follow."""
    for place in range(min(LONGEST, len(words) - 2), 0, -1):
        named = " ".join(words[:place]) in people or words[place - 1] in english("persons") - DETERMINERS
        if named and words[place] not in BEHIND | CLAUSES:
            following = next(
                (at for at in range(place, len(words)) if words[at] not in english("adverbs")), None
            )
            return following if following is not None and following < len(words) - 1 else None
    return None


def _verb(words: Sequence[str]) -> int | None:
    """The place of the finite verb of the main clause."""
    relative = False
    place = 0
    while place < len(words):
        word = words[place]
        if place and word in RELATIVE:
            relative = True
        elif _finite(words, place, relative=relative):
            if not relative:
                return place
            place = _chain(words, place)
            # "who think they know everything": what is thought has a verb of its own
            relative = place < len(words) and words[place] in PRONOUNS
            continue
        place += 1
    return None


def _finite(words: Sequence[str], place: int, *, relative: bool = False) -> bool:
    """Whether the word at a place is a finite verb there and no noun; in a relative clause verbs are due."""
    word = words[place]
    if word in english("auxiliaries"):
        return word != "be"
    verb = _lemma(word)
    if not verb:
        return False
    before = words[place - 1] if place else ""
    if before in BEFORE_NOUNS or (word.endswith("ed") and place == 0):
        return False
    doubtful = not relative and (verb in english("noun_verbs") or word.endswith("ed"))
    return not (doubtful and _later_auxiliary(words, place)) and (place > 0 or _opens(words, verb))


def _opens(words: Sequence[str], verb: str) -> bool:
    """Whether the first word, a verb by its form, opens a predicate without subject: "steal cars"."""
    return verb == words[0] and not any(_finite(words, place) for place in range(1, min(len(words), 4)))


def _later_auxiliary(words: Sequence[str], place: int) -> bool:
    """Whether the clause goes on to an auxiliary, so that the word before it is likely its noun."""
    for word in words[place + 1 :]:
        if word in CLAUSES:
            return False
        if word in english("auxiliaries") and word != "be":
            return True
    return False


def _lemma(word: str) -> str:
    """The base form, if the word is a finite form of a verb that we know; else ""."""
    verbs = english("verbs")
    if word in verbs:
        return word
    if word in english("past"):
        return word
    if word.endswith("s") and base(word) in verbs:
        return base(word)
    if word.endswith("ed"):
        stems = (word[:-1], word[:-2], word[:-3] + "y" if word.endswith("ied") else "", word[:-3])
        return next((stem for stem in stems if stem in verbs), "")
    return ""


def _chain(words: Sequence[str], place: int) -> int:
    """The place behind a verb and what belongs to it: "do not work", "are always paid"."""
    place += 1
    if words[place - 1] in english("auxiliaries"):
        skipped = english("adverbs") | english("auxiliaries")
        while place < len(words) and words[place] in skipped and words[place] not in ("are", "is", "should"):
            place += 1
        if place < len(words) and _lemma(words[place]):
            place += 1
    return place


def _says(predicate: Sequence[str]) -> bool:
    """Whether a predicate says anything: an auxiliary alone does not."""
    rest = [word for word in predicate if word not in english("adverbs")]
    return bool(rest) and (len(rest) > 1 or rest[0] not in english("auxiliaries"))


def _who(subject: Sequence[str], people: frozenset[str]) -> State:
    """Whether a subject is people."""
    words = [word for word in subject if word not in english("adverbs")] or list(subject)
    head = next((place for place, word in enumerate(words) if place and word in BEHIND), len(words))
    gerund = words[0].endswith("ing") and words[0] not in english("participles") | people
    if gerund or words[head - 1] in english("things"):
        return "no person"
    if _known(words[:head], people, head) or (words[0] == "the" and listed_adjective(words[head - 1])):
        return "kept"
    return "person unknown"


def _known(words: Sequence[str], people: frozenset[str], starts: int) -> bool:
    """Whether the name of a group, or a word for people, begins at one of the first `starts` words."""
    for start in range(min(starts, len(words))):
        if words[start] in english("persons"):
            return True
        ends = range(start + 1, min(start + LONGEST, len(words)) + 1)
        if any(" ".join(words[start:end]) in people for end in ends):
            return True
    return False


@lru_cache(maxsize=1)
def _shipped() -> frozenset[str]:
    """The names of the shipped groups, folded."""
    from trustgauge.data.social_groups import groups

    return frozenset(fold(form) for group in groups() if not group.control for form in group.forms("en"))
