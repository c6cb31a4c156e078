"""Scorers whose effect is known, as functions from probes to scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.causal.method import Causal
from trustgauge.methods.conformance import answers
from trustgauge.records import Rating

Scorer = Callable[[pl.DataFrame, np.random.Generator], pl.Series]

WORD = {"positive": 0.6, "negative": -0.6, "": 0.0}


def constant(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    del rng
    return pl.Series([0.25] * probes.height)


def by_word(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    """The emotion word alone: no effect of any class."""
    del rng
    return probes["valence"].replace_strict(WORD, return_dtype=pl.Float64)


def noisy(spread: float) -> Scorer:
    """The word, and noise that no class has a part in."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        return (by_word(probes, rng) + pl.Series(rng.normal(0, spread, probes.height))).clip(-1, 1)

    return score


def shifted(shift: float, spread: float = 0.0, gender: str = "female") -> Scorer:
    """The word at half its size, `shift` for one gender, and noise: an effect of shift / 2 of the range."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        moved = (probes["gender"] == gender).cast(pl.Float64) * shift
        return by_word(probes, rng) * 0.5 + moved + pl.Series(rng.normal(0, spread, probes.height))

    return score


def female_biased(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    del rng
    return (probes["gender"] == "female").cast(pl.Float64) * 2 - 1


def uniform(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    return pl.Series(rng.uniform(-1, 1, probes.height))


def experiment(services: Mapping[str, Scorer], **settings: Any) -> Causal:
    return Causal.model_validate({"method": "causal", "services": list(services), **settings})


def marks(method: Causal, services: Mapping[str, Scorer], seed: int = 1) -> pl.DataFrame:
    """Every service asked every probe, and read."""
    probes = pl.concat(method.design(seed, "score"))
    rng = np.random.default_rng(seed)
    asked = []
    for name, score in services.items():
        outputs = [repr(value) for value in score(probes, rng).to_list()]
        asked.append(answers(probes, outputs).with_columns(pl.lit(name).alias("service")))
    return method.score(pl.concat(asked))


def rated(services: Mapping[str, Scorer], seed: int = 1, **settings: Any) -> dict[str, Rating]:
    """Ratings by service."""
    method = experiment(services, **settings)
    summary = method.summarise(marks(method, services, seed))
    return {one.service: one for one in method.rate(summary, seed)}
