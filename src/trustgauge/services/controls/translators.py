"""Translators with known behaviour, asked beside every target of the two-step method (methods 0.9).

A control finds the words of an attribute in a text and replaces them, sentence by sentence; everything
else stays as it is. Random choices come from a hash of (seed, text, draw, sentence), so the answers do not
depend on the order of the texts.

With the task `score` it answers a number instead: +.8 for each mention of the first value, -.8
for the second, 0 for the residual, the mean over the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from trustgauge.data import (
    ATTRIBUTES,
    WORD,
    Attribute,
    AttributeSetting,
    Shares,
    article,
    load_attribute,
    resolve,
    share_faults,
    word_pattern,
)
from trustgauge.errors import Fault, raise_faults, sentence
from trustgauge.records import Message, Task
from trustgauge.services.controls import Answer, ControlSpec, uniform

Behaviour = Literal["identity", "all", "lose", "shift", "swap", "coin"]

FORMS = "identity, coin, lost, all-VALUE, lose-RATE, swap-RATE, shift-RATE"
SCORES = (0.8, -0.8, 0.0)  # what is answered for the first value, the second and the residual
WORDLESS = "—"  # stands for a residual value that has no words: no reader takes it for one
ENDS = re.compile(r"[.!?…。！？](?=\s|$)|\n")
# Words after which no noun of "her" or "his" follows.
JOINING = re.compile(r"when|while|as|and|or|but|because|if|at|in|on|to|for|with|yesterday", re.IGNORECASE)


class TranslatorControl(ControlSpec):
    """A translator or scorer with known behaviour.

    Behaviours: `identity` changes nothing; `all` turns every mention into `value`; `lose` turns a
    `share` of the mentions into the residual; `shift` turns a `share` of `from_value` into
    `to_value`, one way; `swap` exchanges both for a `share`; `coin` draws every mention at random from
    `distribution`.

    Attributes:
        task: `score` answers with a number, `chat` with a text.
        into: a language with a table of nouns: the occupations of gender, as they are in it (two-step 1.11).
        source: with `into = "en"`, a language that does not say who is he or she: the usual gender of the
            occupation is the value that is kept or changed.
        behaviour: what it does with mentions of the attribute.
        attribute: a shipped attribute, or a table.
    """

    use: str = "anchor"
    task: Task = "translate"
    behaviour: Behaviour = "identity"
    attribute: AttributeSetting = "gender"
    value: str = Field("", description="For `all`; default the first value")
    from_value: str = Field("", description="For `shift` and `swap`; default the second value")
    to_value: str = Field("", description="For `shift` and `swap`; default the first value")
    share: float = Field(1.0, ge=0, le=1, description="Share of mentions changed")
    distribution: Shares = Field({}, description="For `coin`; default the first balanced distribution")
    span: tuple[float, float] = Field(
        (-1.0, 1.0), description="Lowest and highest score, with the task score"
    )
    into: str = Field("", description="Language that it translates into; empty: it answers in English")
    source: Literal["", "et", "eu", "fa", "fi", "hu", "tr"] = Field(
        "", description='With into = "en": language that does not say who is he or she'
    )

    @model_validator(mode="after")
    def _known_values(self) -> Self:
        faults = (
            [*share_faults("distribution", [self.distribution], self.table.values)]
            if self.distribution
            else []
        )
        for place, given in (
            ("value", self.value),
            ("from_value", self.from_value),
            ("to_value", self.to_value),
        ):
            if given and given not in self.table.values:
                must = "one of: " + ", ".join(self.table.values)
                faults.append(Fault(place, f'no value "{given}"', must=must))
        faults += self._into_faults()
        raise_faults(faults)
        return self

    def _into_faults(self) -> list[Fault]:
        if self.source:
            must = 'into = "en", and the attribute gender'
            fits = self.into == "en" and self.attribute == "gender"
            return (
                []
                if fits
                else [Fault("source", "only English pronouns are written", must=must, got=self.into)]
            )
        if not self.into:
            return []
        from trustgauge.data.noun_gender import LANGUAGES  # only plans that ask for it

        if self.into in LANGUAGES and self.table.name == "gender":
            return []
        must = "one of: " + ", ".join(LANGUAGES) + ", with the attribute gender"
        return [Fault("into", f'no sentences in "{self.into}"', must=must)]

    @property
    def table(self) -> Attribute:
        """The attribute with its words."""
        if self.source:
            from trustgauge.data.neutral_source import neutral_source  # only plans that ask for it

            return neutral_source(self.source).attribute
        return resolve(self.attribute)

    def identity(self) -> Mapping[str, Any]:
        """The settings and the words themselves, which a name alone does not fix."""
        words = self.table.model_dump(mode="json", include={"values", "words"})
        settings = {
            name: value
            for name, value in super().identity().items()
            if (name not in ("into", "source") or value) and (name != "span" or self.span != (-1.0, 1.0))
        }
        return {**settings, "words": words}

    def rates(self) -> list[list[float]]:
        """The true P(out = o | in = g), C lists of C shares (two-step 1.7)."""
        size = len(self.table.values)
        rows = []
        for given in range(size):
            row = [0.0] * size
            for cut, value in self._outcomes(given):
                row[value] += cut
            rows.append(row)
        return rows

    def become(self, given: int, drawn: float) -> int:
        """The value that a mention of value `given` turns into; `drawn` is uniform in [0, 1)."""
        outcomes = self._outcomes(given)
        bounds = list(accumulate(share for share, _ in outcomes))
        # The last bound may fall short of 1 by rounding.
        return outcomes[min(bisect_right(bounds, drawn), len(outcomes) - 1)][1]

    def _outcomes(self, given: int) -> list[tuple[float, int]]:
        """What a value turns into: (share, value), shares adding up to 1."""
        table = self.table
        origin = table.values.index(self.from_value) if self.from_value else min(1, table.other)
        to = table.values.index(self.to_value) if self.to_value else 0
        if self.behaviour == "all":
            return [(1.0, table.values.index(self.value) if self.value else 0)]
        if self.behaviour == "coin":
            shares = self.distribution or table.default_unbiased()[0]
            return [(share, table.values.index(value)) for value, share in shares.items() if share > 0]
        target = given
        if self.behaviour == "lose":
            target = table.other
        elif given == origin and self.behaviour in ("shift", "swap"):
            target = to
        elif given == to and self.behaviour == "swap":
            target = origin
        return [(self.share, target), (1 - self.share, given)]

    @classmethod
    def named(cls, model: str) -> Self:
        """`coin`, `all-he`, `shift-0.60`, ... of gender, or of another attribute: `valence/coin`.

        `all-VALUE` finds the value in whichever shipped attribute has it.

        Raises:
            ValueError: no control has this name.
        """
        attribute, _, form = model.rpartition("/")
        word, _, rest = form.lower().partition("-")
        settings: dict[str, Any] = {"attribute": attribute or "gender"}
        if attribute and attribute not in ATTRIBUTES:
            raise ValueError(sentence(f'no attribute "{attribute}"', "one of: " + ", ".join(ATTRIBUTES)))
        if word == "all" and rest:
            return cls.model_validate(_all_of(rest, (attribute,) if attribute else ("gender", *ATTRIBUTES)))
        if word in ("lose", "swap", "shift") and re.fullmatch(r"0?\.\d+|1(\.0+)?|0", rest):
            settings |= {"behaviour": word, "share": float(rest)}
        elif form.lower() == "lost":
            settings |= {"behaviour": "lose"}
        elif form.lower() in ("identity", "coin"):
            settings |= {"behaviour": form.lower()}
        else:
            raise ValueError(
                sentence(f'no control "{model}"', f"one of: {FORMS}", do="Example: anchor/shift-0.60")
            )
        if load_attribute(settings["attribute"]).scored:
            settings["task"] = "score"
        return cls.model_validate(settings)

    def answer(self) -> Answer:
        if self.source:
            return NeutralTranslation(self).write
        if self.into:
            return Translation(self).write
        mentions = Mentions(self)
        return mentions.score if self.task == "score" else mentions.rewrite


def _all_of(name: str, attributes: Sequence[str]) -> dict[str, Any]:
    for attribute in attributes:
        table = load_attribute(attribute)
        for value in table.values:
            if value.lower() == name:
                task = "score" if table.scored else "translate"
                return {"behaviour": "all", "value": value, "attribute": attribute, "task": task}
    known = sorted({value.lower() for one in attributes for value in load_attribute(one).values})
    raise ValueError(sentence(f'no value "{name}"', "one of: " + ", ".join(known)))


class Mentions:
    """The mentions of a text, each turned into the value that the control gives it."""

    def __init__(self, control: TranslatorControl) -> None:
        self.control = control
        self.table = control.table
        self.forms: dict[str, list[tuple[int, str, int]]] = {}  # word -> (value, role, rank)
        for index, value in enumerate(self.table.values):
            for role, group in self.table.forms(value).items():
                for rank, form in enumerate(group):
                    self.forms.setdefault(form.lower(), []).append((index, role, rank))
        self.expression = re.compile(word_pattern(list(self.forms)), re.IGNORECASE)

    def rewrite(self, message: Message) -> str:
        """The text with its mentions changed; the unchanged ones keep their very characters."""
        target = self._targets(message)

        def change(match: re.Match[str]) -> str:
            value, role, rank = self._form(match, message.text)
            found = target(match, value)
            return match[0] if found == value else _cased(self._word(found, role, rank), match[0])

        return self.expression.sub(change, message.text)

    def score(self, message: Message) -> float:
        """The mean of the mentions' scores, 0 without a mention."""
        target = self._targets(message)
        values = [
            target(match, self._form(match, message.text)[0])
            for match in self.expression.finditer(message.text)
        ]
        scores = [SCORES[2] if value == self.table.other else SCORES[min(value, 1)] for value in values]
        score = sum(scores) / len(scores) if scores else 0.0
        low, high = self.control.span
        return score if (low, high) == (-1.0, 1.0) else low + (score + 1) / 2 * (high - low)

    def _targets(self, message: Message) -> Callable[[re.Match[str], int], int]:
        """What a mention of a value becomes; mentions of one sentence share their draw."""
        ends = [match.end() for match in ENDS.finditer(message.text)]

        def target(match: re.Match[str], value: int) -> int:
            slot = bisect_left(ends, match.end())
            return self.control.become(
                value, uniform(self.control.seed, f"{slot}\0{message.text}", message.draw)
            )

        return target

    def _form(self, match: re.Match[str], text: str) -> tuple[int, str, int]:
        """Value, role and rank of a word. "her" and "his" are possessive where a noun follows."""
        candidates = self.forms[match[0].lower()]
        if len(candidates) == 1:
            return candidates[0]
        after = re.match(r"\s+(\w+)", text[match.end() : match.end() + 40])
        noun = after is not None and not JOINING.fullmatch(after[1])
        fitting = [one for one in candidates if (one[1] == "possessive") == noun]
        return (fitting or candidates)[0]

    def _word(self, value: int, role: str, rank: int) -> str:
        forms = self.table.forms(self.table.values[value])
        if not forms:
            return WORDLESS
        group = forms.get(role) or next(iter(forms.values()))
        return group[rank % len(group)]


class Translation:
    """The attribute's sentences in another language, each person in the gender that the control gives."""

    def __init__(self, control: TranslatorControl) -> None:
        from trustgauge.data.noun_gender import GENDERS, noun_gender  # only plans that ask for it

        self.control, self.genders = control, GENDERS
        self.nouns = noun_gender(control.into)
        table = control.table
        self.known = {
            table.write(pattern, item, value, 0).rstrip("."): (pattern, item, number)
            for pattern in table.patterns
            for item in table.item_list
            for number, value in enumerate(table.values)
        }

    def write(self, message: Message) -> str:
        """The translation; a sentence that is none of the attribute's stays as it is."""
        return " ".join(
            self._sentence(sentence, place, message)
            for place, sentence in enumerate(filter(None, map(str.strip, ENDS.split(message.text))))
        )

    def _sentence(self, sentence: str, place: int, message: Message) -> str:
        if sentence not in self.known:
            return f"{sentence}."
        pattern, item, value = self.known[sentence]
        drawn = uniform(self.control.seed, f"{place}\0{message.text}", message.draw)
        become = self.control.become(value, drawn)
        return self.nouns.write(pattern, item, self.genders[min(become, len(self.genders) - 1)])


class NeutralTranslation:
    """A neutral sentence in English, with the pronoun that the control gives its person."""

    def __init__(self, control: TranslatorControl) -> None:
        from trustgauge.data.neutral_source import neutral_source  # only plans that ask for it

        self.control = control
        source = neutral_source(control.source)
        table = source.attribute
        self.known = {
            table.write(pattern, item, name, rank): (source.english[word], value)
            for pattern in table.patterns
            for item in table.item_list
            for value, name in enumerate(table.values[:-1])
            for rank, word in enumerate(table.forms(name)[WORD])
        }

    def write(self, message: Message) -> str:
        """The translation; a text that is none of the language's stays as it is."""
        if message.text not in self.known:
            return message.text
        occupation, value = self.known[message.text]
        become = self.control.become(value, uniform(self.control.seed, message.text, message.draw))
        pronoun = ("He is", "She is", "They are")[become]
        return f"{pronoun} {article(occupation)} {occupation}."


def _cased(word: str, like: str) -> str:
    """The word in the case of another: CAPITALS, Capitalised, or as it is."""
    if like.isupper() and len(like) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
