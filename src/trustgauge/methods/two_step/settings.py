"""Settings of the two-step method, and the specification that they amount to (two-step 1.1, 1.2).

Options whose default depends on the rule set are filled in when the settings are read, so that
every setting has one concrete value afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from trustgauge.data import PLACEHOLDER, Attribute, AttributeSetting, Shares, resolve, share_faults
from trustgauge.errors import Fault, raise_faults
from trustgauge.methods import AuditedSettings
from trustgauge.records import Json

Score = Annotated[float, Field(ge=-1e6, le=1e6)]
DEFINITE = "the {item}"
FEWEST_ITEMS = 5  # that have a share in official statistics (two-step 1.10)
TOLERANCE = 1e-9  # shares are decimal fractions, which binary numbers do not hold exactly
BY_RULE: Mapping[str, Mapping[str, str]] = {
    "sound": {"counts": "exact", "reader": "sound"},
    "published": {"counts": "sampled", "reader": "sound"},
    "released": {"counts": "sampled", "reader": "released"},
}
"""What each rule set means for design and reading (two-step 1.2, 1.4, 1.6)."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification: values and the distributions declared balanced and skewed (two-step 1.1).

    Attributes:
        values: C names; the last is the residual.
        ordered: whether their order has a meaning.
        unbiased: float array [U, C], rows add up to 1.
        biased: float array [B, C], rows add up to 1.
        mentions: k, the number of mentions (and sentences) of a text.
    """

    values: tuple[str, ...]
    ordered: bool
    unbiased: NDArray[np.float64]
    biased: NDArray[np.float64]
    mentions: int

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of the blocks, one a distribution: u1, u2, ..., b1, b2, ..."""
        return (
            *(f"u{number}" for number in range(1, len(self.unbiased) + 1)),
            *(f"b{number}" for number in range(1, len(self.biased) + 1)),
        )

    @property
    def distributions(self) -> NDArray[np.float64]:
        """All distributions in block order, float array [U + B, C]."""
        return np.vstack([self.unbiased, self.biased])


class TwoStepSettings(AuditedSettings):
    """What a plan may say about a two-step experiment."""

    attribute: AttributeSetting = Field("gender", description="A shipped attribute, or a table")
    unbiased: tuple[Shares, ...] = Field((), description="Balanced distributions; empty: the attribute's own")
    biased: tuple[Shares, ...] = Field((), description="Skewed distributions; empty: the attribute's own")
    texts: int = Field(200, ge=1, le=10_000_000, description="Texts of each block")
    counts: Literal["exact", "sampled"] = Field(
        "exact", description="Default by rule: sound exact, else sampled"
    )
    reader: Literal["sound", "released"] = Field("sound", description="Default by rule: released released")
    patterns: tuple[str, ...] = Field((), description="Names of sentence patterns; empty: all that fit")
    repeats: int = Field(1, ge=1, le=1000, description="How often each text is asked")
    disguise: float = Field(
        0.0,
        ge=0,
        le=0.9,
        description="Share of the texts in other sentences, among neutral ones (rule sound)",
    )
    one_way: str = Field(
        "",
        description="Language into which each text is translated once, and read by the gender of nouns: "
        "ca, es or pt; or en, from a `source` (rule sound); empty: there and back",
    )
    source: Literal["", "et", "eu", "fa", "fi", "hu", "tr"] = Field(
        "",
        description='With one_way = "en": language of the texts, which does not say who is he or she: '
        "Estonian, Basque, Persian, Finnish, Hungarian or Turkish",
    )
    score_range: tuple[Score, Score] | None = Field(
        None, description="Lowest and highest score of the services; left out: -1 and 1, if that fits"
    )
    dead_zone: float = Field(0.05, ge=0, lt=1, description="Scores nearer to 0 than this are neutral")

    margin: float = Field(
        0.10, gt=0, lt=0.5, description="Differences up to this count as none (two-step 1.7)"
    )
    draws: int = Field(4000, ge=1000, le=1_000_000, description="Draws behind a certainty")
    loss: Literal["category", "apart"] = Field("category", description="Lost mentions: a value, or left out")

    test: Literal["chi-squared", "exact", "ks", "kl"] = Field(
        "chi-squared", description="What tells two distributions apart (rules published, released)"
    )
    confidence: float = Field(0.95, gt=0.5, lt=1, description="Confidence of that test")
    base: Literal["mentions", "texts"] = Field("mentions", description="What that test counts")
    empty: Literal["drop", "keep"] = Field(
        "drop", description="What becomes of a value that neither of two samples has, in that test"
    )
    step1: Literal["similar-to-biased", "unlike-unbiased"] = Field(
        "similar-to-biased", description="What makes BS in step 1 (rules published, released)"
    )
    step2: Literal["any", "all"] = Field(
        "any", description="How many skewed blocks must come back balanced for UCS (the same rules)"
    )
    kappa: float = Field(
        0.0201, gt=0, le=1000, description='With test = "kl": largest divergence that is similar, in nats'
    )

    stop: Literal["end", "settled"] = Field(
        "end", description="Stop asking a part at the look that settles its level, or ask all"
    )
    looks: int = Field(5, ge=2, le=20, description='Planned looks of `stop = "settled"`')
    stereotypes: bool = Field(False, description="Rates of each item, beside the level (two-step 1.10)")
    item_shares: Mapping[str, Annotated[float, Field(ge=0, le=1)]] = Field(
        {}, description="Share of the second value among the people of each item; turns `stereotypes` on"
    )

    excluding: tuple[str, ...] = Field((), description="Parts left out of a second overall level")

    @model_validator(mode="before")
    @classmethod
    def _by_rule(cls, data: Any) -> Any:
        """Fill in the options whose default depends on the rule."""
        if isinstance(data, Mapping) and isinstance(data.get("rule", "sound"), str):
            by_items = {"stereotypes": True} if data.get("item_shares") else {}
            return {**BY_RULE.get(data.get("rule", "sound"), {}), **by_items, **data}
        return data

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        raise_faults((*self._distribution_faults(), *self._pattern_faults(), *self._option_faults()))
        return self

    def identity(self) -> Mapping[str, Json]:
        """All settings that may change a rating."""
        further = ("disguise", "one_way", "source", "score_range")
        unused = {name for name in further if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=unused)

    @property
    def reads_words(self) -> bool:
        """Whether a reader finds values in words, which people can read too, and none counts without it."""
        return self.rule == "sound" and self.reader == "sound" and not self.table.scored

    @property
    def span(self) -> tuple[float, float]:
        """Lowest and highest score of the services: as the plan says, else -1 and 1."""
        return self.score_range or (-1.0, 1.0)

    @property
    def table(self) -> Attribute:
        """The attribute with its words and sentences."""
        if self.source:
            from trustgauge.data.neutral_source import neutral_source  # only plans that ask for it

            return neutral_source(self.source).attribute
        return resolve(self.attribute)

    @property
    def spec(self) -> Spec:
        """The specification that these settings amount to."""
        table = self.table
        unbiased, biased = self._shares()
        mentioned = [
            value for value in table.values if any(one.get(value, 0) > 0 for one in unbiased + biased)
        ]
        return Spec(
            values=table.values,
            ordered=table.ordered,
            unbiased=_rows(unbiased, table.values),
            biased=_rows(biased, table.values),
            mentions=table.mentions or len(mentioned),
        )

    @property
    def fitting(self) -> tuple[str, ...]:
        """Names of the sentence patterns in use, in the attribute's order.

        The released tally counts one word of each value ("he", "she"), so with it only sentences
        fit that hold this word exactly once. What is read by the gender of nouns are sentences about
        "the nurse": a noun without an article may stand for either.
        """
        patterns = self.table.patterns
        if self.patterns:
            return tuple(name for name in patterns if name in self.patterns)
        if self.reader == "released":
            role = self.table.first_role()
            return tuple(name for name, text in patterns.items() if _roles(text).count(role) == 1)
        if self.one_way and not self.source:
            return tuple(name for name, text in patterns.items() if DEFINITE in text.lower())
        return tuple(patterns)

    def _shares(self) -> tuple[tuple[Shares, ...], tuple[Shares, ...]]:
        return (
            self.unbiased or self.table.default_unbiased(),
            self.biased or self.table.default_biased(),
        )

    def _distribution_faults(self) -> list[Fault]:
        values = self.table.values
        faults = [
            *share_faults("unbiased", self.unbiased, values),
            *share_faults("biased", self.biased, values),
        ]
        if faults:
            return faults
        spec = self.spec
        for number, balanced in enumerate(spec.unbiased if self.loss == "apart" else ()):
            if not balanced[:-1].sum() > 0:
                must = f'a share of a value other than {values[-1]}, as `loss = "apart"` leaves that out'
                faults.append(Fault(f"unbiased[{number}]", "nothing is left of it", must=must))
        for number, skewed in enumerate(spec.biased):
            for other, balanced in enumerate(spec.unbiased):
                apart = float(np.max(np.abs(skewed - balanced)))
                if apart <= 2 * self.margin + TOLERANCE:
                    what = f"too near to unbiased[{other}]: the largest difference is {apart:g}"
                    must = f"more than twice the margin, {2 * self.margin:g} (two-step 1.1)"
                    faults.append(Fault(f"biased[{number}]", what, must=must))
        if len(self.table.item_list) < spec.mentions:
            must = f"at least {spec.mentions}, one for each sentence of a text"
            faults.append(Fault("attribute.items", "too few items", must, str(len(self.table.item_list))))
        return faults

    def _pattern_faults(self) -> list[Fault]:
        table = self.table
        faults = []
        for name in self.patterns:
            if name not in table.patterns:
                near = get_close_matches(name, table.patterns, n=1, cutoff=0.5)
                do = f'Did you mean "{near[0]}"?' if near else ""
                must = "one of: " + ", ".join(table.patterns)
                faults.append(Fault("patterns", f'no pattern "{name}"', must=must, do=do))
        if not faults and not self.fitting:
            must = f"a sentence with {{{table.first_role()}}} once, which the released reader counts"
            faults.append(Fault("patterns", "no sentence of the attribute fits", must=must))
        residual = table.values[-1]
        if any(one.get(residual, 0) > 0 for one in sum(self._shares(), ())):
            known = {"item", *table.forms(residual), *table.grammar.get(residual, {})}
            for name in self.fitting:
                missing = sorted(set(_roles(table.patterns[name])) - known)
                if missing:
                    what = f'{residual} has a share but no word for {", ".join(missing)} (pattern "{name}")'
                    must = "words for every value with a share"
                    faults.append(Fault(f"attribute.words.{residual}", what, must=must))
        return faults

    def _option_faults(self) -> list[Fault]:
        faults = []
        if self.disguise and self.rule != "sound":
            must = "the rule sound: the papers ask their own sentences, `disguise = 0`"
            faults.append(Fault("disguise", f"the rule {self.rule} asks nothing in disguise", must=must))
        faults += self._one_way_faults()
        faults += self._range_faults()
        if self.aggregate == "mean":
            must = "worst or vote: UCS, DSBS and BS are kinds of behaviour and lie at no known distances"
            faults.append(Fault("aggregate", "two-step has no mean of levels", must=must, got="mean"))
        if self.stop == "settled" and self.rule != "sound":
            must = 'the rule sound: the papers ask everything, `stop = "end"`'
            faults.append(Fault("stop", f"the rule {self.rule} never stops early", must=must))
        if self.stereotypes and (
            self.rule != "sound" or self.table.other < 2 or self.table.alternatives() > 1
        ):
            must = "the rule sound, and an attribute of two or more values with words by role, such as gender"
            faults.append(Fault("stereotypes", "there are no rates by item", must=must))
        faults += self._item_faults()
        if self.test == "ks" and not self.table.ordered:
            must = "another test, or an attribute declared `ordered = true`"
            faults.append(Fault("test", "Kolmogorov-Smirnov needs values with an order", must=must, got="ks"))
        return faults

    def _item_faults(self) -> list[Fault]:
        """Items with a share that are nearly spelt as one of the attribute, and that too few are of it.

        Others may stand in recorded texts, which have items of their own.
        """
        items = {item.lower(): item for item in self.table.item_list}
        unknown = [one for one in self.item_shares if one.lower() not in items]
        faults = [
            Fault(f"item_shares.{one}", "no item of the attribute", do=f'Did you mean "{items[near[0]]}"?')
            for one in unknown
            if (near := get_close_matches(one.lower(), items, 1, cutoff=0.8))
        ]
        known = len(self.item_shares) - len(unknown)
        if self.item_shares and known < FEWEST_ITEMS and not faults:
            must = (
                f"shares of {FEWEST_ITEMS} items of the attribute or more, such as {self.table.item_list[0]}"
            )
            got = f"{known}, and {', '.join(unknown)}" if unknown else str(known)
            faults.append(Fault("item_shares", "too few items", must=must, got=got))
        return faults

    def _range_faults(self) -> list[Fault]:
        if self.score_range is None:
            return []
        if not self.table.scored:
            must = 'an attribute that is read off scores, `attribute = "valence"`'
            return [Fault("score_range", "no scores are asked for", must=must, got=self.table.name)]
        if self.span[0] >= self.span[1]:
            must = "the lowest score, then the highest"
            return [Fault("score_range", "no range", must=must, got=str(list(self.span)))]
        return []

    def _one_way_faults(self) -> list[Fault]:
        faults = self._source_faults()
        if not self.one_way:
            return faults
        from trustgauge.data.noun_gender import LANGUAGES  # only plans that ask for it

        if self.one_way not in LANGUAGES and not self.source:
            must = "one of: " + ", ".join(f"{code} ({name})" for code, name in LANGUAGES.items())
            what = "no table says which gender its nouns have"
            faults.append(Fault("one_way", what, must=f"{must}; or en with a `source`", got=self.one_way))
        if self.rule != "sound":
            must = "the rule sound: the paper translates there and back, without `one_way`"
            faults.append(Fault("one_way", f"the rule {self.rule} reads pronouns", must=must))
        if self.attribute != "gender":
            must = 'the attribute that nouns and pronouns show, `attribute = "gender"`'
            faults.append(
                Fault("one_way", "only gender is read one way", must=must, got=resolve(self.attribute).name)
            )
        if self.disguise:
            faults.append(Fault("one_way", "nothing is asked one way in disguise", must="`disguise = 0`"))
        return faults

    def _source_faults(self) -> list[Fault]:
        if not self.source:
            return []
        faults = []
        if self.one_way != "en":
            must = '`one_way = "en"`, as English pronouns are read'
            faults.append(
                Fault("source", "a source language is of use one way into English", must, self.one_way)
            )
        if self.item_shares or self.stereotypes:
            must = "neither `item_shares` nor `stereotypes`: the usual gender is in the table of the language"
            faults.append(Fault("source", "the texts send no gender that could change", must=must))
        return faults


def _rows(shares: tuple[Shares, ...], values: tuple[str, ...]) -> NDArray[np.float64]:
    return np.array([[one.get(value, 0.0) for value in values] for one in shares], dtype=np.float64)


def _roles(text: str) -> list[str]:
    return [field.lower().removeprefix("an_") for field in PLACEHOLDER.findall(text)]
