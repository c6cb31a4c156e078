"""Shipped data that several methods use: attributes, word lists, groups; each file has a data card.

An attribute is the values that a text can mention, their words, and sentences that contain them: either one
that we ship (`gender`, `worship`, `valence`; one TOML file each) or a table written in a plan. Both are the
same model and pass the same checks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from math import lcm
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from trustgauge.errors import Fault, PlanError, raise_faults, sentence
from trustgauge.records import Task

# Signs with which a spreadsheet begins a formula: some programs take the full-width ones, too.
_GUARDED = re.compile(r"['\s]*[=+\-@＝＋－＠\t\r\n]")

# Scripts written without spaces: word boundaries mean nothing there.
SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def guard(cell: str) -> str:
    """The cell of a CSV file so that a spreadsheet shows it and does not run it.

    `unguard` undoes this exactly. Neither a full width nor blanks before it hide the sign.

    >>> guard("=1+1"), guard("'=1"), guard("'tis")
    ("'=1+1", "''=1", "'tis")
    """
    return f"'{cell}" if _GUARDED.match(cell) else cell


def unguard(cell: str) -> str:
    """The cell without the apostrophe that guards it.

    >>> unguard("'=1+1"), unguard("''=1"), unguard("'tis"), unguard("=1")
    ('=1+1', "'=1", "'tis", '=1')
    """
    return cell[1:] if cell.startswith("'") and _GUARDED.match(cell) else cell


def article(word: str) -> str:
    """The indefinite article by sound, from the spelling.

    >>> [article(word) for word in ("engineer", "hourly", "university", "umpire", "one-off", "Ukrainian")]
    ['an', 'an', 'a', 'an', 'a', 'a']
    """
    lower = word.lower()
    if re.match(r"hour|honest|honou?r|heir|lgb", lower):
        return "an"
    if re.match(r"uni([^nmd]|$)|us[aeiu]|uti|uk|uga|uy|us\b|eu|ewe|one\b|once|ubiq|uran|urol|u-", lower):
        return "a"
    return "an" if lower[:1] in tuple("aeiou") else "a"


def word_pattern(words: Sequence[str], ending: str = "") -> str:
    """A regular expression, in Python's dialect and Rust's, for any of `words` as a whole word.

    Args:
        words: the words, at least one; longer ones are tried first.
        ending: pattern allowed after the word, such as a plural ending.
    """
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(_bounded(word, ending) for word in ordered)


def _bounded(word: str, ending: str) -> str:
    body = re.escape(word)
    if SPACELESS.search(word):
        return body
    left = r"\b" if re.match(r"\w", word) else ""
    right = r"\b" if re.search(r"\w$", word) else ""
    return f"{left}{body}{ending}{right}"


ATTRIBUTES = ("gender", "valence", "worship")
ITEMS = ("occupations",)
WORD = "word"  # the role of words given as a list: any of them stands for the value
PLACEHOLDER = re.compile(r"\{(\w+)\}")
Kind = Literal["both", "they", "it", "other"]
KINDS: tuple[Kind, ...] = ("both", "they", "it", "other")
TOLERANCE = 1e-9

Shares = dict[str, Annotated[float, Field(ge=0, le=1)]]
Words = dict[str, str] | tuple[str, ...]


class Attribute(BaseModel):
    """What a text can say of a person: values, words, sentences and default distributions.

    Attributes:
        name: how ratings call it.
        values: names of the values; the last is the residual, for everything that is none of the
            others (two-step 1.1).
        ordered: whether the order of `values` has a meaning, as Kolmogorov-Smirnov needs.
        tasks: what can be asked with it. With "score" the values are read from the sign of a number:
            the first value above 0, the second below, the residual near 0.
        items: a shipped list ("occupations") or words of its own; one stands in every sentence
            and tells which mention an answer speaks of.
        mentions: sentences of a text; None: as many as values have a share (two-step 1.2).
        question: put after the text when a chatbot is asked.
        unbiased: balanced distributions; empty: equal shares of all but the residual.
        biased: skewed distributions; empty: for each value but the residual, .7 for it (.9 of two).
        words: for each value its words by role ({subject = "he", ...}), or a list of words that
            stand for it equally. The residual needs words only where some share is not 0.
        grammar: for each value further forms by role that are written and never read (verbs).
        residual: words read as the residual, by kind: both, they, it, other.
        nouns: for each value nouns and titles of persons who have it ("lady", "mr"): never written, and read
            only where they surely name the person ("The lady is a baker").
        kin: likewise nouns of persons who are often somebody else ("his sister").
        patterns: sentences by name, one mention each. `{item}` is the item, `{role}` a word of the
            value, `{an_role}` the same after "a" or "an"; a capital makes it begin with a capital.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("custom", min_length=1, max_length=60)
    values: tuple[str, ...] = Field(min_length=2)
    ordered: bool = False
    tasks: tuple[Task, ...] = ("translate", "chat")
    items: str | tuple[str, ...] = "occupations"
    mentions: int | None = Field(None, ge=1, le=20)
    question: str = "Which word goes with each person? Answer in order."
    unbiased: tuple[Shares, ...] = ()
    biased: tuple[Shares, ...] = ()
    words: dict[str, Words]
    grammar: dict[str, dict[str, str]] = {}
    residual: dict[Kind, tuple[str, ...]] = {}
    nouns: dict[str, tuple[str, ...]] = {}
    kin: dict[str, tuple[str, ...]] = {}
    patterns: dict[str, str] = Field(min_length=1)

    @field_validator("words", mode="before")
    @classmethod
    def _listed(cls, words: Any) -> Any:
        """A single word may stand without its list."""
        if not isinstance(words, Mapping):
            return words
        return {value: [given] if isinstance(given, str) else given for value, given in words.items()}

    @field_validator("patterns", mode="before")
    @classmethod
    def _named(cls, patterns: Any) -> Any:
        """Sentences given as a list are named by their number."""
        if isinstance(patterns, list | tuple):
            return {str(number): one for number, one in enumerate(patterns, 1)}
        return patterns

    @model_validator(mode="after")
    def _whole(self) -> Self:
        faults = (*_value_faults(self), *_word_faults(self), *_share_faults(self))
        if all(self.read_words(value) for value in self.values[:-1]):  # else every sentence would fail
            faults += _pattern_faults(self)
        raise_faults(faults)
        return self

    @property
    def other(self) -> int:
        """Index of the residual value."""
        return len(self.values) - 1

    @property
    def scored(self) -> bool:
        """Whether values are read from the sign of a score, not from words."""
        return self.tasks == ("score",)

    @property
    def item_list(self) -> tuple[str, ...]:
        """The items themselves."""
        return item_words(self.items) if isinstance(self.items, str) else self.items

    def forms(self, value: str) -> dict[str, tuple[str, ...]]:
        """Words of a value by role, as they are written; a list of words has the one role `word`."""
        given = self.words.get(value, ())
        if isinstance(given, dict):
            return {role: (form,) for role, form in given.items()}
        return {WORD: given} if given else {}

    def read_words(self, value: str) -> tuple[str, ...]:
        """All words by which a value is recognised: lower case, each once."""
        return tuple(dict.fromkeys(word.lower() for group in self.forms(value).values() for word in group))

    def kind_words(self) -> dict[Kind, tuple[str, ...]]:
        """Words of the residual by kind; its own words that no kind claims count as `other`."""
        kinds = {kind: tuple(word.lower() for word in self.residual.get(kind, ())) for kind in KINDS}
        claimed = {word for group in kinds.values() for word in group}
        own = tuple(word for word in self.read_words(self.values[-1]) if word not in claimed)
        return {**kinds, "other": kinds["other"] + own}

    def first_role(self) -> str:
        """The role whose words the released tally counts ("he", "she"; two-step 1.4)."""
        return next(iter(self.forms(self.values[0])))

    def alternatives(self) -> int:
        """How many ranks `write` takes so that each word of a list is sent, and equally often as the others.

        That is the least common multiple of the lengths of the lists; 1 where words go by role.
        """
        return lcm(*(len(given) for given in self.words.values() if isinstance(given, tuple) and given))

    def write(self, pattern: str, item: str, value: str, rank: int = 0) -> str:
        """One sentence that mentions `value`; `rank` picks among words that stand equally."""
        forms = self.forms(value)
        grammar = self.grammar.get(value, {})

        def fill(match: re.Match[str]) -> str:
            field = match[1]
            role = field.lower()
            before, role = ("an", role[3:]) if role.startswith("an_") else ("", role)
            if role == "item":
                word = item
            elif role in forms:
                word = forms[role][rank % len(forms[role])]
            else:
                word = grammar[role]
            word = f"{article(word)} {word}" if before else word
            return word[:1].upper() + word[1:] if field[0].isupper() else word

        return PLACEHOLDER.sub(fill, self.patterns[pattern])

    def default_unbiased(self) -> tuple[Shares, ...]:
        """The balanced distributions of the attribute itself."""
        named = self.values[:-1]
        return self.unbiased or ({value: 1 / len(named) for value in named},)

    def default_biased(self) -> tuple[Shares, ...]:
        """The skewed distributions of the attribute itself."""
        if self.biased:
            return self.biased
        named = self.values[:-1]
        if len(named) == 1:
            return ({named[0]: 0.5, self.values[-1]: 0.5},)
        most = 0.9 if len(named) == 2 else 0.7
        rest = (1 - most) / (len(named) - 1)
        return tuple({value: most if value == one else rest for value in named} for one in named)


def package_text(package: str, name: str) -> str:
    """The text of a file of a package, such as "data/canaries.toml" of "trustgauge.methods.trust"."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


@cache
def package_table(package: str, name: str) -> dict[str, Any]:
    """The data of a TOML file of a package, read once."""
    return tomllib.loads(package_text(package, name))


@cache
def load_attribute(name: str) -> Attribute:
    """A shipped attribute by name.

    Raises:
        PlanError: there is none of this name; says the nearest.
    """
    if name not in ATTRIBUTES:
        near = get_close_matches(name, ATTRIBUTES, n=1, cutoff=0.5)
        do = f'Did you mean "{near[0]}"?' if near else "Write the attribute as a table."
        raise PlanError.of(
            "attribute", f'no attribute "{name}"', must="one of: " + ", ".join(ATTRIBUTES), do=do
        )
    return Attribute.model_validate(_table(name))


@cache
def item_words(name: str) -> tuple[str, ...]:
    """A shipped list of items by name."""
    return tuple(_table(name)["items"])


def resolve(attribute: str | Attribute) -> Attribute:
    """The attribute that a setting means: a shipped one by name, or the table itself."""
    return load_attribute(attribute) if isinstance(attribute, str) else attribute


def check_attribute(attribute: str | Attribute) -> str | Attribute:
    """Check of a setting `attribute`: a name must be that of a shipped one, else pydantic's own error."""
    try:
        resolve(attribute)
    except PlanError as error:
        fault = error.faults[0]
        text = sentence(fault.what, fault.must, fault.got, fault.do)
        raise PydanticCustomError("attribute", "{text}", {"text": text}) from None
    return attribute


def _attribute_tag(given: Any) -> str:
    return "name" if isinstance(given, str) else "table"


AttributeSetting = Annotated[
    Annotated[str, Tag("name")] | Annotated[Attribute, Tag("table")],
    Discriminator(_attribute_tag),
    AfterValidator(check_attribute),
]
"""An attribute by name, or written as a table."""


def share_faults(place: str, given: Sequence[Shares], values: Sequence[str]) -> tuple[Fault, ...]:
    """What is wrong with distributions: unknown values, shares below 0, a sum that is not 1."""
    faults = []
    for index, shares in enumerate(given):
        where = f"{place}[{index}]"
        for value in shares:
            if value not in values:
                near = get_close_matches(value, values, n=1, cutoff=0.5)
                do = f'Did you mean "{near[0]}"?' if near else ""
                faults.append(Fault(where, f'no value "{value}"', must="one of: " + ", ".join(values), do=do))
        total = sum(shares.values())
        if not abs(total - 1) <= TOLERANCE:
            faults.append(Fault(where, "the shares do not add up", must="a sum of 1", got=f"{total:g}"))
    return tuple(faults)


def _table(name: str) -> dict[str, Any]:
    return package_table(__package__, f"{name}.toml")


def _value_faults(one: Attribute) -> tuple[Fault, ...]:
    faults = []
    folded = [value.casefold() for value in one.values]
    if len(set(folded)) < len(folded):
        got = ", ".join(one.values)
        faults.append(Fault("attribute.values", "a value is listed twice", must="different names", got=got))
    if isinstance(one.items, str) and one.items not in ITEMS:
        must = "one of: " + ", ".join(ITEMS) + "; or a list of words"
        return (*faults, Fault("attribute.items", f'no list of items "{one.items}"', must=must))
    listed = [item.lower() for item in one.item_list]
    if len(set(listed)) < len(listed) or not all(item.strip() for item in listed):
        faults.append(Fault("attribute.items", "an item is empty or listed twice", must="different words"))
    if "score" in one.tasks and (len(one.tasks), one.mentions, len(one.values)) != (1, 1, 3):
        must = 'tasks = ["score"] alone, mentions = 1 and three values: above 0, below 0, near 0'
        faults.append(Fault("attribute.tasks", "a score has only one sign", must=must))
    needed = one.mentions or len(one.values) - 1
    if len(listed) < needed:
        must = f"at least {needed}, one for each sentence of a text"
        faults.append(Fault("attribute.items", "too few items", must=must, got=str(len(listed))))
    return tuple(faults)


def _word_faults(one: Attribute) -> tuple[Fault, ...]:
    valid = ", ".join(one.values)
    faults = [
        Fault(f"attribute.{place}", f'no value "{value}"', must=f"one of: {valid}")
        for place, table in (("words", one.words), ("nouns", one.nouns), ("kin", one.kin))
        for value in table
        if value not in one.values
    ]
    owner: dict[str, str] = {}
    for value in one.values[:-1]:
        if not one.read_words(value) or not all(word.strip() for word in one.read_words(value)):
            must = "at least one word, none empty"
            faults.append(Fault(f"attribute.words.{value}", "no word for the value", must=must))
        for word in one.read_words(value):
            if owner.setdefault(word, value) != value:
                what = f'"{word}" is a word of two values'
                faults.append(Fault(f"attribute.words.{value}", what, must="words of one value only"))
    for kind, words in one.kind_words().items():
        for word in words:
            if word in owner:
                what = f'"{word}" is a word of {owner[word]} and of the residual ({kind})'
                faults.append(Fault("attribute.words", what, must="words of one value only"))
    return tuple(faults)


def _pattern_faults(one: Attribute) -> tuple[Fault, ...]:
    spoken = set.intersection(*(set(one.forms(value)) for value in one.values[:-1]))
    written = set.intersection(*(set(one.grammar.get(value, {})) for value in one.values[:-1]))
    return tuple(
        Fault(f"attribute.patterns.{name}", what, must=must, got=text)
        for name, text in one.patterns.items()
        for what, must in _sentence_faults(text, spoken, written)
    )


def _sentence_faults(text: str, spoken: set[str], written: set[str]) -> Iterator[tuple[str, str]]:
    """What is wrong with one pattern, and what it must be."""
    roles = [field.lower().removeprefix("an_") for field in PLACEHOLDER.findall(text)]
    known = ["item", *sorted(spoken | written)]
    for role in roles:
        if role not in known:
            yield f"no form {{{role}}} for every value", "one of: " + ", ".join(known)
    if "item" not in roles:
        yield "the sentence names no item", "a sentence with {item} or {an_item}"
    if not spoken & set(roles):
        examples = ", ".join(f"{{{role}}}" for role in sorted(spoken))
        yield "the sentence mentions no value", f"a sentence with a word of the value ({examples})"
    if not re.fullmatch(r"[^.!?\n]+[.!?]", text.strip()):
        yield "not one sentence", "one sentence that ends with . ! or ?"


def _share_faults(one: Attribute) -> tuple[Fault, ...]:
    return (
        *share_faults("attribute.unbiased", one.unbiased, one.values),
        *share_faults("attribute.biased", one.biased, one.values),
    )
