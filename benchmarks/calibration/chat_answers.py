"""Chatbots of known bias on the questions of a plan: what they mean, and what they say.

What a bot means is drawn for all questions of a plan at once; the level due follows from how it is built. It
says it in text (`spoken`), and the method itself reads, sums up and rates: an error of its judge is an error
of the rating (methods 0.12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration.spoken import kind_of, slots_of, text_of
from trustgauge.methods.social_bias import votes
from trustgauge.methods.social_bias.judge_accuracy import STYLE
from trustgauge.methods.social_bias.method import SocialBias

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.object_]
ONE_QUESTION = ("tuple", "attribute", "group_a", "group_b", "property", "form", "repeat")
"""What tells the questions of a plan apart."""

READ = ("verdict", "status", STYLE)
"""Columns of marks that depend on the answer."""
NO_ERROR = {name: pl.lit(None, pl.String) for name in ("error", "trail")} | {"shared": pl.lit(value=True)}
TENTHS = 10  # of a run (methods 0.3)
REGIME = 40  # answers in a row that are given in one regime
BEFORE_UPDATE = 1 / 3  # of the run

NOBODY, FIRST, SECOND = 0, 1, 2
"""Whom an absolute answer favours: nobody, group a, group b."""


class Questions:
    """The questions of a plan in the order of its summary, and what the bots must know of them."""

    def __init__(self, method: SocialBias, seed: int) -> None:
        asked = pl.concat(method.design(seed, "chat")).with_columns(
            service=pl.lit("bot"), part=pl.lit(""), status=pl.lit("answered"), verdict=pl.lit("")
        )
        self.method, self.seed = method, seed
        self._known: dict[tuple[int, str], tuple[str, ...]] = {}
        rows = method.summarise(asked)
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
        self.second_groups = rows["group_b"].to_numpy()
        self.attribute_property = _codes(rows, "attribute", "property")
        self.group_property = _codes(rows, "attribute", "group_a", "property")
        twos = pl.col("form").is_in(["r", "a"])
        self.pairs_of_forms = _codes(rows, "attribute", "group_a", "property", twos.alias("_twos"))

    def first_group(self, attribute: str) -> str:
        """The first real group asked about."""
        real = (one for one in self.method.asked_groups if one.attribute == attribute and not one.control)
        return next(real).id

    @cached_property
    def firsts(self) -> NDArray[np.bool_]:
        """Questions whose first group is the first of its attribute."""
        return np.isin(self.groups, [self.first_group(one) for one in np.unique(self.attributes)])

    @cached_property
    def about_first(self) -> NDArray[np.bool_]:
        """Questions about the first group of an attribute alone."""
        return np.asarray(self.firsts & ~self.absolute)

    @cached_property
    def named_second(self) -> NDArray[np.bool_]:
        """Questions whose second group is the first of its attribute."""
        return np.isin(self.second_groups, [self.first_group(one) for one in np.unique(self.attributes)])

    def by_attribute(self, planted: Mapping[str, float]) -> Floats:
        """What is planted in the attribute of each question, 0 where nothing is."""
        found = np.zeros(len(self.attributes))
        for name, value in planted.items():
            found[self.attributes == name] = value
        return found

    def said(self, verdicts: Texts, style: str, rng: np.random.Generator) -> list[str]:
        """What a bot says that means these verdicts, in this style."""
        return [
            text_of(verdict, kind, style, slots, rng)
            for verdict, (kind, slots) in zip(verdicts, self._slots, strict=True)
        ]

    @cached_property
    def _slots(self) -> list[tuple[str, dict[str, str]]]:
        """The kind of each question as `spoken` knows it, and what stands in the slots of its answers."""
        groups = {one.id: one for one in self.method.asked_groups}
        properties = {one.id: one for one in self.method.asked_properties}
        found = []
        for a, b, prop, kind, favours in self.asked.select(
            "group_a", "group_b", "property", "kind", "favours"
        ).iter_rows():
            first, second = groups[a], groups.get(b or "")
            if second is not None and kind != "choice" and favours == "b":
                first, second = second, first
            slots = slots_of(properties[prop], first, second)
            found.append((kind_of(kind, pair=second is not None), slots))
        return found

    def summary(
        self, said: Sequence[str], tenths: Ints | None = None, lost: NDArray[np.bool_] | None = None
    ) -> pl.DataFrame:
        """The summary of a bot that says this, as the method reads it.

        Args:
            said: an answer to each question.
            tenths: the tenth of the run in which each was asked.
            lost: which answers never came.
        """
        read = self._read(said)
        if tenths is not None:
            read = read.with_columns(segment=pl.Series(tenths, dtype=pl.Int64))
        if lost is not None:
            gone = pl.Series(lost)
            status = pl.when(gone).then(pl.lit("failed")).otherwise("status")
            empty = (
                pl.when(gone).then(pl.lit("")).otherwise(name).alias(name) for name in ("verdict", STYLE)
            )
            read = read.with_columns(status.alias("status"), *empty)
        return self.method.summarise(read)

    def _read(self, said: Sequence[str]) -> pl.DataFrame:
        """Marks of answers; what was said before in answer to the same question is not read again.

        Without wordings: the few hundred texts stand for as many free answers, not for templates.
        """
        pairs = list(enumerate(said))
        new = [one for one in pairs if one not in self._known]
        if new:
            asked = self.asked[[place for place, _ in new]]
            output = pl.Series([text for _, text in new], dtype=pl.String)
            marks = self.method.score(asked.with_columns(output=output, **NO_ERROR))
            self._known.update(zip(new, marks.select(READ).iter_rows(), strict=True))
        schema = dict.fromkeys(READ, pl.String)
        found = pl.DataFrame([self._known[one] for one in pairs], schema, orient="row")
        return self.asked.with_columns(found.get_columns())

    def opposites(self, style: str, rng: np.random.Generator) -> tuple[int, int]:
        """Choices in a style that are read as the opposite of what was meant, and all that are read."""
        read = self.summary(self.said(by_habit(self, "first", rng), style, rng))
        sides = read.filter(pl.col("kind") == "choice", pl.col("verdict").is_in(["chooses-a", "chooses-b"]))
        meant = (
            pl.when(pl.col("form").is_in(["c1r", "c2r"]))
            .then(pl.lit("chooses-b"))
            .otherwise(pl.lit("chooses-a"))
        )
        return sides.filter(pl.col("verdict") != meant).height, sides.height


def _codes(rows: pl.DataFrame, *keys: str | pl.Expr) -> Ints:
    """A number for each combination of keys, from 0."""
    named = [pl.col(one) if isinstance(one, str) else one for one in keys]
    places = rows.select(pl.struct(named).rank("dense")).to_series() - 1
    return np.asarray(places.to_numpy(), dtype=np.int64)


Habit = Literal["", "no", "yes", "first", "names", "slanders", "flatters", "coin"]
"""What a bot does whatever it is asked: it says no or yes to all, names whoever stands first, always names
the first group, affirms only what is bad (good) of that group and declines the rest, tosses a coin."""


class Speaker(Protocol):
    """Who answers the questions of a plan."""

    def summary(self, questions: Questions, style: str, rng: np.random.Generator) -> pl.DataFrame:
        """The summary of one run, in which it speaks in this style."""


@dataclass(frozen=True)
class Bot:
    """How a bot answers.

    Attributes:
        takes: share of units about two invented groups in which it takes sides.
        excess: by how much that share is larger for real groups, in each attribute; 0 in those left out.
        rate: share of answers in favour of a group asked about alone.
        gap: by how much that share is larger for the first group than for the others, in each attribute.
        habit: as of `Habit`.
        alike: how answers hang together: "" not at all; "property": all forms of a question about a group get
            one answer, and how often it takes sides differs between properties (intraclass correlation .1).
        refuses: share of the questions that it declines; of those about the first group alone, `refuses_one`.
        lost: share of the answers that never come; of those about the first group alone, `lost_one`.
    """

    takes: float = 0.0
    excess: Mapping[str, float] = field(default_factory=dict)
    rate: float = 0.5
    gap: Mapping[str, float] = field(default_factory=dict)
    habit: Habit = ""
    alike: Literal["", "property"] = ""
    refuses: float = 0.0
    refuses_one: float = 0.0
    lost: float = 0.0
    lost_one: float = 0.0

    def summary(self, questions: Questions, style: str, rng: np.random.Generator) -> pl.DataFrame:
        """The summary of one run, in which it speaks in this style."""
        said = questions.said(self.meant(questions, rng), style, rng)
        tenths = rng.permutation(len(said)) * TENTHS // len(said)
        return questions.summary(said, tenths, self._drawn(questions, self.lost, self.lost_one, rng))

    def meant(self, questions: Questions, rng: np.random.Generator) -> Texts:
        """What it means, as verdicts."""
        if self.habit:
            verdicts = by_habit(questions, self.habit, rng)
        else:
            verdicts = said(questions, self._favoured(questions, rng), self._good(questions, rng))
        verdicts[self._drawn(questions, self.refuses, self.refuses_one, rng)] = "refuses"
        return verdicts

    @staticmethod
    def _drawn(
        questions: Questions, of_all: float, of_one: float, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Questions drawn with one probability, and with another where they are about the first group."""
        chance = rng.random(len(questions.choice))
        return np.asarray((chance < of_all) | (questions.about_first & (chance < of_one)))

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
        share = self.rate + np.where(questions.firsts, half, -half)
        if self.alike == "property":
            return np.asarray(
                rng.random(questions.group_property.max() + 1)[questions.group_property] < share
            )
        return np.asarray(rng.random(len(share)) < share)


@dataclass(frozen=True)
class Changing:
    """A bot that is another one later: drifting over the run, updated after a third, or now this, now that.

    Attributes:
        first, later: what it is before and after.
        how: `drift`: by a share that grows evenly from 0 to 1; `update`; `regimes`: of 40 answers each.
    """

    first: Bot
    later: Bot
    how: Literal["drift", "update", "regimes"]

    def summary(self, questions: Questions, style: str, rng: np.random.Generator) -> pl.DataFrame:
        """The summary of one run, in which it speaks in this style."""
        verdicts, others = (one.meant(questions, rng) for one in (self.first, self.later))
        place = rng.permutation(len(verdicts))
        said = questions.said(np.where(is_later(place, self.how, rng), others, verdicts), style, rng)
        return questions.summary(said, place * TENTHS // len(place))


def is_later(place: Ints, how: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which answers of a changing bot are those of its later self, by their places in the run."""
    done = place / len(place)
    if how == "drift":
        return np.asarray(rng.random(len(place)) < done)
    if how == "update":
        return np.asarray(done >= BEFORE_UPDATE)
    return np.asarray((rng.random(len(place) // REGIME + 1) < 0.5)[place // REGIME])


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


def by_habit(questions: Questions, habit: Habit, rng: np.random.Generator) -> Texts:
    """Verdicts of a bot with a habit."""
    size = len(questions.choice)
    agreed = np.where(questions.why, "explains", "affirms").astype(object)
    denied = np.full(size, "denies", dtype=object)
    named = np.where(questions.reversed, "chooses-b", "chooses-a").astype(object)
    if habit in ("yes", "no"):
        return np.where(questions.choice, "off-topic", agreed if habit == "yes" else denied)
    if habit == "first":
        return np.where(questions.choice, named, denied)
    if habit == "coin":
        heads = rng.random(size) < 0.5
        chosen = np.where(heads, "chooses-a", "chooses-b").astype(object)
        return np.where(questions.choice, chosen, np.where(heads, agreed, denied))
    favoured = np.where(questions.firsts, FIRST, np.where(questions.named_second, SECOND, NOBODY))
    alone = np.zeros(size, dtype=np.bool_)
    if habit == "names":
        return np.where(questions.absolute, said(questions, favoured, alone), denied)
    due = questions.positive if habit == "flatters" else ~questions.positive
    affirms = questions.firsts & ~questions.absolute & due
    sides = questions.absolute & due & (favoured != NOBODY)
    found = np.full(size, "refuses", dtype=object)
    found[affirms] = agreed[affirms]
    found[sides] = said(questions, favoured, alone)[sides]
    return found
