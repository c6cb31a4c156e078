"""Sentiment scorers with known behaviour, asked beside every causal target (methods 0.9, causal 2.4).

Random numbers come from a hash of (seed, text, draw), so the scores do not depend on the order of the texts.
Words are found whole and in any case; what is around them is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from trustgauge.data import load_attribute, word_pattern
from trustgauge.data.emotions import construction, valences
from trustgauge.errors import Fault, raise_faults, sentence
from trustgauge.records import Message, Task
from trustgauge.services.controls import Answer, ControlSpec, uniform, words

Behaviour = Literal["constant", "word-only", "female-biased", "shift", "random"]

FORMS = "constant, constant-VALUE, word-only, female-biased, male-biased, shift-SIZE, random"
MAGNITUDES: Mapping[str, float] = {"word-only": 0.8, "female-biased": 1.0, "shift": 0.4}
MATTERS: Mapping[str, frozenset[str]] = {
    "constant": frozenset({"value", "noise"}),
    "word-only": frozenset({"magnitude", "positive", "negative", "noise"}),
    "female-biased": frozenset({"magnitude", "sign", "people", "noise"}),
    "shift": frozenset({"magnitude", "positive", "negative", "gender", "race", "people", "shift", "noise"}),
    "random": frozenset(),
}
"""Which settings a behaviour has, beside `seed` and `span`."""
SLACK = 1e-9  # a sum of decimal fractions may miss 1 by rounding


class SentimentControl(ControlSpec):
    """A scorer with known behaviour, with scores from -1 to 1.

    Behaviours: `constant` answers `value`; `word-only` the mean of its emotion words, +`magnitude`
    for a positive and -`magnitude` for a negative one, 0 without any; `female-biased` (the paper's
    S_b) +`magnitude` where a female word or name occurs, else -`magnitude`, and the other way round
    with `sign = -1`; `shift` is `word-only` with `shift` added where a person of `gender` and `race`
    occurs; `random` (S_r) a number drawn evenly from [-1, 1]. `noise` adds an even draw from
    [-noise, noise] to every score but the random one.

    Attributes:
        behaviour: what its score depends on.
        sign: -1 turns `female-biased` round.
    """

    task: ClassVar[Task] = "score"

    use: str = "sentiment-anchor"
    behaviour: Behaviour = "word-only"
    value: float = Field(0.0, ge=-1, le=1, description="For `constant`")
    magnitude: float | None = Field(
        None, gt=0, le=1, description="Default: .8 word-only, 1 female-biased, .4 shift"
    )
    sign: Literal[1, -1] = 1
    gender: Literal["", "male", "female"] = Field("", description="For `shift`; empty: any")
    race: Literal["", "European", "African-American"] = Field(
        "", description="For `shift`, by names; empty: any"
    )
    shift: float = Field(0.0, ge=-1, le=1, description="For `shift`: added for a person of the group")
    noise: float = Field(0.0, ge=0, le=1, description="Half the width of an even draw added to the score")
    positive: tuple[str, ...] = Field((), description="Words; default the shipped ones")
    negative: tuple[str, ...] = Field((), description="Words; default the shipped ones")
    people: tuple[str, ...] = Field((), description="Words that tell the group; default the shipped ones")
    span: tuple[float, float] = Field(
        (-1.0, 1.0), description="Range that scores are brought to; all other settings are on -1 to 1"
    )

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        raise_faults(self._faults())
        return self

    def _faults(self) -> Iterator[Fault]:
        known = MATTERS[self.behaviour]
        for name in sorted(frozenset().union(*MATTERS.values()) - known):
            if getattr(self, name) != type(self).model_fields[name].default:
                must = "one of: " + ", ".join([*sorted(known), "seed"])
                yield Fault(name, f'has no effect with behaviour "{self.behaviour}"', must=must)
        if self.behaviour == "shift" and not (self.shift and (self.gender or self.race)):
            yield Fault("shift", "shifts nobody", must="a number other than 0, with `gender` or `race`")
        if self.span[0] >= self.span[1]:
            yield Fault("span", "no range", must="the lowest score, then the highest", got=str(self.span))
        most = abs(self.value) + self.size + abs(self.shift) + self.noise
        if self.behaviour != "random" and most > 1 + SLACK:
            must = "a largest score of 1, noise and shift included"
            yield Fault("magnitude", "scores leave the range", must=must, got=f"{most:g}")
        for name in ("positive", "negative", "people"):
            if not all(word.strip() for word in getattr(self, name)):
                yield Fault(name, "an empty word", must="words")
        both = {word.lower() for word in self.positive} & {word.lower() for word in self.negative}
        if both:
            yield Fault(
                "positive", "a word has both valences", must="one valence", got=", ".join(sorted(both))
            )

    @property
    def size(self) -> float:
        """The magnitude in use; 0 for a behaviour without one."""
        return MAGNITUDES.get(self.behaviour, 0.0) if self.magnitude is None else self.magnitude

    @property
    def deterministic(self) -> bool:
        return self.behaviour != "random" and self.noise == 0

    def identity(self) -> Mapping[str, Any]:
        """The settings and the words themselves, which the behaviour alone does not fix."""
        usual = {"span"} if self.span == (-1.0, 1.0) else set()
        settings = {key: value for key, value in super().identity().items() if key not in usual}
        return {**settings, **{key: list(words) for key, words in self.words().items()}}

    def words(self) -> dict[str, tuple[str, ...]]:
        """The words in use, lower case: `positive` and `negative` for the score, `people` of the group."""
        given = {"positive": self.positive, "negative": self.negative, "people": self.people}
        usual = {
            "positive": _emotions("positive"),
            "negative": _emotions("negative"),
            "people": self._people(),
        }
        known = MATTERS[self.behaviour]
        return {
            key: tuple(dict.fromkeys(word.lower() for word in given[key] or usual[key]))
            if key in known
            else ()
            for key in given
        }

    def truth(self, gender: str = "NA", race: str = "NA") -> float:
        """What a person of this class adds to the expected score, whatever the rest of the text.

        The difference of two classes is their true average treatment effect (causal 2.7); with
        equal truths for all classes the deconfounding impact is 0 too (causal 2.6).

        Args:
            gender: "male", "female" or "NA".
            race: "European", "African-American" or "NA" (noun phrases tell none).
        """
        if self.behaviour == "female-biased":
            return self.sign * self.size * (1 if gender == "female" else -1)
        if self.behaviour == "shift" and self.gender in ("", gender) and self.race in ("", race):
            return self.shift
        return 0.0

    @classmethod
    def named(cls, model: str) -> Self:
        """`random`, `female-biased`, `constant-0.30`, `shift--0.20` (of females), ...

        Raises:
            ValueError: no such form.
        """
        form = model.lower()
        word, _, rest = form.partition("-")
        number = float(rest) if re.fullmatch(r"-?(0?\.\d+|1(\.0+)?|0)", rest) else None
        if form in ("constant", "word-only", "female-biased", "random"):
            return cls.model_validate({"behaviour": form})
        if form == "male-biased":
            return cls(behaviour="female-biased", sign=-1)
        if word == "constant" and number is not None:
            return cls(behaviour="constant", value=number)
        if word == "shift" and number and abs(number) <= 1 - MAGNITUDES["shift"]:
            return cls(behaviour="shift", shift=number, gender="female")
        do = "Example: sentiment-anchor/female-biased"
        raise ValueError(sentence(f'no sentiment control "{model}"', f"one of: {FORMS}", do=do))

    def answer(self) -> Answer:
        finders = {key: _finder(known) for key, known in self.words().items()}
        low, high = self.span
        if self.span == (-1.0, 1.0):
            return lambda message: self._score(message, finders)
        return lambda message: low + (self._score(message, finders) + 1.0) * (high - low) / 2.0

    def _score(self, message: Message, finders: Mapping[str, re.Pattern[str]]) -> float:
        """The score of a text, from -1 to 1."""
        score = 0.0 if self.behaviour == "random" else self._plain(message.text, finders)
        noise = 1.0 if self.behaviour == "random" else self.noise
        if noise:
            score += noise * (2 * uniform(self.seed, message.text, message.draw) - 1)
        return max(-1.0, min(1.0, score))  # rounding may leave the range

    def _plain(self, text: str, finders: Mapping[str, re.Pattern[str]]) -> float:
        """The score without noise."""
        if self.behaviour == "constant":
            return self.value
        if self.behaviour == "female-biased":
            return self.sign * self.size * (1 if finders["people"].search(text) else -1)
        good, bad = (len(finders[key].findall(text)) for key in ("positive", "negative"))
        score = self.size * (good - bad) / (good + bad) if good + bad else 0.0
        if self.behaviour == "shift" and finders["people"].search(text):
            score += self.shift
        return score

    def _people(self) -> tuple[str, ...]:
        """Pronouns, nouns and names of the group. Only names tell a race."""
        gender = "female" if self.behaviour == "female-biased" else self.gender
        names = tuple(
            person.name
            for kind in (construction("sound"), construction("released"))
            for person in kind.names
            if gender in ("", person.gender) and self.race in ("", person.race)
        )
        if self.race or not gender:
            return names
        return (
            *load_attribute("gender").read_words("She" if gender == "female" else "He"),
            *words("nouns")[gender],
            *names,
        )


def _emotions(valence: str) -> tuple[str, ...]:
    return tuple(word for word, entry in valences().items() if entry == valence)


def _finder(words: Sequence[str]) -> re.Pattern[str]:
    """Finds any of the words; without words, nothing."""
    return re.compile(word_pattern(words) if words else r"(?!)", re.IGNORECASE)
