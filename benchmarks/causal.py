"""Rating a million scores with ten protected classes, beside a plain scipy loop and DoWhy.

    python -m benchmarks.causal                # ratios within one run
    python -m benchmarks.causal --rows 100000

Rows are 100 frames x persons of 10 classes x 10 words, one score each. Ours: sums by cell, average
treatment effects of all 45 pairs, weighted rejection score, deconfounding impact, and 10,000
resamples of each, from which levels are read. The loop does the same resamples of one pair with
`scipy.stats.ttest_ind`; DoWhy adjusts for the class once, by stratification. Both are timed on a few
repetitions and scaled to the whole. DoWhy is no dependency: without it its line says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable

import numpy as np
import polars as pl

from trustgauge.methods.causal import deconfounding, effects, rejection
from trustgauge.methods.causal import score as reading
from trustgauge.methods.causal.ordering import absolute_levels
from trustgauge.methods.causal.panel import Grouping, Panel, panel
from trustgauge.methods.causal.settings import BY_RULE, RejectionRule

FRAMES, WORDS, CLASSES = 100, 10, 10
RESAMPLES = 10_000
LOOPS = 20  # repetitions of the loop that are timed
SOUND = BY_RULE["sound"]
RULE = RejectionRule(SOUND["weights"], SOUND["alphas"], SOUND["degrees"], SOUND["epsilon"])


def marks(rows: int, seed: int = 1) -> pl.DataFrame:
    """Scored answers in the columns that `score.summarise` takes; class c shifts the score by .01 c."""
    persons = max(2 * CLASSES, rows // (FRAMES * WORDS))
    rng = np.random.default_rng(seed)
    frame, person, word = (
        one.ravel() for one in np.meshgrid(range(FRAMES), range(persons), range(WORDS), indexing="ij")
    )
    classes = pl.Series(person % CLASSES)
    score = np.clip((word % 2) * 0.8 - 0.4 + person % CLASSES * 0.01 + rng.normal(0, 0.2, len(word)), -1, 1)
    return (
        pl.DataFrame(
            {
                "frame": frame,
                "person": person,
                "word": word,
                "valence": np.where(word % 2 == 1, "positive", "negative"),
                "score": score,
            }
        )
        .with_columns(
            pl.format("f{}", "frame").alias("frame"),
            pl.format("p{}", "person").alias("person"),
            pl.format("w{}", "word").alias("word"),
            *(pl.lit(value).alias(name) for name, value in FIXED.items()),
            *(pl.lit(0, pl.Int64).alias(name) for name in reading.LABELS),
            *(pl.lit(value=False).alias(name) for name in ("tripped", "same_text", "untouched")),
        )
        .with_columns(gender=pl.format("c{}", classes))
    )  # persons are drawn within it


FIXED = {
    "service": "a", "part": "", "block": "group-3/all", "gender": "NA", "race": "NA", "cluster": "",
    "status": "answered", "fault": "",
}  # fmt: skip


def grouping(held: Panel) -> Grouping:
    """Ten classes; a person's name tells theirs."""
    of = np.array([int(name[1:]) % CLASSES for name in held.persons])
    return Grouping("class", tuple(f"c{label}" for label in range(CLASSES)), of)


def rate(held: Panel, classes: Grouping) -> int:
    """Effects, rejection score, impact and their resamples, down to a level."""
    rng = np.random.default_rng(2)
    frames, persons = held.weights(classes, RESAMPLES, rng)
    e = float(np.abs(effects.ate(held, classes).value).max()) / 2
    stars = np.abs(effects.resample_ates(held, classes, frames, persons)).max(axis=(1, 2)) / 2
    rejection.score(rejection.tests(held, classes, RULE), RULE)
    rejection.resample_scores(held, classes, RULE, rejection.Draws(frames, persons))
    deconfounding.resample_deltas(held, classes, frames, persons, outcome="score", positivity="refuse")
    levels = absolute_levels(stars, max(0.0, float(stars.mean()) - e), (0.05, 0.20))
    return int(np.bincount(levels).argmax())


def scipy_loop(table: pl.DataFrame) -> None:
    """One pair of classes resampled and tested, `LOOPS` times."""
    import scipy.stats

    rng = np.random.default_rng(3)
    label = table["person"].str.slice(1).cast(pl.Int64) % CLASSES
    first, second = (table["score"].filter(label == one).to_numpy() for one in (0, 1))
    for _ in range(LOOPS):
        scipy.stats.ttest_ind(rng.choice(first, len(first)), rng.choice(second, len(second)), equal_var=False)


def dowhy(table: pl.DataFrame) -> None:
    """E[score | do(positive word)] - E[score | do(negative word)], adjusted for the class, once."""
    import pandas  # type: ignore[import-untyped, unused-ignore]  # comes with DoWhy
    from dowhy import CausalModel  # type: ignore[import-not-found, unused-ignore]

    rows = pandas.DataFrame(
        {
            "y": table["score"].to_numpy(),
            "x": (table["valence"] == "positive").to_numpy(),
            "z": (table["person"].str.slice(1).cast(pl.Int64) % CLASSES).to_numpy().astype(np.float64),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CausalModel(rows, treatment="x", outcome="y", common_causes=["z"])
        found = model.identify_effect(proceed_when_unidentifiable=True)
        model.estimate_effect(found, method_name="backdoor.linear_regression")


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Time ours, the loop and DoWhy, and print ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    rows = options.rows
    table = marks(rows)
    summary = pl.DataFrame()
    lines: list[tuple[str, float, float]] = []

    def summarise() -> None:
        nonlocal summary
        summary = reading.summarise(table)

    lines.append(("summarise", *seconds(summarise)))
    held: list[Panel] = []
    lines.append(("to arrays", *seconds(lambda: held.append(panel(summary)))))
    classes = grouping(held[0])
    lines.append(("rate", *seconds(lambda: rate(held[0], classes))))
    ours = sum(wall for _, wall, _ in lines)
    wall, _ = seconds(lambda: scipy_loop(table))
    pairs = CLASSES * (CLASSES - 1) // 2
    whole = wall / LOOPS * RESAMPLES * pairs
    print(f"{rows:,} scores, {CLASSES} classes, {pairs} pairs, {RESAMPLES:,} resamples")
    for name, took, busy in lines:
        print(f"{name:<12}{took:8.2f} s wall {busy:8.2f} s CPU")
    print(f"{'ours':<12}{ours:8.2f} s")
    print(
        f"{'scipy loop':<12}{whole:8.0f} s, from {LOOPS} resamples of one pair: "
        f"{whole / ours:,.0f} times ours"
    )
    if options.json:
        of_stage = {name: took for name, took, _ in lines}
        print(json.dumps({"rows": rows, "stages": of_stage, "loop": whole, "loops": LOOPS}))
        return
    if importlib.util.find_spec("dowhy") is None:
        print("dowhy        not installed")
        return
    wall, _ = seconds(lambda: dowhy(table))
    once = wall * RESAMPLES
    print(
        f"{'dowhy':<12}{wall:8.2f} s for one adjustment without a resample; "
        f"{once:,.0f} s for as many: {once / ours:,.0f} times ours"
    )


if __name__ == "__main__":
    main()
