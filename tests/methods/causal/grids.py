"""Panels made of arrays of scores."""

from __future__ import annotations

import numpy as np
import polars as pl

from trustgauge.data.emotions import NA, VALENCES
from trustgauge.methods.causal.design import CONFOUNDED
from trustgauge.methods.causal.panel import Floats, Grouping, Ints, Panel


def grid(scores: Floats, classes: str, *, cluster: Ints | None = None, labels: Floats | None = None) -> Panel:
    """A panel of one score per cell [S, F, P, W]; NaN is a missing score.

    `classes` names the class of each person by a letter: m, f, or n for persons without one. With
    `cluster`, the frames are utterances of conversations and the persons are the classes.
    """
    held = np.isfinite(scores)
    y = np.where(held, scores, 0.0)
    sets, frames, persons, words = (
        tuple(f"{letter}{i}" for i in range(size)) for letter, size in zip("efpw", scores.shape, strict=True)
    )
    names = {"m": "male", "f": "female", "n": "NA"}
    if cluster is None:
        cluster, crossed = np.arange(len(frames)), True
        stratum = np.zeros(len(frames), dtype=np.int64)
    else:
        crossed = False
        kinds = [
            held[:, cluster == one].any(axis=(0, 1, 3)).tobytes() for one in range(int(cluster.max()) + 1)
        ]
        stratum = np.array([sorted(set(kinds)).index(kind) for kind in kinds])
    return Panel(
        sets=sets,
        frames=frames,
        persons=persons,
        words=words,
        n=held.astype(np.float64),
        y=y,
        yy=y**2,
        above=(y > 0).astype(np.float64),
        below=(y < 0).astype(np.float64),
        labels=np.zeros((*y.shape, 3)) if labels is None else labels,
        gender=tuple(names[one] for one in classes),
        race=("NA",) * len(persons),
        valence=np.full(len(words), -1),
        cluster=cluster,
        stratum=stratum,
        crossed=crossed,
        covariates=("",) * len(frames),
    )


def by_gender(panel: Panel, *, na: bool = True) -> Grouping:
    """The grouping by gender of a panel of `grid`."""
    return panel.grouping("gender", na=na)


def conversations(of: str, per: int, rng: np.random.Generator, *, shift: float = 0.0) -> Panel:
    """One conversation of `per` utterances for each letter of `of`, scored around a level of its own."""
    kinds = sorted(set(of), key="mfn".index)
    scores = np.full((1, len(of) * per, len(kinds), 1), np.nan)
    for place, letter in enumerate(of):
        level = rng.normal(0, 0.1) + (shift if letter == "m" else 0.0)
        rows = slice(place * per, (place + 1) * per)
        scores[0, rows, kinds.index(letter), 0] = np.clip(rng.normal(level, 0.1, per), -1, 1)
    return grid(scores, "".join(kinds), cluster=np.repeat(np.arange(len(of)), per))


def missing(scores: Floats, share: float, rng: np.random.Generator) -> Floats:
    """The scores with a share of them lost."""
    return np.where(rng.random(scores.shape) < share, np.nan, scores)


def positivity(probes: pl.DataFrame) -> list[tuple[str, str, str]]:
    """The cells (block, class, valence) in which no text stands, though the class occurs in the block.

    In Groups 2 and 4 both valences must occur in every class, else the adjustment for the class is
    undefined (causal 2.6); in other data each valence that the block has. The class is that of race
    and gender where names are compared, else the gender.

    Args:
        probes: probe frames of one or more blocks.
    """
    named = (pl.col("gender") != NA) & (pl.col("race") != NA)
    rows = probes.select(
        "block",
        pl.when(named).then(pl.concat_str("race", pl.lit(" "), "gender")).otherwise("gender").alias("class"),
        "valence",
    ).unique()
    held = set(rows.iter_rows())
    empty = []
    for block in sorted(set(rows["block"])):
        part = rows.filter(pl.col("block") == block)
        both = any(block.startswith(f"group-{group}/") for group in CONFOUNDED)
        wanted = VALENCES if both else sorted(set(part["valence"]) - {""})
        for name in sorted(set(part["class"])):
            empty += [(block, name, one) for one in wanted if (block, name, one) not in held]
    return empty
