"""Summing up and rating against pandas, scipy, DoWhy and plain NumPy doing the same, in one run.

    python -m benchmarks.analysis [--rows 100000 1000000 10000000] [--pairs 10000] [--answers 1000000]

- group-by: scored answers to sums by cell (`causal.score.summarise`) against pandas;
- Welch: so many t tests from sums (`stats.means.t_test`) against a loop of `scipy.stats.ttest_ind`;
- adjustment: E[score | do(word)] adjusted for the class, from rows, against DoWhy's backdoor estimators;
- resamples: the mean of an issue with all its dialogs resampled (`trust.levels.mean_assessed`) against a
  loop over the rows;
- permutations: tables of labels by outcomes (`stats.comparisons.label_tables`) against a loop that shuffles.

Both ways must come to the same: exactly within 1e-9 where both compute one number, within the limits of
chance where each draws its own. Seconds are wall seconds, the best of the rounds, imports left out. Loops
over tests and DoWhy run once; loops over resamples are timed on a few and scaled. DoWhy is no dependency
of trustgauge (group `benchmark`); where it is absent, its rows say so.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from benchmarks.causal import FIXED
from benchmarks.results import Curve, Found, Row, Target, as_json, line, rows_in_words
from trustgauge.methods.causal import deconfounding
from trustgauge.methods.causal import score as reading
from trustgauge.methods.causal.panel import UNIT, Grouping, panel
from trustgauge.methods.trust.levels import assess_mean
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.stats.comparisons import label_tables, permutation_p
from trustgauge.stats.distributions import Floats, Ints
from trustgauge.stats.means import Sums, t_test

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

FRAMES, PERSONS, WORDS, CLASSES = 100, 10, 10, 5
"""Cells of the group-by: however many rows, there are 10,000 of them."""
DRAWS = 10_000
DIALOGS = 1_000
LOOPS = 50  # repetitions of a loop that are timed
EQUAL = 1e-9
DEVIATIONS = 6.0
"""How far two random results may lie apart, in standard errors: chance does so once in 500 million."""
Made = TypeVar("Made")


def timed(work: Callable[[], Made], rounds: int = 3) -> tuple[float, Made]:
    """Wall seconds of the best of the rounds, and what came out."""
    best, made = float("inf"), None
    for _ in range(rounds):
        began = time.perf_counter()
        made = work()
        best = min(best, time.perf_counter() - began)
    assert made is not None
    return best, made


def marks(rows: int, seed: int = 1) -> pl.DataFrame:
    """Scored answers, as `score.summarise` takes them; class c of a person shifts the score by .01 c.

    Positive words go to persons of later classes more often, so that the class confounds.
    """
    rng = np.random.default_rng(seed)
    frame, person = rng.integers(FRAMES, size=rows), rng.integers(PERSONS, size=rows)
    positive = rng.random(rows) < 0.3 + 0.08 * (person % CLASSES)
    word = 2 * rng.integers(WORDS // 2, size=rows) + positive
    score = np.where(positive, 0.4, -0.4) + 0.01 * (person % CLASSES) + rng.normal(0, 0.2, rows)
    return pl.DataFrame(
        {
            "frame": _named("f", FRAMES, frame),
            "person": _named("p", PERSONS, person),
            "word": _named("w", WORDS, word),
            "valence": pl.Series(["negative", "positive"]).gather(positive.astype(np.int64)),
            "score": np.clip(score, -1, 1).round(6),
        }
    ).with_columns(
        *(pl.lit(value).alias(name) for name, value in FIXED.items()),
        *(pl.lit(0, pl.Int64).alias(name) for name in reading.LABELS),
        *(pl.lit(value=False).alias(name) for name in ("tripped", "same_text", "untouched")),
    )


def _named(letter: str, count: int, codes: Ints) -> pl.Series:
    return pl.Series([f"{letter}{n:03d}" for n in range(count)]).gather(codes)


# -- group-by


def by_pandas(table: pd.DataFrame) -> pd.DataFrame:
    """Number, sum and sum of squares of the scores by cell, and how many are above and below 0."""
    score = table["score"]
    table = table.assign(yy=score * score, above=score > 0, below=score < 0)
    sums = {"n": ("score", "count"), "y": ("score", "sum"), "yy": ("yy", "sum")}
    sums |= {name: (name, "sum") for name in ("above", "below")}
    return table.groupby(list(CELL), sort=True, observed=True).agg(**sums).reset_index()


CELL = ("frame", "person", "word", "valence")


def frames_of(table: pl.DataFrame) -> dict[str, pd.DataFrame]:
    """Cells and scores for pandas: cells as text, and as categories, which it groups quickest."""
    import pandas as pd

    score = table["score"].to_numpy()
    names = {name: table[name].unique().sort() for name in CELL}
    codes = {name: table[name].cast(pl.Enum(names[name])).to_physical().to_numpy() for name in CELL}
    category = {name: pd.Categorical.from_codes(codes[name], names[name].to_list()) for name in CELL}
    text = {name: np.array(names[name].to_list(), dtype=object)[codes[name]] for name in CELL}
    return {
        "pandas groupby, cells as text": pd.DataFrame({**text, "score": score}),
        "pandas groupby, cells as categories": pd.DataFrame({**category, "score": score}),
    }


def group_by(rows: int, rounds: int) -> list[Row]:
    """Our sums by cell and those of pandas. Raises AssertionError if they differ."""
    table = marks(rows)
    ours, summary = timed(lambda: reading.summarise(table), rounds)
    mine = summary.sort(CELL)
    found = []
    for against, same in frames_of(table).items():
        other, sums = timed(lambda same=same: by_pandas(same), rounds)  # type: ignore[misc]
        assert mine.height == len(sums)
        for name, unit in {"n": 1.0, "above": 1.0, "below": 1.0, "y": UNIT, "yy": UNIT**2}.items():
            exact = mine[name].cast(pl.Float64).to_numpy() * unit
            np.testing.assert_allclose(exact, sums[name].to_numpy(np.float64), rtol=EQUAL, atol=EQUAL)
        found.append(
            Row(
                what=f"group-by of {rows_in_words(rows)} scored answers to {mine.height:,} cells",
                unit="s",
                ours=ours,
                against=against,
                other=other,
                note="ours by all 12 keys of a summary, as text, without rounding; pandas by the 4 that vary",
            )
        )
    return found


def growth(sizes: Sequence[int], rounds: int) -> Found:
    """The group-by at all sizes."""
    rows = [group_by(size, rounds if size < 5_000_000 else 1) for size in sizes]
    curves = [Curve("ours", "s", _points(sizes, [of_size[0].ours for of_size in rows]))]
    for place, one in enumerate(rows[0]):
        curves.append(
            Curve(
                one.against.replace(" groupby, cells as", ","),
                "s",
                _points(sizes, [of_size[place].other for of_size in rows]),
            )
        )
    return Found(tuple(row for of_size in rows for row in of_size), tuple(curves))


def _points(sizes: Sequence[int], figures: Sequence[float | None]) -> tuple[tuple[float, float], ...]:
    return tuple((float(size), one) for size, one in zip(sizes, figures, strict=True) if one is not None)


# -- Welch


def welch(pairs: int, rounds: int, values: int = 100) -> list[Row]:
    """Tests of pairs of groups of `values` scores. Raises AssertionError if p or t differ."""
    import scipy.stats

    rng = np.random.default_rng(2)
    first, second = rng.normal(0, 0.3, (pairs, values)), rng.normal(0.05, 0.4, (pairs, values))
    summed, sums = timed(lambda: (_sums(first), _sums(second)), rounds)
    ours, test = timed(lambda: t_test(*sums), rounds)

    def loop() -> list[Any]:
        return [scipy.stats.ttest_ind(a, b, equal_var=False) for a, b in zip(first, second, strict=True)]

    looped, by_scipy = timed(loop, 1)
    np.testing.assert_allclose(test.t, [one.statistic for one in by_scipy], rtol=EQUAL, atol=EQUAL)
    np.testing.assert_allclose(test.p, [one.pvalue for one in by_scipy], rtol=1e-7, atol=EQUAL)
    at_once, _ = timed(lambda: scipy.stats.ttest_ind(first, second, axis=1, equal_var=False), rounds)
    what = f"Welch's t test of {pairs:,} pairs of {values} scores"
    target = Target(
        0.004, "three quarters are 10,000 values of Student's t distribution; next, only those near a cut"
    )
    return [
        Row(
            what=f"{what}, from sums",
            unit="s",
            ours=ours,
            against="a loop of scipy.stats.ttest_ind over the scores",
            other=looped,
            target=target if pairs == 10_000 else None,
        ),
        Row(
            what=f"{what}, from the scores",
            unit="s",
            ours=summed + ours,
            against="scipy.stats.ttest_ind, all pairs in one call",
            other=at_once,
        ),
    ]


def _sums(scores: Floats) -> Sums:
    return Sums(np.full(len(scores), float(scores.shape[1])), scores.sum(axis=1), (scores**2).sum(axis=1))


# -- adjustment


def classes() -> Grouping:
    """The classes of the persons of `marks`."""
    of = np.arange(PERSONS) % CLASSES
    return Grouping("class", tuple(f"c{label}" for label in range(CLASSES)), of)


def adjusted(table: pl.DataFrame) -> float:
    """E[score | do(positive word)] - E[score | do(negative word)], all the way from rows."""
    held = panel(reading.summarise(table))
    found = deconfounding.impact(held, classes(), outcome="score", positivity="refuse")
    return float(found.word_effects[0])


DOWHY = {
    "backdoor.linear_regression": "DoWhy's backdoor regression, saturated",  # the same number as ours
    "backdoor.propensity_score_stratification": "DoWhy's backdoor stratification",  # within chance
}


def by_dowhy(table: pl.DataFrame, method: str) -> float:
    """The same by DoWhy: model, identify, estimate. One column for each class but the first."""
    pandas, causal_model = _dowhy()
    label = table["person"].str.slice(1).cast(pl.Int64).to_numpy() % CLASSES
    member = [f"z{one}" for one in range(1, CLASSES)]
    rows = pandas.DataFrame(
        {"y": table["score"].to_numpy(), "x": (table["valence"] == "positive").to_numpy()}
        | {name: (label == one).astype(np.float64) for one, name in enumerate(member, 1)}
    )
    saturated = method.endswith("regression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = causal_model(
            rows,
            treatment="x",
            outcome="y",
            common_causes=member,
            effect_modifiers=member if saturated else None,
        )
        found = model.identify_effect(proceed_when_unidentifiable=True)
        return float(model.estimate_effect(found, method_name=method).value)


def _dowhy() -> tuple[Any, Any]:
    """Pandas and DoWhy's model."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dowhy import CausalModel  # type: ignore[import-not-found, unused-ignore]
    return pd, CausalModel


def adjustment(rows: int, rounds: int) -> Iterator[Row]:
    """Ours and DoWhy's. Raises AssertionError if they differ."""
    what = f"adjustment of a mean of {rows_in_words(rows)} answers for {CLASSES} classes, from rows"
    if importlib.util.find_spec("dowhy") is None:
        for against in DOWHY.values():
            yield Row(what=what, unit="s", ours=None, against=against, note="skipped: DoWhy is not installed")
        return
    _dowhy()  # its import takes seconds, which are not counted
    table = marks(rows)
    ours, effect = timed(lambda: adjusted(table), rounds)
    chance = DEVIATIONS * 2 * float(table["score"].std()) / rows**0.5  # type: ignore[arg-type]
    for method, against in DOWHY.items():
        other, value = timed(lambda method=method: by_dowhy(table, method), 1)  # type: ignore[misc]
        exact = method.endswith("regression")
        assert abs(effect - value) <= (EQUAL if exact else chance), (method, effect, value)
        why = "summing up rows of text is nearly all of ours; next, cells as integer codes"
        target = None if exact or rows < 1_000_000 else Target(400, why, of_ratio=True)
        yield Row(what=what, unit="s", ours=ours, against=against, other=other, target=target)


# -- resamples and permutations


def resamples(answers: int, draws: int, rounds: int) -> Row:
    """The mean of scored answers of 1,000 dialogs, resampled. Raises AssertionError if the ways differ."""
    rng = np.random.default_rng(3)
    dialogs = min(DIALOGS, answers // 10)
    of = np.sort(rng.integers(dialogs, size=answers))
    values = np.clip(rng.normal(0.3, 0.1, answers) + rng.normal(0, 0.1, dialogs)[of], 0, 1)
    table = pl.DataFrame({"cluster": _named("d", dialogs, of), "value": values})

    def ours() -> tuple[Ints, Floats]:
        cells = table.group_by("cluster").agg(n=pl.len(), total=pl.col("value").sum()).sort("cluster")
        resampling = Resampling(1, draws)
        found = assess_mean(cells, (0.1, 0.5), resampling).draws
        assert found is not None
        return resampling.weights(cells["cluster"].to_list()), found

    took, (weights, means) = timed(ours, rounds)
    loops = min(LOOPS, draws)

    def loop() -> list[float]:
        times = (drawn[of] for drawn in weights[:loops].astype(np.float64))
        return [float(each @ values / each.sum()) for each in times]

    looped, other = timed(loop, 1)
    np.testing.assert_allclose(means[:loops], other, rtol=EQUAL)
    target = Target(
        1.0, "more than half is drawing ten million numbers of dialogs; next, draw them as integers at once"
    )
    return Row(
        what=f"{draws:,} resamples of {rows_in_words(answers)} answers, with interval and levels",
        unit="s",
        ours=took,
        against="a NumPy loop over the answers, means alone",
        other=looped / loops * draws,
        target=target if (answers, draws) == (1_000_000, DRAWS) else None,
        note=f"the loop was timed on {loops} resamples and scaled",
    )


def permutations(answers: int, draws: int, rounds: int) -> Row:
    """Permuted labels of answers. Raises AssertionError if the ways differ by more than chance."""
    rng = np.random.default_rng(4)
    label, biased = rng.integers(2, size=answers), rng.random(answers) < 0.2
    table = np.array([[np.sum((label == a) & (biased == b)) for b in (False, True)] for a in (0, 1)])
    types, sizes = table.sum(axis=0), table.sum(axis=1)
    centre = types[1] * sizes[0] / answers
    spread = (centre * (1 - types[1] / answers) * sizes[1] / max(1, answers - 1)) ** 0.5

    def ours() -> tuple[float, Ints]:
        counts = label_tables(types[None], sizes[None], draws, rng)[0, :, 0, 1]
        return permutation_p(abs(table[0, 1] - centre), np.abs(counts - centre)), counts

    took, (p, counts) = timed(ours, rounds)
    loops = min(LOOPS, draws)

    def loop() -> list[int]:
        return [int(biased[rng.permutation(label) == 0].sum()) for _ in range(loops)]

    looped, other = timed(loop, 1)
    assert 0 < p <= 1
    for seen in (counts, np.array(other)):
        assert abs(seen.mean() - centre) <= DEVIATIONS * spread / len(seen) ** 0.5
    return Row(
        what=f"{draws:,} permutations of the labels of {rows_in_words(answers)} answers, with p",
        unit="s",
        ours=took,
        against="a NumPy loop that shuffles the labels",
        other=looped / loops * draws,
        note=f"the loop was timed on {loops} permutations and scaled",
    )


def measure(options: argparse.Namespace) -> Found:
    """Everything."""
    found = growth(options.rows, options.rounds)
    rows = [*found.rows, *welch(options.pairs, options.rounds), *adjustment(options.adjusted, options.rounds)]
    rows += [way(options.answers, options.draws, options.rounds) for way in (resamples, permutations)]
    return Found(tuple(rows), found.curves)


def parser() -> argparse.ArgumentParser:
    """The options and their defaults."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    made.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    made.add_argument("--pairs", type=int, default=10_000, help="t tests")
    made.add_argument("--adjusted", type=int, default=1_000_000, help="answers that are adjusted")
    made.add_argument("--answers", type=int, default=1_000_000, help="answers that are resampled")
    made.add_argument("--draws", type=int, default=DRAWS, help="resamples")
    made.add_argument("--rounds", type=int, default=3)
    made.add_argument("--json", action="store_true", help="end with one line of JSON")
    return made


def main() -> None:
    """Measure and print."""
    options = parser().parse_args()
    found = measure(options)
    for row in found.rows:
        print(line(row))
    if options.json:
        print(json.dumps(as_json(found)))


if __name__ == "__main__":
    main()
