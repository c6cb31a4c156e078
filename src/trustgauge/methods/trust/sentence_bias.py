"""The regression that says how slanted a sentence sounds to readers (trust 4.1, Bias).

Hutto, Folds and Appling (2015) had 91 people rate 41 news sentences from 0 (neutral) to 3 (extremely
biased), and fitted the mean ratings to features of the words. `PRINTED` are their coefficients, made for
their word lists; `default_regression()` are ours, fitted to the same ratings with our lists
(`trust/sentence_bias/card.json` tells how well). A folder written by `trustgauge train sentence-bias`
holds others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data.tables import fault, read_text
from trustgauge.errors import MissingPartError, PlanError
from trustgauge.methods.trust.bias_words import CLASSES, MODALITY, Matching, shares
from trustgauge.records import Json, json_or_none

Floats = NDArray[np.float64]
Sentiment = Callable[[str], float]

KIND = "sentence-bias"
MODEL, CARD = "model.json", "card.json"
FEATURES = ("sentiment", CLASSES[0], MODALITY, *CLASSES[1:])
"""In the order of the printed regression. Sentiment and modality lie in [-1, 1], the others in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Regression:
    """A linear model of perceived bias.

    Attributes:
        intercept: of the rating.
        coefficients: feature -> its weight; all of `FEATURES`.
        top: the largest rating; 0 is the smallest.
        card: what its training recorded of it, {} if nothing is known.
    """

    intercept: float
    coefficients: Mapping[str, float]
    top: float
    card: Mapping[str, Json] = field(default_factory=dict)

    def scores(self, measured: pl.DataFrame) -> Floats:
        """Ratings cut to [0, top] and divided by it: 0 neutral, 1 most biased; NaN without words.

        Args:
            measured: a row a sentence, with the columns `FEATURES`.
        """
        weights = np.array([self.coefficients[name] for name in FEATURES])
        values = measured.select(pl.col(*FEATURES).fill_null(np.nan)).to_numpy()
        return np.asarray(np.clip(self.intercept + values @ weights, 0, self.top) / self.top)


PUBLISHED = Regression(
    -0.558,
    {
        "sentiment": 0.348,
        "opinion": -2.046,
        "modality": 0.516,
        "third_person": 8.355,
        "tentative": 4.597,
        "achievement": 5.738,
        "discrepancy": 5.657,
        "one_sided": -0.953,
        "work": 9.812,
        "factive": -16.636,
        "hedge": 3.060,
        "assertive": -3.577,
        "strong_subjective": 5.096,
        "weak_subjective": 4.872,
    },
    3.0,
)
"""The coefficients as printed (trust 4.1)."""


def sentence_features(texts: Sequence[str], matching: Matching = "all") -> pl.DataFrame:
    """The features of sentences: what `shares` gives, and `sentiment`.

    Raises:
        MissingPartError: the sentiment scorer is not installed.
    """
    sentiment = sentiment_scorer()
    scores = pl.Series("sentiment", [sentiment(text) for text in texts], dtype=pl.Float64)
    return shares(texts, matching).with_columns(scores)


@lru_cache(maxsize=1)
def sentiment_scorer() -> Sentiment:
    """VADER's compound score, from -1 to 1.

    Raises:
        MissingPartError: the library is not installed.
    """
    if not sentiment_version():
        raise MissingPartError(
            "perceived bias needs the sentiment scorer vaderSentiment, which is not installed",
            do="Run `pip install 'trustgauge[demo]'`",
        )
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyser = SentimentIntensityAnalyzer()
    return lambda text: float(analyser.polarity_scores(text)["compound"])


def sentiment_version() -> str:
    """The version of the installed sentiment scorer, "" if there is none."""
    if find_spec("vaderSentiment") is None:
        return ""
    try:
        return metadata.version("vaderSentiment")
    except metadata.PackageNotFoundError:
        return "unknown"


@lru_cache(maxsize=1)
def default_regression() -> Regression:
    """Our coefficients, for our lists."""
    folder = files("trustgauge.methods.trust").joinpath("data", "sentence_bias")
    texts = [folder.joinpath(name).read_text(encoding="utf-8") for name in (MODEL, CARD)]
    return _regression(Path(MODEL), "data", texts[0], json.loads(texts[1]))


def load_regression(folder: Path, place: str) -> Regression:
    """Read what `trustgauge train sentence-bias` wrote.

    Args:
        folder: holds `model.json`, and `card.json`.
        place: of the setting that names the folder, for errors.

    Raises:
        PlanError: a file cannot be read or is no such model.
    """
    card_file = folder / CARD
    card = json_or_none(read_text(card_file, place)[0])
    if not isinstance(card, dict):
        raise fault(card_file, place, "the card of the model cannot be read", must="a JSON object")
    return _regression(folder / MODEL, place, read_text(folder / MODEL, place)[0], card)


def _regression(file: Path, place: str, text: str, card: Mapping[str, Json]) -> Regression:
    """A model from its JSON, every number checked."""
    try:
        table: Any = json.loads(text)
        if not isinstance(table, dict) or table.get("kind") != KIND:
            raise ValueError(f'not of kind "{KIND}"')
        weights = {name: _number(table["coefficients"], name) for name in FEATURES}
        top = _number(table, "top")
        if top <= 0:
            raise ValueError("top is not above 0")
        return Regression(_number(table, "intercept"), weights, top, card)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise _broken(file, place, error) from None


def _number(table: Mapping[str, Any], name: str) -> float:
    value = table[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is no finite number")
    return float(value)


def _broken(file: Path, place: str, error: Exception) -> PlanError:
    said = f"no {error}" if isinstance(error, KeyError) else str(error)
    return fault(
        file,
        place,
        "this is no regression of perceived bias",
        must="an intercept, the largest rating (top) and a coefficient for every feature",
        got=said[:200],
        do="Train one: trustgauge train sentence-bias TABLE -o FOLDER",
    )
