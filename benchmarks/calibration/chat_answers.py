"""Chatbots of known bias on the questions of a plan: their verdicts, or what they say as text.

A bot's answers are drawn for all questions of a plan at once. The true excess and gap of each bot follow
from how it is built, so the true level is known. A bot that `speaks` answers in text, which the method itself
reads (`spoken`). The verdicts of the others stand where the judge would put them; with `errors` it errs on
single answers as often as it did on our labelled ones (methods 0.10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration.spoken import kind_of, slots_of, text_of
from trustgauge.methods.social_bias import votes
from trustgauge.methods.social_bias.judge_accuracy import TERSE, by_style
from trustgauge.methods.social_bias.method import SocialBias

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.object_]
ONE_QUESTION = ("tuple", "attribute", "group_a", "group_b", "property", "form", "repeat")
"""What tells the questions of a plan apart."""

NOBODY, FIRST, SECOND = 0, 1, 2
"""Whom an absolute answer favours: nobody, group a, group b."""


class Questions:
    """The questions of a plan in the order of its summary, and what the bots must know of them."""

    def __init__(self, method: SocialBias, seed: int) -> None:
        asked = pl.concat(method.design(seed, "chat")).with_columns(
            service=pl.lit("bot"), part=pl.lit(""), status=pl.lit("answered"), verdict=pl.lit("")
        )
        self.method, self.seed = method, seed
        self.empty = method.summarise(asked)
        rows = self.empty
        self.asked = rows.select(*ONE_QUESTION).join(
            asked, on=ONE_QUESTION, how="left", maintain_order="left"
        )
        self.absolute = (rows["tuple"] == "absolute").to_numpy()
        self.control = rows["control"].to_numpy()
        self.choice = (rows["kind"] == "choice").to_numpy()
        self.why = (rows["kind"] == "why").to_numpy()
        self.positive = (rows["polarity"] == "positive").to_numpy()
        self.second = (rows["favours"] == "b").to_numpy()
        self.reversed = rows["form"].is_in(["c1r", "c2r"]).to_numpy()
        self.properties = _codes(rows, "property")
        self.units = _codes(rows, *votes.UNIT, pl.col("form").replace_strict(votes.PARTNERS, default=""))
        self.attributes = rows["attribute"].to_numpy()
        self.groups = rows["group_a"].to_numpy()
        self.attribute_property = _codes(rows, "attribute", "property")
        self.group_property = _codes(rows, "attribute", "group_a", "property")
        twos = pl.col("form").is_in(["r", "a"])
        self.pairs_of_forms = _codes(rows, "attribute", "group_a", "property", twos.alias("_twos"))

    def first_group(self, attribute: str) -> str:
        """The first real group asked about."""
        real = (one for one in self.method.asked_groups if one.attribute == attribute and not one.control)
        return next(real).id

    def by_attribute(self, planted: Mapping[str, float]) -> Floats:
        """What is planted in the attribute of each question, 0 where nothing is."""
        found = np.zeros(len(self.attributes))
        for name, value in planted.items():
            found[self.attributes == name] = value
        return found

    def read(self, verdicts: Texts, style: str, rng: np.random.Generator) -> pl.DataFrame:
        """The summary of a bot that says these verdicts in this style, as the method reads its text."""
        groups = {one.id: one for one in self.method.asked_groups}
        properties = {one.id: one for one in self.method.asked_properties}
        outputs = []
        columns = ("group_a", "group_b", "property", "kind", "favours")
        for verdict, (a, b, prop, kind, favours) in zip(
            verdicts, self.asked.select(columns).iter_rows(), strict=True
        ):
            first, second = groups[a], groups.get(b or "")
            if second is not None and kind != "choice" and favours == "b":
                first, second = second, first
            slots = slots_of(properties[prop], first, second)
            outputs.append(text_of(verdict, kind_of(kind, pair=second is not None), style, slots, rng))
        output, error = pl.Series(outputs, dtype=pl.String), pl.lit(None, pl.String)
        answered = self.asked.with_columns(output=output, error=error, trail=error, shared=pl.lit(value=True))
        return self.method.summarise(self.method.score(answered))

    def opposites(self, style: str, rng: np.random.Generator) -> tuple[int, int]:
        """Choices in a style that are read as the opposite of what was meant, and all that are read."""
        read = self.read(by_habit(self, "first"), style, rng)
        sides = read.filter(pl.col("kind") == "choice", pl.col("verdict").is_in(["chooses-a", "chooses-b"]))
        meant = (
            pl.when(pl.col("form").is_in(["c1r", "c2r"]))
            .then(pl.lit("chooses-b"))
            .otherwise(pl.lit("chooses-a"))
        )
        return sides.filter(pl.col("verdict") != meant).height, sides.height

    def summary(self, verdicts: Texts, lost: NDArray[np.bool_] | None = None) -> pl.DataFrame:
        """The summary of a bot with these verdicts; those of `lost` answers failed."""
        status = pl.Series("status", ["answered"]).new_from_index(0, len(verdicts))
        told = pl.Series("verdict", verdicts, dtype=pl.String)
        found = self.empty.with_columns(told, status)
        if lost is None:
            return found
        gone = pl.Series(lost)
        return found.with_columns(
            verdict=pl.when(gone).then(pl.lit("")).otherwise("verdict"),
            status=pl.when(gone).then(pl.lit("failed")).otherwise("status"),
        )


def _codes(rows: pl.DataFrame, *keys: str | pl.Expr) -> Ints:
    """A number for each combination of keys, from 0."""
    named = [pl.col(one) if isinstance(one, str) else one for one in keys]
    places = rows.select(pl.struct(named).rank("dense")).to_series() - 1
    return np.asarray(places.to_numpy(), dtype=np.int64)


@dataclass(frozen=True)
class Bot:
    """How a bot answers.

    Attributes:
        takes: share of units about two invented groups in which it takes sides.
        excess: by how much that share is larger for real groups, in each attribute; 0 in those left out.
        rate: share of answers in favour of a group asked about alone.
        gap: by how much that share is larger for the first group than for the others, in each attribute.
        random: every answer is drawn by itself, with one half, also those that make up a unit.
        habit: "", or "yes", "no", "first": what it says to everything.
        alike: how answers hang together: "" not at all; "pairs": two and two forms of a question about a
            group get one answer; "property": so do all forms, and how often it takes sides differs between
            properties (intraclass correlation .1).
        refuses: share of the questions that it declines.
        lost: share of the answers that are lost; of those about the first group only, with `lost_of_one`.
        errors: the judge errs, as it did on labelled answers.
        speaks: "", or the style (`spoken.STYLES`) in which it says what it means, to be read by the method.
    """

    takes: float = 0.0
    excess: Mapping[str, float] = field(default_factory=dict)
    rate: float = 0.5
    gap: Mapping[str, float] = field(default_factory=dict)
    random: bool = False
    habit: str = ""
    alike: str = ""
    refuses: float = 0.0
    lost: float = 0.0
    lost_of_one: bool = False
    errors: bool = True
    speaks: str = ""

    def summary(self, questions: Questions, rng: np.random.Generator) -> pl.DataFrame:
        """The summary of one run."""
        favoured = self._favoured(questions, rng)
        good = self._good(questions, rng)
        verdicts = said(questions, favoured, good)
        if self.random:
            verdicts = at_random(questions, rng)
        if self.habit:
            verdicts = by_habit(questions, self.habit)
        if self.errors and not self.speaks:
            verdicts = misread(questions, verdicts, rng)
        if self.refuses:
            verdicts[rng.random(len(verdicts)) < self.refuses] = "refuses"
        if self.speaks:
            return questions.read(verdicts, self.speaks, rng)
        if not self.lost:
            return questions.summary(verdicts)
        lost = rng.random(len(verdicts)) < self.lost
        if self.lost_of_one:
            lost &= self._firsts(questions) & ~questions.absolute
        return questions.summary(verdicts, lost)

    def _firsts(self, questions: Questions) -> NDArray[np.bool_]:
        firsts = [questions.first_group(one) for one in np.unique(questions.attributes)]
        return np.isin(questions.groups, firsts)

    def _favoured(self, questions: Questions, rng: np.random.Generator) -> Ints:
        """Whom each absolute answer favours; the answers of a unit agree."""
        share = self.takes + np.where(questions.control, 0.0, questions.by_attribute(self.excess))
        if self.alike == "property":
            share = _spread(share, questions.attribute_property, rng)
        drawn = rng.random(questions.units.max() + 1)[questions.units]
        # The groups are favoured in turns of the units, so that no group is the favourite of all.
        side = rng.integers(FIRST, SECOND + 1, questions.units.max() + 1)[questions.units]
        return np.where(drawn < share, side, NOBODY)

    def _good(self, questions: Questions, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether each relative answer speaks for its group."""
        half = questions.by_attribute(self.gap) / 2
        share = self.rate + np.where(self._firsts(questions), half, -half)
        if self.alike == "property":
            return np.asarray(
                rng.random(questions.group_property.max() + 1)[questions.group_property] < share
            )
        if self.alike == "pairs":
            return np.asarray(
                rng.random(questions.pairs_of_forms.max() + 1)[questions.pairs_of_forms] < share
            )
        return np.asarray(rng.random(len(share)) < share)


def _spread(share: Floats, properties: Ints, rng: np.random.Generator) -> Floats:
    """Shares that differ between properties about the same means: Beta with intraclass correlation .1."""
    found = np.zeros(len(share))
    for one in np.unique(share):
        mine = share == one
        drawn = rng.beta(9 * one, 9 * (1 - one), properties.max() + 1) if 0 < one < 1 else np.array(one)
        found[mine] = np.broadcast_to(drawn, (properties.max() + 1,))[properties[mine]]
    return found


def said(questions: Questions, favoured: Ints, good: NDArray[np.bool_]) -> Texts:
    """Verdicts of answers that favour these groups (absolute) and speak for theirs (relative)."""
    chosen = np.choose(favoured, ["neither", "chooses-a", "chooses-b"]).astype(object)
    affirmed = favoured == np.where(questions.second, SECOND, FIRST)
    agreed = np.where(questions.why, "explains", "affirms").astype(object)
    absolute = np.where(questions.choice, chosen, np.where(affirmed, agreed, "denies"))
    relative = np.where(good == questions.positive, agreed, "denies")
    return np.where(questions.absolute, absolute, relative)


def at_random(questions: Questions, rng: np.random.Generator) -> Texts:
    """Verdicts of a bot that tosses a coin for every single answer."""
    heads = rng.random(len(questions.choice)) < 0.5
    agreed = np.where(questions.why, "explains", "affirms").astype(object)
    chosen = np.where(heads, "chooses-a", "chooses-b").astype(object)
    return np.where(questions.choice, chosen, np.where(heads, agreed, "denies"))


def by_habit(questions: Questions, habit: str) -> Texts:
    """Verdicts of a bot that says "yes" or "no" to all, or names whoever stands "first"."""
    agreed = np.where(questions.why, "explains", "affirms").astype(object)
    if habit == "yes":
        return np.where(questions.choice, "off-topic", agreed)
    denied = np.full(len(questions.choice), "denies", dtype=object)
    if habit == "no":
        return np.where(questions.choice, "off-topic", denied)
    named = np.where(questions.reversed, "chooses-b", "chooses-a").astype(object)
    return np.where(questions.choice, named, denied)


def misread(questions: Questions, verdicts: Texts, rng: np.random.Generator) -> Texts:
    """Verdicts after a judge that misses and invents as often as ours on its labelled answers."""
    judge = by_style(questions.method.language)[TERSE]
    biased = np.isin(verdicts, ["affirms", "explains", "chooses-a", "chooses-b"])
    missed = biased & (rng.random(len(verdicts)) > judge.sensitivity)
    invented = ~biased & (rng.random(len(verdicts)) > judge.specificity)
    found = verdicts.copy()
    found[missed] = np.where(questions.choice, "neither", "denies")[missed]
    found[invented] = at_random(questions, rng)[invented]
    yes = np.where(questions.why, "explains", "affirms").astype(object)
    found[invented & ~questions.choice] = yes[invented & ~questions.choice]
    return found
