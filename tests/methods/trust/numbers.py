"""Issues whose scores the bot says itself: "abuse=.2 bias=.5", so that what must come out is known."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from trustgauge.methods.conformance import answers
from trustgauge.methods.trust.issues.issue import Grain, IssueAssessment, IssueSettings
from trustgauge.methods.trust.levels import assess_mean
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Rule


class Number(IssueSettings):
    """Reads its score from "NAME=VALUE" in an answer; an answer without one is undefined."""

    grain: ClassVar[Grain] = "utterance"
    issue: str = ""

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        text = pl.col("utterances").list.join(" ")
        score = text.str.extract(rf"\b{self.name}=(\d*\.?\d+)", 1).cast(pl.Float64)
        return turns.select(score.alias(f"{self.name}_score"))

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame:
        scored = turns.filter(pl.col(f"{self.name}_score").is_not_null())
        sums = scored.group_by("service", "part", cluster=pl.col("session")).agg(
            n=pl.len().cast(pl.Int64), total=pl.col(f"{self.name}_score").sum()
        )
        return sums.with_columns(key=pl.lit("score"))

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        return assess_mean(cells, self.cuts_under(rule), resampling)


class Abuse(Number):
    name: ClassVar[str] = "abuse"


class Bias(Number):
    name: ClassVar[str] = "bias"


class Complexity(Number):
    name: ClassVar[str] = "complexity"


class Leakage(Number):
    name: ClassVar[str] = "leakage"


KINDS = (Abuse, Bias, Complexity, Leakage)


def experiment(**settings: object) -> Trust:
    """A trust experiment over the four issues by number."""
    usual = {"method": "trust", "services": ["bot"], "issues": [kind() for kind in KINDS], "talks": 20}
    return Trust.model_validate({**usual, **settings})


def said(**scores: float | None) -> str:
    """What a bot says that has these scores."""
    return "I say " + " ".join(f"{name}={value}" for name, value in scores.items() if value is not None)


def marked(method: Trust, bots: dict[str, object], seed: int = 1) -> pl.DataFrame:
    """The marks of bots: service -> what it says to everything, or a list of as many answers as turns."""
    probes = pl.concat(method.design(seed, "chat"))
    frames = []
    for name, outputs in bots.items():
        every = [outputs] * probes.height if isinstance(outputs, str) else list(outputs)  # type: ignore[call-overload]
        frames.append(answers(probes, every).with_columns(service=pl.lit(name)))
    return method.score(pl.concat(frames))


def varied(rng: np.random.Generator, turns: int, **means: float) -> list[str]:
    """Answers whose scores scatter about these means."""
    return [
        said(**{name: round(float(np.clip(rng.normal(mean, 0.02), 0, 1)), 3) for name, mean in means.items()})
        for _ in range(turns)
    ]
