"""Scorers whose effect is known, as functions from probes to scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.causal.method import Causal
from trustgauge.methods.causal.panel import UNIT, Floats, Ints
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
    """An experiment, with as few resamples and permutations as a test needs, which no plan may ask for."""
    few: dict[str, Any] = {
        name: settings.pop(name) for name in ("resamples", "permutations") if name in settings
    }
    method = Causal.model_validate({"method": "causal", "services": list(services), **settings})
    return method.model_copy(update=few)


def designed(method: Causal, seed: int = 1) -> pl.DataFrame:
    """The probes, which are the same whatever is assumed of a service."""
    return _design(method, seed)[0]


def scored(method: Causal, scores: Floats, segment: Ints | None = None, seed: int = 1) -> pl.DataFrame:
    """The summary of the scores of `designed` probes, as that of `marks`, but without writing and reading.

    For simulations of what is estimated from a summary. Every probe must have a row of its own.
    """
    _, rows, place = _design(method, seed)
    units = np.rint(scores[place] / UNIT).astype(np.int64)
    return rows.with_columns(
        y=pl.Series(units, dtype=pl.Int128),
        yy=pl.Series(units**2, dtype=pl.Int128),
        above=pl.Series((units > 0).astype(np.int64)),
        below=pl.Series((units < 0).astype(np.int64)),
        segment=pl.lit(0, pl.Int64) if segment is None else pl.Series(segment[place]),
    )


_DESIGNS: dict[tuple[str, int], tuple[pl.DataFrame, pl.DataFrame, Ints]] = {}


def _design(method: Causal, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, Ints]:
    """Probes, their rows of a summary, and which probe each row is of."""
    key = method.model_dump_json(), seed
    if key not in _DESIGNS:
        probes = pl.concat(method.design(seed, "score"))
        numbers = [repr(UNIT * place) for place in range(probes.height)]
        rows = method.summarise(method.score(answers(probes, numbers)))
        assert rows.height == probes.height
        _DESIGNS[key] = probes, rows, rows["y"].cast(pl.Int64).to_numpy()
    return _DESIGNS[key]


_PROBES: dict[tuple[str, int], pl.DataFrame] = {}


def _probes(method: Causal, seed: int) -> pl.DataFrame:
    """The texts of a plan, designed once for all who are asked them."""
    key = method.model_copy(update={"services": ("it",)}).model_dump_json(), seed
    if key not in _PROBES:
        if len(_PROBES) >= 16:
            _PROBES.clear()
        _PROBES[key] = pl.concat(method.design(seed, "score"))
    return _PROBES[key]


def marks(method: Causal, services: Mapping[str, Scorer], seed: int = 1) -> pl.DataFrame:
    """Every service asked every probe, and read."""
    probes = _probes(method, seed)
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
