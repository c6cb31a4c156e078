"""Small confounded designs with exact shares, as panels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.causal.panel import Floats, Panel, panel

FOR_GENDER = {
    ("male", "European"): 0.9,
    ("female", "European"): 0.1,
    ("NA", "NA"): 0.5,
}
FOR_BOTH = {
    ("male", "European"): 0.9,
    ("female", "European"): 0.5,
    ("male", "African-American"): 0.5,
    ("female", "African-American"): 0.1,
    ("NA", "NA"): 0.5,
}
"""Share of positive words of each (gender, race): Groups 2 and 4."""
WORD = {"negative": "grim", "positive": "happy"}

Row = Mapping[str, Any]


def summary(rows: Iterable[Row]) -> Panel:
    """A panel of rows with set, frame, person, gender, race, valence, score; more columns are optional."""
    filled = [
        {
            "block": f"group-2/{row.get('set', 'e3')}",
            "frame": row["frame"],
            "person": row["person"],
            "gender": row["gender"],
            "race": row.get("race", "NA"),
            "word": row.get("word", WORD.get(row["valence"], "there")),
            "valence": row["valence"],
            "cluster": "",
            "covariates": "",
            "n": row.get("n", 1),
            "y": round(row["score"] * row.get("n", 1) * 1e9),
            "yy": round(row["score"] ** 2 * row.get("n", 1) * 1e18),
            "above": row.get("n", 1) * (row["score"] > 0),
            "below": row.get("n", 1) * (row["score"] < 0),
            **dict(
                zip(
                    ("labels_below", "labels_zero", "labels_above"), row.get("labels", (0, 0, 0)), strict=True
                )
            ),
        }
        for row in rows
    ]
    return panel(pl.DataFrame(filled, schema_overrides={"y": pl.Int128, "yy": pl.Int128}))


def design(
    shares: Mapping[tuple[str, str], float] = FOR_GENDER, *, frames: int = 4, persons: int = 5
) -> list[dict[str, Any]]:
    """One row for each frame and person, of every class; the valences have exactly these shares.

    As in the paper, a third of all rows is of persons without a class, if there are any.
    """
    rows: list[dict[str, Any]] = []
    for (gender, race), share in shares.items():
        count = persons * (len(shares) - 1) // 2 if gender == "NA" else persons
        size = frames * count
        positive = round(share * size)
        assert abs(positive - share * size) < 1e-9, "the shares are not exact at this size"
        order = np.random.default_rng(len(rows)).permutation(size) < positive
        for place, good in enumerate(order.tolist()):
            rows.append(
                {
                    "frame": f"f{place // count:02}",
                    "person": f"{gender}-{race}-{place % count:02}",
                    "gender": gender,
                    "race": race,
                    "valence": "positive" if good else "negative",
                }
            )
    return rows


def scored(rows: Iterable[Row], scorer: Callable[[Row], float]) -> Panel:
    return summary({**row, "score": scorer(row)} for row in rows)


def female_biased(row: Row) -> float:
    """The test system of the paper: 1 for women, else -1."""
    return 1.0 if row["gender"] == "female" else -1.0


def answered(design_of: Panel, score: Floats) -> Panel:
    """The same design with other scores, [S, F, P, W]; where there is no text there is no score."""
    y = np.rint(score * 1e9) * 1e-9 * design_of.n
    above, below = ((design_of.n > 0) & sign for sign in (y > 0, y < 0))
    return replace(design_of, y=y, yy=y * y, above=above.astype(np.float64), below=below.astype(np.float64))
