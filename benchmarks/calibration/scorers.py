"""Sentiment scorers with a known effect, and the lists of those that are asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from trustgauge.methods.causal.power import SPREAD
from trustgauge.methods.conformance import answers

Floats = NDArray[np.float64]

RANGE = 2.0  # of scores, -1 to 1
WORDS = {"positive": 0.2, "negative": -0.2, "": 0.0}  # what the emotion word adds to the score
LARGEST = 0.30  # share of the range up to which effects are drawn
DECLINED = "I would rather not judge this."


@dataclass(frozen=True)
class Service:
    """A scorer with a known effect. Shares are of the range of scores.

    Attributes:
        name: in words of the table.
        kind: as of `Setting`.
        shift: how much higher women score than men.
        spread: standard deviation of what each text adds: a text that is asked again in another data
            set gets the same answer, as scorers give it.
        uniform: scores are drawn evenly from the whole range at each call, whatever the text.
        persons, words, frames, talks, sides: standard deviations of what a person, a person with a word,
            a class in a frame, a conversation and a class in a conversation add of their own.
        failed: share of the texts without an answer, of men and of women.
        declined: share of the texts that it declines to judge, negative and positive ones.
        drawn: the shift is drawn anew in each run, evenly from 0 to `shift`.
    """

    name: str
    kind: str
    shift: float = 0.0
    spread: float = SPREAD
    uniform: bool = False
    persons: float = 0.0
    words: float = 0.0
    frames: float = 0.0
    talks: float = 0.0
    sides: float = 0.0
    failed: tuple[float, float] = (0.0, 0.0)
    declined: tuple[float, float] = (0.0, 0.0)
    drawn: bool = False

    def of_run(self, rng: np.random.Generator) -> Service:
        """The service of one run."""
        return replace(self, shift=self.shift * float(rng.random()), drawn=False) if self.drawn else self

    def expected(self, probes: pl.DataFrame) -> Floats:
        """The mean score of each text over all answers, persons and frames that could be, [N]."""
        if self.uniform:
            return np.zeros(probes.height)
        own = (self.spread, self.persons, self.words, self.frames, self.talks, self.sides)
        return _clipped(self._centre(probes), RANGE * float(np.hypot.reduce(own)))

    def _centre(self, probes: pl.DataFrame) -> Floats:
        """Scores without anything by chance, and before they are cut to the range, [N]."""
        word = probes["valence"].replace_strict(WORDS, return_dtype=pl.Float64).to_numpy()
        return np.asarray(word + RANGE * self.shift * (_women(probes) - 0.5))

    def scores(self, probes: pl.DataFrame, rng: np.random.Generator) -> Floats:
        """One answer to each text, [N]."""
        if self.uniform:
            return rng.uniform(-1.0, 1.0, probes.height)
        score = self._centre(probes)
        own = {
            "message": self.spread,
            "person": self.persons,
            "person word": self.words,
            "frame gender": self.frames,
            "cluster": self.talks,
            "cluster gender": self.sides,
        }
        for keys, spread in own.items():
            if spread:
                place = probes.select(pl.concat_str(keys.split(), separator="\t").rank("dense"))
                codes = place.to_series().to_numpy() - 1
                score = score + rng.normal(0, RANGE * spread, int(codes.max()) + 1)[codes]
        return np.clip(score, -1.0, 1.0)

    def answered(self, probes: pl.DataFrame, name: str, rng: np.random.Generator) -> pl.DataFrame:
        """One run over all probes."""
        fate = rng.random(probes.height)
        failed = fate < np.array(self.failed)[_women(probes).astype(np.int64)]
        positive = (probes["valence"] == "positive").to_numpy().astype(np.int64)
        declined = ~failed & (rng.random(probes.height) < np.array(self.declined)[positive])
        output = pl.Series(self.scores(probes, rng)).cast(pl.String)
        status = np.where(failed, "failed", np.where(declined, "refused", "answered"))
        return (
            answers(probes, output.to_list())
            .with_columns(pl.lit(name).alias("service"), pl.Series("status", status, dtype=pl.String))
            .with_columns(
                pl.when(pl.col("status") == "refused")
                .then(pl.lit(DECLINED))
                .when(pl.col("status") == "answered")
                .then("output")
                .alias("output")
            )
        )


def _clipped(centre: Floats, spread: float) -> Floats:
    """The mean of normal values that are cut to -1 and 1."""
    if not spread:
        return np.clip(centre, -1.0, 1.0)
    low, high = (-1.0 - centre) / spread, (1.0 - centre) / spread
    density = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    inside = ndtr(high) - ndtr(low)
    return np.asarray(centre * inside + spread * density - ndtr(low) + ndtr(-high))


def _women(probes: pl.DataFrame) -> Floats:
    return (probes["gender"] == "female").to_numpy().astype(np.float64)


def one_group() -> Iterator[Service]:
    """Services asked about one group of data."""
    yield Service("noise only", "null")
    yield Service("any score, whatever the text", "noise", uniform=True)
    for shift in (0.04, 0.07, 0.12, 0.25):
        yield Service(f"women {100 * shift:g} % higher", "effect", shift)
    yield _varied()
    yield Service("each name differs by 5 %", "clustered", persons=0.05)
    yield Service("women 12 % higher, each name differs by 2 %", "clustered", 0.12, persons=0.02)
    frames = "women 12 % higher, in each frame by 5 % more or less"
    yield Service(frames, "clustered", 0.12, frames=0.05)
    yield Service("1 % of the answers missing", "lost", failed=(0.01, 0.01))
    yield Service("women 12 % higher, 8 % of theirs missing", "lost", 0.12, failed=(0.0, 0.08))
    declines = "women 12 % higher, declines 10 % of the negative texts"
    yield Service(declines, "refusing", 0.12, declined=(0.10, 0.0))


def cheap() -> Iterator[Service]:
    """More services, asked where a rating costs little."""
    yield Service("one score for all", "null", spread=0.0)
    yield Service("noise twice as wide", "noise", spread=2 * SPREAD)
    for shift in (0.02, 0.05, 0.20):
        yield Service(f"women {100 * shift:g} % higher", "effect", shift)
    yield Service("each name differs by 2 %", "clustered", persons=0.02)
    yield Service("women 12 % higher, 4 % of the answers missing", "lost", 0.12, failed=(0.04, 0.04))
    yield Service("declines 1 % of the texts", "refusing", declined=(0.01, 0.01))


def confounded() -> Iterator[Service]:
    """Services asked about a group whose words depend on the class: the effect is the impact."""
    yield Service("noise only", "null")
    yield Service("any score, whatever the text", "noise", uniform=True)
    for shift in (0.10, 0.18, 0.40, 0.60):
        yield Service(f"women {100 * shift:g} % higher", "effect", shift)
    yield _varied(times=2)
    yield Service("each name differs by 5 %", "clustered", persons=0.05)
    yield Service("1 % of the answers missing", "lost", failed=(0.01, 0.01))
    yield Service("women 40 % higher, 8 % of theirs missing", "lost", 0.40, failed=(0.0, 0.08))


def whole() -> Iterator[Service]:
    """Services asked about all groups, as a plan does that names none."""
    yield Service("noise only", "null")
    yield Service("women 2 % higher", "effect", 0.02)
    yield Service("women 12 % higher", "effect", 0.12)
    yield _varied()
    yield Service("each name differs by 2 %", "clustered", persons=0.02)


def talking() -> Iterator[Service]:
    """Services asked about the texts of users, each of one gender."""
    yield Service("noise only", "null")
    yield Service("women 12 % higher", "effect", 0.12)
    yield _varied()
    yield Service("each conversation differs by 5 %", "clustered", talks=0.05)
    name = "women 12 % higher, each conversation differs by 5 %"
    yield Service(name, "clustered", 0.12, talks=0.05)
    yield Service("women 12 % higher, 8 % of theirs missing", "lost", 0.12, failed=(0.0, 0.08))


def _varied(times: float = 1.0) -> Service:
    most = times * LARGEST
    return Service(f"women higher, drawn evenly from 0 to {100 * most:g} %", "effect", most, drawn=True)
