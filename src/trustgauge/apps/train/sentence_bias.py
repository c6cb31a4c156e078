"""Fitting the regression of `data.sentence_bias` to a table of rated sentences: ridge, tested by leaving out.

Few sentences are ever rated, so none are kept back for good: each group of rows is scored by a fit to all
others, whose penalty was chosen without it too.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.apps.train import held_out
from trustgauge.apps.train.kinds import Effort, ProgressCallback, figure_in_words, model_folder, need_room
from trustgauge.apps.train.labelled import TrainingTable
from trustgauge.errors import PlanError
from trustgauge.methods.trust.sentence_bias import (
    CARD,
    FEATURES,
    KIND,
    MODEL,
    PUBLISHED,
    Regression,
    sentence_features,
    sentiment_version,
)
from trustgauge.stats import stream
from trustgauge.stats.distributions import draws_interval

Floats = NDArray[np.float64]

PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # per row, in units of a feature's spread
MOST_FOLDS = 200  # groups that are left out one by one; more are left out several at a time
FEWEST_GROUPS = 20
DIGITS = 6  # of a coefficient
LIMITS = (
    "It sees loaded wording in English sentences; it does not see unequal treatment of people.",
    "Its figures hold for sentences like those of the table; what chatbots say was not rated by people.",
    "There are 14 coefficients, so a few dozen sentences leave them uncertain.",
)


def train(data: TrainingTable, folder: Path, effort: Effort, *, tell: ProgressCallback) -> Mapping[str, Any]:
    """Fit, measure by leaving out, and write the model and its card to `folder`.

    The model that is written is fitted to all rows; the figures of the card are those of the fits that
    had not seen what they scored. The same table and library versions give the same bytes.

    Args:
        data: rows of `labelled`; -1 stands for neutral, 1 for the strongest bias.
        folder: new or empty; it appears only when all is done.
        effort: its seed draws the resamples of the intervals; the rest means nothing here.
        tell: takes lines of progress.

    Raises:
        MissingPartError: the sentiment scorer is not installed.
        PlanError: the folder is in use, or the rows belong to too few groups.
    """
    need_room(folder)
    groups = data.rows["group"].rank("dense").to_numpy().astype(np.int64) - 1
    if groups.max() + 1 < FEWEST_GROUPS:
        must, got = f"at least {FEWEST_GROUPS} groups of rows", str(groups.max() + 1)
        raise PlanError.of("TABLE", f"{data.name}: too few groups to leave some out", must, got)
    features = sentence_features(data.rows["text"].to_list())
    values = features.select(pl.col(*FEATURES).fill_null(0.0)).to_numpy()
    ratings = (data.rows["score"].to_numpy() + 1) / 2
    tell(f"{len(ratings):,} rows of {int(groups.max()) + 1:,} groups, {len(FEATURES)} features")
    left_out = cross_predictions(values, ratings, groups)
    penalty = best_penalty(values, ratings)
    intercept, weights = ridge(values, ratings, penalty)
    model = {
        "kind": KIND,
        "top": 1.0,
        "intercept": round(intercept, DIGITS),
        "coefficients": {name: round(float(w), DIGITS) for name, w in zip(FEATURES, weights, strict=True)},
    }
    card = _card(data, effort, penalty, _figures(data.rows, left_out, effort.seed))
    card["fitted_r2"] = round(r_squared(ratings, np.clip(intercept + values @ weights, 0, 1)), 4)
    card["printed"] = _printed(data.rows, features, effort.seed)
    with model_folder(folder) as made:
        for name, content in ((MODEL, model), (CARD, card)):
            text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
            (made / name).write_text(text, encoding="utf-8")
    return card


def card_lines(card: Mapping[str, Any], folder: Path) -> Sequence[tuple[str, str]]:
    """What a reader must know of the fitted regression, line by line."""
    tested, data, printed = card["held_out"], card["data"], card["printed"]["all"]
    return [
        ("trained", f"{folder}: {data['rows']:,} rows of {data['file']}, penalty {card['penalty']:g} a row"),
        (
            "left out",
            f"{tested['n']:,} rows of {tested['groups']:,} groups, each scored by a fit to the others",
        ),
        ("", f"R2 {figure_in_words(tested['r2'])}; of the rows it was fitted to {card['fitted_r2']:.3f}"),
        ("", f"correlation with the ratings {figure_in_words(tested['correlation'])}"),
        ("printed", f"the published coefficients with our word lists: R2 {figure_in_words(printed['r2'])}"),
        *(("limits", limit) for limit in card["limits"]),
        ("use", f'issues = [{{ issue = "bias", model = "{folder}" }}]'),
    ]


def ridge(values: Floats, ratings: Floats, penalty: float) -> tuple[float, Floats]:
    """Intercept and weights that minimise squared errors + penalty·n·(weights in units of spread)².

    Args:
        values: [rows, features]; a feature without spread gets weight 0.
        ratings: [rows].
        penalty: above 0; the intercept is free of it.
    """
    standard, middle, spread = _standard(values)
    gram = standard.T @ standard + penalty * len(ratings) * np.eye(values.shape[1])
    weights = np.linalg.solve(gram, standard.T @ (ratings - ratings.mean())) / spread
    return float(ratings.mean() - middle @ weights), weights


def best_penalty(values: Floats, ratings: Floats) -> float:
    """The penalty with the least squared error when rows are left out one by one.

    The error of a row left out is its residual / (1 - leverage), so one fit for each penalty is enough;
    the units of spread are those of all rows. Ties go to the larger penalty.
    """
    standard, _, _ = _standard(values)
    centred = ratings - ratings.mean()
    best, least = PENALTIES[-1], np.inf
    for penalty in sorted(PENALTIES, reverse=True):
        gram = standard.T @ standard + penalty * len(ratings) * np.eye(values.shape[1])
        hat = standard @ np.linalg.solve(gram, standard.T)
        errors = (centred - hat @ centred) / (1 - np.diag(hat) - 1 / len(ratings))
        loss = float(errors @ errors)
        if loss < least * (1 - 1e-12):
            best, least = penalty, loss
    return best


def cross_predictions(values: Floats, ratings: Floats, groups: NDArray[np.int64]) -> Floats:
    """Every rating as a fit to the other groups says it, cut to [0, 1]; the penalty is chosen without it.

    Args:
        values: [rows, features].
        ratings: [rows], from 0 to 1.
        groups: number of the group of each row, from 0.
    """
    folds = groups % min(MOST_FOLDS, int(groups.max()) + 1)
    found = np.empty(len(ratings))
    for fold in range(int(folds.max()) + 1):
        kept = folds != fold
        penalty = best_penalty(values[kept], ratings[kept])
        intercept, weights = ridge(values[kept], ratings[kept], penalty)
        found[~kept] = intercept + values[~kept] @ weights
    return np.clip(found, 0, 1)


def r_squared(ratings: Floats, scores: Floats) -> float:
    """1 - squared errors / squared distances from the mean; below 0 the mean alone would do better."""
    spread = ((ratings - ratings.mean()) ** 2).sum()
    return float(1 - ((ratings - scores) ** 2).sum() / spread)


def _standard(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Features with mean 0 and spread 1, their means, and their spreads (infinite for none)."""
    middle, spread = values.mean(0), values.std(0)
    spread = np.where(spread > 1e-12, spread, np.inf)
    return (values - middle) / spread, middle, spread


def _figures(rows: pl.DataFrame, scores: Floats, seed: int) -> dict[str, Any]:
    """Correlation, mean absolute error and R², each with the 95 % interval of resampled groups.

    Args:
        rows: of `Labelled`.
        scores: from 0 to 1.
        seed: of the resamples.
    """
    ratings = (rows["score"].to_numpy() + 1) / 2
    figures = held_out.measure(rows, 2 * scores - 1, seed)
    codes = rows["group"].rank("dense").to_numpy().astype(np.int64) - 1
    sums = np.zeros((int(codes.max()) + 1, 4))
    np.add.at(sums, codes, np.stack([np.ones_like(ratings), ratings, ratings**2, (ratings - scores) ** 2], 1))
    chance = np.full(len(sums), 1 / len(sums))
    draws = stream(seed, "train", "r2").multinomial(len(sums), chance, held_out.RESAMPLES)
    n, total, squares, errors = (draws.astype(np.float64) @ sums).T
    low, high = draws_interval(1 - errors / (squares - total**2 / n))
    error = {key: round(one / 2, 4) if key != "n" else one for key, one in figures["error"].items()}
    return {
        "n": figures["n"],
        "groups": figures["groups"],
        "correlation": figures["correlation"],
        "error": error,
        "r2": {
            "value": round(r_squared(ratings, scores), 4),
            "low": round(float(low), 4),
            "high": round(float(high), 4),
            "n": len(ratings),
        },
    }


def _printed(rows: pl.DataFrame, features: pl.DataFrame, seed: int) -> dict[str, Any]:
    """The figures of the published coefficients with our lists, for both ways of counting entries."""
    released = sentence_features(rows["text"].to_list(), "released")
    both = {"all": features, "released": released}
    return {name: _figures(rows, _scored(PUBLISHED, frame), seed) for name, frame in both.items()}


def _scored(model: Regression, features: pl.DataFrame) -> Floats:
    return np.nan_to_num(model.scores(features), nan=0.0)


def _card(data: TrainingTable, effort: Effort, penalty: float, figures: Mapping[str, Any]) -> dict[str, Any]:
    """The card. It holds no time, so that the same training gives the same card."""
    return {
        "kind": KIND,
        "data": data.facts(),
        "training": {"rows": len(data.rows), "seed": effort.seed},
        "penalty": penalty,
        "held_out": figures,
        "versions": {
            "python": platform.python_version(),
            "numpy": metadata.version("numpy"),
            "vaderSentiment": sentiment_version(),
        },
        "limits": list(LIMITS),
    }
