"""How often a translation gives a person the right gender: the figures of WinoMT (two-step 1.11).

Of persons sent as he and as she: accuracy, the difference of the F1 scores of both, and the difference of
accuracy where the gender sent is that of most people of the occupation, and where it is not. Each interval
comes from draws of the rates with the design effects of the sound rule (two-step 1.7, steps 3 and 4).

Axes: T draws; K kinds of mentions (usual, unusual, neither), as what is usual need not be as frequent in both
values; G values sent (he, she); C values that come back (he, she, other).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.methods.two_step.transition_model import design_effect, posterior
from trustgauge.records import Json
from trustgauge.stats.distributions import Floats, Ints

HE, SHE = 0, 1
USUAL, UNUSUAL, NEITHER = 0, 1, 2
"""Whether the gender sent is that of most people of an occupation, by the shares that the plan gives."""
SHAPE = (3, 2, 3)  # kinds, values sent, values that come back
EVEN = 0.5


def gender_accuracy(
    frame: pl.DataFrame, settings: TwoStepSettings, rng: np.random.Generator
) -> dict[str, Json]:
    """The figures of one part.

    Args:
        frame: rows of the summary, of one service and part.
        settings: the experiment.
        rng: of the draws.

    Returns:
        `n`: mentions that were read. Then with `value`, `low` and `high` (95 %), or None where nothing was
        read that they are about: `accuracy`, the share of mentions that came back as sent; `f1_difference`,
        F1 of he less F1 of she; `stereotype_difference`, accuracy of usual less that of unusual mentions.
    """
    rows = _kinds(frame, settings)
    clusters = [_clusters(rows, key) for key in ("text", "item", "segment")]
    counts = clusters[0].sum(axis=0)
    deff = np.maximum(1.0, np.maximum.reduce([design_effect(of) for of in clusters]))
    sent = counts.sum(axis=-1)
    drawn = posterior(counts, deff, settings.draws, rng).reshape(-1, *SHAPE)
    observed = (counts / np.maximum(sent, 1)[:, None]).reshape(1, *SHAPE)
    shaped = sent.reshape(SHAPE[:-1])
    figures = {
        "accuracy": _accuracy,
        "f1_difference": _f1_difference,
        "stereotype_difference": _stereotype_difference,
    }
    estimates = {
        name: _estimate(figure(observed, shaped), figure(drawn, shaped)) for name, figure in figures.items()
    }
    return {"n": int(sent.sum()), **estimates}


def _kinds(frame: pl.DataFrame, settings: TwoStepSettings) -> pl.DataFrame:
    """The mentions that were read, with `kind`."""
    shares = {item.lower(): share for item, share in settings.item_shares.items()}
    many = [item for item, share in shares.items() if share > EVEN]
    few = [item for item, share in shares.items() if share < EVEN]
    item, she = pl.col("item").str.to_lowercase(), pl.col("value_in") == SHE
    usual = (item.is_in(many) & she) | (item.is_in(few) & ~she)
    return frame.filter(
        (pl.col("value_out") >= 0) & pl.col("value_in").is_in([HE, SHE]) & (pl.col("pooled") > 0)
    ).with_columns(
        kind=pl.when(usual).then(USUAL).when(item.is_in(many + few)).then(UNUSUAL).otherwise(NEITHER)
    )


def _clusters(rows: pl.DataFrame, key: str) -> Ints:
    """Mentions by cluster, kind and value sent, and value that came back: [clusters, K G, C]."""
    cluster = rows[key].rank("dense").to_numpy().astype(np.int64) - 1
    counts = np.zeros((rows[key].n_unique(), *SHAPE), dtype=np.int64)
    place = (cluster, *(rows[name].to_numpy() for name in ("kind", "value_in", "value_out")))
    np.add.at(counts, place, rows["pooled"].to_numpy())
    return counts.reshape(len(counts), SHAPE[0] * SHAPE[1], SHAPE[-1])


def _estimate(observed: Floats, drawn: Floats) -> dict[str, Json] | None:
    """A figure at the observed rates, with the interval of its draws; None if it is not defined."""
    value = float(observed[0])
    if np.isnan(value):
        return None
    low, high = (float(end) for end in np.quantile(drawn, (0.025, 0.975)))
    return {"value": value, "low": min(value, low), "high": max(value, high)}


def _right(rates: Floats) -> Floats:
    """The shares that came back as sent, [T, K, G]."""
    return rates[:, :, (HE, SHE), (HE, SHE)]


def _accuracy(rates: Floats, sent: Ints) -> Floats:
    return _ratio((_right(rates) * sent).sum(axis=(1, 2)), sent.sum())


def _f1_difference(rates: Floats, sent: Ints) -> Floats:
    if not sent.any(axis=0).all():
        return np.full(len(rates), np.nan)
    table = (rates * sent[..., None]).sum(axis=1)  # [T, G, C]
    he, she = (
        _ratio(2 * table[:, one, one], table[:, one].sum(axis=1) + table[:, :, one].sum(axis=1))
        for one in (HE, SHE)
    )
    return he - she


def _stereotype_difference(rates: Floats, sent: Ints) -> Floats:
    right = (_right(rates) * sent).sum(axis=2)
    usual, unusual = (_ratio(right[:, kind], sent[kind].sum()) for kind in (USUAL, UNUSUAL))
    return usual - unusual


def _ratio(part: Floats, whole: Floats | np.integer) -> Floats:
    """A share; not a number where there is nothing that it could be a share of."""
    of = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.where(of > 0, part / np.where(of > 0, of, 1.0), np.nan)
