"""How well a scorer does on rows that its training never saw, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.services.gru_network import words
from trustgauge.stats import stream
from trustgauge.stats.distributions import draws_interval

RESAMPLES = 2_000
NEUTRAL = 0.05  # labels nearer to zero than this have no sign to get right
FEWEST_TESTED = 20  # held-out rows
SHARE_FROM = 1e-12  # a spread below it is none

Floats = NDArray[np.float64]


def split_groups(rows: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows to train on and rows held out, by whole groups.

    Groups are drawn until they hold `share` of the rows. A held-out text whose words also occur
    as a text of the training rows is left out of both, because it would be recalled, not scored.
    """
    groups = rows["group"].unique().sort()
    order = stream(seed, "train", "held out").permutation(len(groups))
    sizes = rows.group_by("group").len().sort("group")["len"].to_numpy()[order]
    count = int(np.searchsorted(np.cumsum(sizes), share * len(rows))) + 1
    kept_back = pl.col("group").is_in(groups.gather(order[:count]).implode())
    training = rows.filter(~kept_back)
    known = {tuple(words(text)) for text in training["text"]}
    tested = rows.filter(kept_back)
    new = pl.Series([tuple(words(text)) not in known for text in tested["text"]], dtype=pl.Boolean)
    return training, tested.filter(new)


def measure(tested: pl.DataFrame, scores: Floats, seed: int) -> dict[str, Any]:
    """Correlation, mean absolute error and share of right signs, with 95 % intervals.

    Intervals are quantiles of 2,000 resamples of whole groups, since rows of one group are not
    independent. The sign is judged on rows whose label is at least 0.05 from zero.

    Args:
        tested: columns `score` (the labels, in [-1, 1]), `group` and `source`.
        scores: what the model gave, shape [rows].
        seed: of the resampling.

    Returns:
        `n`, `groups` and the three figures, each {value, low, high, n}; undefined ones are None
        (a correlation without spread). `commoner_sign` is what a constant answer would reach.
    """
    truth = tested["score"].to_numpy()
    sums = _sums(truth, scores)
    codes = tested["group"].rank("dense").to_numpy().astype(np.int64) - 1
    groups = int(codes.max()) + 1
    by_group = np.zeros((groups, sums.shape[1]))
    np.add.at(by_group, codes, sums)
    draws = stream(seed, "train", "resamples").multinomial(groups, np.full(groups, 1 / groups), RESAMPLES)
    resampled = _figures(draws.astype(np.float64) @ by_group)
    values = _figures(sums.sum(0)[None, :])
    signed = int(sums[:, 6].sum())
    sizes = {"correlation": len(truth), "error": len(truth), "sign": signed}
    positive = float(np.sum(truth[np.abs(truth) >= NEUTRAL] > 0))
    return {
        "n": len(truth),
        "groups": groups,
        **{name: _interval(values[name][0], resampled[name], sizes[name]) for name in sizes},
        "commoner_sign": max(positive, signed - positive) / signed if signed else None,
    }


def by_source(tested: pl.DataFrame, scores: Floats, seed: int) -> Mapping[str, Any]:
    """`measured` for each source that has enough held-out rows; empty if there is only one source."""
    names = tested["source"].unique().sort().to_list()
    if len(names) < 2:
        return {}
    masks = {name: (tested["source"] == name).to_numpy() for name in names}
    return {
        name: measure(tested.filter(mask), scores[mask], seed)
        for name, mask in masks.items()
        if mask.sum() >= FEWEST_TESTED
    }


def _sums(truth: Floats, scores: Floats) -> Floats:
    """What every figure is a function of when summed over rows: shape [rows, 9]."""
    signed = (np.abs(truth) >= NEUTRAL).astype(np.float64)
    right = signed * (np.sign(truth) == np.sign(scores))
    one = np.ones_like(truth)
    moments = [truth, scores, truth * truth, scores * scores, truth * scores]
    return np.stack([one, *moments, signed, right, np.abs(truth - scores)], axis=1)


def _figures(sums: Floats) -> dict[str, Floats]:
    """Figures from sums of shape [..., 9]; NaN where undefined."""
    n, x, y, xx, yy, xy, signed, right, error = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread_x, spread_y = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
        flat = (spread_x < SHARE_FROM) | (spread_y < SHARE_FROM)
        correlation = np.where(flat, np.nan, (xy / n - x * y / n**2) / np.sqrt(spread_x * spread_y))
        return {
            "correlation": correlation,
            "error": error / n,
            "sign": np.where(signed > 0, right / signed, np.nan),
        }


def _interval(value: float, draws: Floats, n: int) -> dict[str, float | int | None]:
    """A figure with its interval; without one if it is undefined in more than 5 % of resamples."""
    defined = draws[np.isfinite(draws)]
    if not np.isfinite(value) or len(defined) < 0.95 * len(draws):
        return {"value": None, "low": None, "high": None, "n": n}
    low, high = draws_interval(defined)
    return {
        "value": round(float(value), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
        "n": n,
    }
