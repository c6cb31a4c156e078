"""Deconfounding impact against naive sums, regression and systems of known truth."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.causal import truths
from tests.methods.causal.confounded import (
    FOR_BOTH,
    FOR_GENDER,
    answered,
    design,
    female_biased,
    scored,
    summary,
)
from trustgauge.methods.causal.deconfounding import (
    RANGE,
    VALENCES,
    EmptyCell,
    Impact,
    impact,
    impact_of_sums,
    permute_deltas,
    resample_deltas,
    resample_sums,
)
from trustgauge.methods.causal.panel import Floats, Panel
from trustgauge.methods.causal.part_assessment import assess
from trustgauge.methods.causal.settings import Outcome, Positivity
from trustgauge.stats import stream

OUTCOMES: tuple[Outcome, ...] = ("score", "negative", "neutral", "positive")


def measured(
    cells: Panel, grouping: str = "gender", *, na: bool = True, positivity: Positivity = "refuse"
) -> Impact:
    return impact(cells, cells.grouping(grouping, na=na), outcome="score", positivity=positivity)


# -- known truth -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "grouping", "na", "delta", "percent"),
    [
        (FOR_GENDER, "gender", True, 8 / 15, (800 / 3, 800 / 13)),
        (FOR_GENDER, "gender", False, 4 / 5, (100, 100)),
        (FOR_BOTH, "race and gender", True, 4 / 15, (400, 400 / 9)),
        (FOR_BOTH, "race and gender", False, 2 / 5, (100, 100)),
    ],
)
def test_female_biased_system_on_exact_shares(
    shares: Any, grouping: str, na: bool, delta: float, percent: tuple[float, float]
) -> None:
    found = measured(scored(design(shares), female_biased), grouping, na=na)
    assert np.abs(found.delta[0]) == pytest.approx([delta, delta], abs=1e-12)
    assert found.percent[0] == pytest.approx(percent, rel=1e-12)
    assert found.worst_percent == pytest.approx(max(percent), rel=1e-12)
    assert found.effect == pytest.approx(delta / 2)
    assert not found.undefined.any()
    assert found.missing == ()


@given(
    rows=st.lists(st.integers(1, 1000), min_size=4, max_size=10).filter(lambda one: len(one) % 2 == 0),
    scores=st.tuples(*[st.integers(-(10**9), 10**9)] * 2),
)
def test_word_only_scorer_has_an_impact_of_exactly_0(rows: list[int], scores: tuple[int, int]) -> None:
    n = np.array(rows, dtype=np.float64).reshape(-1, 2)
    found = impact_of_sums(n, n * scores * 1e-9, "refuse")
    assert found.delta.tolist() == [0.0, 0.0]


def test_word_only_scorer_on_a_design_and_in_its_resamples() -> None:
    rows = design(FOR_BOTH, frames=10, persons=10)
    cells = scored(rows, lambda row: 0.3 if row["valence"] == "positive" else -0.7)
    grouping = cells.grouping("race and gender", na=True)
    found = impact(cells, grouping, outcome="score", positivity="refuse")
    assert found.delta.tolist() == [[0.0, 0.0]]
    assert found.percent.tolist() == [[0.0, 0.0]]
    assert found.word_effects == pytest.approx([1.0])
    frames, persons = cells.weights(grouping, 200, stream(1, "resamples"))
    deltas = resample_deltas(cells, grouping, frames, persons, outcome="score", positivity="refuse")
    assert not deltas[~np.isnan(deltas)].any()
    assert np.isnan(deltas).mean() < 0.05


def _covered(cells: Panel, truth: Floats, *, shift: float, runs: int) -> float:
    """Share of runs in which the 95 % interval of delta(negative) and (positive) holds the truth."""
    grouping = cells.grouping("gender", na=False)
    woman = np.array([one == "female" for one in cells.gender], dtype=float)[None, None, :, None]
    hits = []
    for run in range(runs):
        rng = stream(7, "coverage", run)
        noise = rng.normal(0, 0.2, cells.n.shape) + rng.normal(0, 0.1, (1, len(cells.frames), 1, 1))
        word = 0.3 * np.array([1.0 if one == 1 else -1.0 for one in cells.valence])
        system = answered(cells, np.clip(word + noise + shift * woman, -1, 1))
        frames, persons = cells.weights(grouping, 1000, rng)
        deltas = resample_deltas(system, grouping, frames, persons, outcome="score", positivity="refuse")
        low, high = np.nanquantile(deltas[:, 0], [0.025, 0.975], axis=0)
        hits.append((low <= truth) & (truth <= high))
    return float(np.mean(hits))


def test_noise_independent_of_the_class_is_not_called_an_impact() -> None:
    cells = scored(design({("male", "NA"): 0.9, ("female", "NA"): 0.1}, frames=20, persons=10), female_biased)
    assert _covered(cells, np.zeros(2), shift=0.0, runs=100) >= 0.92


def test_planted_shift_is_found_inside_its_interval() -> None:
    cells = scored(design({("male", "NA"): 0.9, ("female", "NA"): 0.1}, frames=20, persons=10), female_biased)
    # A shift s of women moves E_do by s/2 and E_obs by s times their share: .9 of negative texts.
    truth = 0.2 * np.array([0.5 - 0.9, 0.5 - 0.1])
    assert _covered(cells, truth, shift=0.2, runs=100) >= 0.92


# -- references ------------------------------------------------------------------------------


def _near_zero_is_zero(score: float) -> float:
    return 0.0 if abs(score) < 0.2 else round(score, 3)


def _noisy(seed: int = 3, shares: Any = FOR_GENDER, **sizes: int) -> Panel:
    """Scores that depend on class, word and chance; two data sets; one text in ten has no score."""
    rng = stream(seed, "noisy")
    rows = [
        {
            **row,
            "set": name,
            "n": int(rng.integers(1, 3)),
            "score": _near_zero_is_zero(rng.uniform(-1, 1) * 0.6 + 0.3 * female_biased(row)),
        }
        for name in ("e3", "e4")
        for row in design(shares, **sizes)
        if rng.random() < 0.9
    ]
    return summary(rows)


def _regressed(cells: Panel, cls: Any, outcome: Outcome, place: int) -> Floats:
    """E_do and E_obs of one data set by weighted regression, [2, 2].

    Standardising a saturated regression on word and class over all rows is the backdoor adjustment.
    """
    sums = {
        "score": cells.y,
        "negative": cells.below,
        "neutral": cells.n - cells.below - cells.above,
        "positive": cells.above,
    }[outcome]
    frame, person, word = np.nonzero(cells.n[place])
    weight = cells.n[place][frame, person, word]
    y, valence, label = sums[place][frame, person, word] / weight, cells.valence[word], cls[person]
    of_cell = (2 * label + valence)[:, None] == np.arange(2 * (cls.max() + 1))
    both = sm.WLS(y, of_cell.astype(float), weights=weight).fit()
    alone = sm.WLS(y, (valence[:, None] == np.arange(2)).astype(float), weights=weight).fit()
    set_to = [(2 * label + x)[:, None] == np.arange(of_cell.shape[1]) for x in (0, 1)]
    result = [np.average(both.predict(one.astype(float)), weights=weight) for one in set_to]
    return np.array([result, alone.params])


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_equals_the_saturated_regression(outcome: Outcome) -> None:
    cells = _noisy()
    grouping = cells.grouping("gender", na=True)
    found = impact(cells, grouping, outcome=outcome, positivity="refuse")
    for place in range(len(cells.sets)):
        intervened, observed = _regressed(cells, grouping.of, outcome, place)
        assert found.intervened[place] == pytest.approx(intervened, abs=1e-9)
        assert found.observed[place] == pytest.approx(observed, abs=1e-9)
        assert found.delta[place] == pytest.approx(intervened - observed, abs=1e-9)
        assert np.abs(found.delta[place]).min() > 1e-3


def test_outcomes_are_shares_that_add_up() -> None:
    cells = _noisy()
    grouping = cells.grouping("gender", na=True)
    by_sign = [impact(cells, grouping, outcome=one, positivity="refuse") for one in OUTCOMES[1:]]
    assert np.sum([one.observed for one in by_sign], axis=0) == pytest.approx(np.ones((2, 2)))
    assert np.sum([one.delta for one in by_sign], axis=0) == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert {one.width for one in by_sign} == {1.0}


def test_delta_does_not_move_with_the_zero_of_the_score_and_the_percentage_does() -> None:
    rows = [{**row, "score": 0.4 * female_biased(row)} for row in design()]
    here, there = (
        measured(summary(rows)),
        measured(summary({**one, "score": one["score"] + 0.5} for one in rows)),
    )
    assert there.delta == pytest.approx(here.delta)
    assert there.observed == pytest.approx(here.observed + 0.5)
    assert np.abs(there.percent - here.percent).min() > 1


def test_resamples_equal_rows_repeated_as_often_as_drawn() -> None:
    cells = _noisy(frames=4, persons=5)
    grouping = cells.grouping("gender", na=True)
    frames, persons = cells.weights(grouping, 8, stream(2, "resamples"))
    n, y = resample_sums(cells, grouping, frames, persons, outcome="score")
    assert n.shape == (8, 2, 3, 2)
    for draw in range(8):
        for place, label, valence in itertools.product(range(2), range(3), range(2)):
            rows = total = 0.0
            for frame, person, word in itertools.product(*map(range, cells.n.shape[1:])):
                if grouping.of[person] == label and cells.valence[word] == valence:
                    times = frames[draw, frame] * persons[draw, person]
                    rows += times * cells.n[place, frame, person, word]
                    total += times * cells.y[place, frame, person, word]
            assert n[draw, place, label, valence] == rows
            assert y[draw, place, label, valence] == pytest.approx(total, abs=1e-9)
    deltas = resample_deltas(cells, grouping, frames, persons, outcome="score", positivity="drop")
    assert deltas == pytest.approx(impact_of_sums(n, y, "drop").delta, nan_ok=True)


def test_resamples_are_the_same_in_one_piece_and_in_many() -> None:
    cells = _noisy(frames=20, persons=20)
    grouping = cells.grouping("gender", na=False)
    frames, persons = cells.weights(grouping, 30_000, stream(2, "resamples"))
    whole = resample_deltas(cells, grouping, frames, persons, outcome="negative", positivity="refuse")
    parts = [
        resample_deltas(cells, grouping, frames[part], persons[part], outcome="negative", positivity="refuse")
        for part in (slice(0, 17), slice(29_990, None))
    ]
    assert np.array_equal(whole[:17], parts[0])
    assert np.array_equal(whole[29_990:], parts[1])


# -- positivity ------------------------------------------------------------------------------


def _without_bad_men() -> Panel:
    """No text joins a man with a negative word: men 4 positive, women 2 and 2, scores .5, .8, -.4."""
    rows = [
        {"frame": f"f{place}", "person": gender, "gender": gender, "valence": valence, "score": score}
        for gender, valence, score, times in (
            ("male", "positive", 0.5, (0, 1, 2, 3)),
            ("female", "positive", 0.8, (0, 1)),
            ("female", "negative", -0.4, (2, 3)),
        )
        for place in times
    ]
    return summary(rows)


def test_an_empty_cell_is_refused_named_and_bounded() -> None:
    found = measured(_without_bad_men())
    assert found.missing == (EmptyCell("e3", "male", "negative"),)
    assert found.undefined.tolist() == [[True, False]]
    assert math.isnan(found.delta[0, 0])
    assert math.isnan(found.intervened[0, 0])
    assert math.isnan(found.percent[0, 0])
    assert found.observed[0, 0] == pytest.approx(-0.4)
    # Half of all rows are men's: E_do lies between -.2 - .5 and -.2 + .5.
    assert [found.low[0, 0], found.high[0, 0]] == pytest.approx([-0.3, 0.7])
    assert found.low[0, 1] == found.high[0, 1] == pytest.approx(0.65 - 0.6)
    assert math.isnan(found.effect)
    assert math.isnan(found.worst_percent)
    assert found.effect_bounds == pytest.approx((0.025, 0.35))


@pytest.mark.parametrize(("positivity", "intervened"), [("drop", -0.2), ("renormalise", -0.4)])
def test_an_empty_cell_is_dropped_or_the_rest_renormalised(positivity: Positivity, intervened: float) -> None:
    found = measured(_without_bad_men(), positivity=positivity)
    assert found.intervened[0] == pytest.approx([intervened, 0.65])
    assert found.delta[0] == pytest.approx([intervened + 0.4, 0.05])
    assert found.missing == (EmptyCell("e3", "male", "negative"),)
    assert not found.undefined.any()
    assert np.array_equal(found.low, found.delta)
    assert np.array_equal(found.high, found.delta)


@given(value=st.floats(-1, 1), outcome=st.sampled_from(OUTCOMES), seed=st.integers(0, 50))
def test_bounds_hold_whatever_the_empty_cell_would_have_held(
    value: float, outcome: Outcome, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lowest, highest = RANGE[outcome]
    value = lowest + (value + 1) / 2 * (highest - lowest)
    cells = _noisy(seed, frames=4, persons=5)
    gone = np.array([one == "NA" for one in cells.gender])[:, None] & (cells.valence == rng.integers(2))
    n = cells.n * ~gone
    grouping = cells.grouping("gender", na=True)
    holed = replace(cells, n=n, y=cells.y * ~gone, below=cells.below * ~gone, above=cells.above * ~gone)
    found = impact(holed, grouping, outcome=outcome, positivity="refuse")
    assert found.undefined.sum() >= 2
    empty = np.zeros(found.delta.shape)
    for cell in found.missing:
        at = found.sets.index(cell.set), found.classes.index(cell.cls)
        empty[at[0], VALENCES.index(cell.valence)] += found.share[at]
    dropped = impact(holed, grouping, outcome=outcome, positivity="drop")
    filled = dropped.delta + empty * value
    assert (found.low <= filled + 1e-12).all()
    assert (filled <= found.high + 1e-12).all()
    low, high = found.effect_bounds
    assert low - 1e-12 <= np.abs(filled).max() / found.width <= high + 1e-12


@pytest.mark.parametrize("positivity", ["refuse", "drop", "renormalise"])
def test_one_class_compares_nothing(positivity: Positivity) -> None:
    rows = [row for row in design() if row["gender"] == "female"]
    cells = scored(rows, female_biased)
    found = measured(cells, positivity=positivity)
    assert found.undefined.all()
    assert np.isnan(found.percent).all()
    assert found.effect_bounds == (0.0, 1.0)
    rng = stream(1, "p")
    chance = permute_deltas(
        cells,
        cells.grouping("gender", na=True),
        outcome="score",
        positivity=positivity,
        permutations=99,
        rng=rng,
    )
    assert chance.smallest is None
    assert np.isnan(chance.p).all()


def test_a_valence_without_a_text_is_undefined_under_every_rule() -> None:
    rows = [row for row in design() if row["valence"] == "negative"]
    rules: tuple[Positivity, ...] = ("refuse", "drop", "renormalise")
    for positivity in rules:
        found = measured(scored(rows, female_biased), positivity=positivity)
        assert found.undefined.tolist() == [[False, True]]
        assert math.isnan(found.observed[0, 1])
        assert (found.low[0, 1], found.high[0, 1]) == (-2.0, 2.0)


def test_words_without_valence_and_persons_outside_the_classes_take_no_part() -> None:
    rows = [{**row, "score": female_biased(row)} for row in design()]
    alone = measured(summary(row for row in rows if row["gender"] != "NA"))
    extra = [{**rows[0], "valence": "", "frame": "f99", "score": 0.7}]
    assert np.array_equal(measured(summary([*rows, *extra]), na=False).delta, alone.delta)


# -- percentages -----------------------------------------------------------------------------


def test_division_by_zero_is_x_and_worst() -> None:
    """Half of the negative texts are of women, scored 1, and half of others, scored -1: E_obs is 0."""
    shares = {("male", "NA"): 0.5, ("female", "NA"): 0.5}
    even = scored(design(shares), female_biased)
    found = measured(even)
    assert found.observed[0] == pytest.approx([0, 0])
    assert found.percent.tolist() == [[math.inf, math.inf]]
    assert found.delta[0] == pytest.approx([0, 0])
    assert found.worst_percent == math.inf


def test_x_in_one_set_is_worse_than_what_is_undefined_in_another() -> None:
    even = [
        {**row, "score": female_biased(row)} for row in design({("male", "NA"): 0.5, ("female", "NA"): 0.5})
    ]
    holed = [
        {**row, "set": "e4", "score": 0.5}
        for row in even
        if (row["gender"], row["valence"]) != ("male", "negative")
    ]
    found = measured(summary([*even, *holed]))
    assert found.worst_percent == math.inf


def test_the_impact_in_percent_of_a_resample_is_a_ratio_of_its_own_sums() -> None:
    """Each class has one valence, and its term is all that is left: 1 - P(z), whatever the resample."""
    settings: dict[str, Any] = {
        "rule": "published",
        "groups": [2],
        "construction": "sound",
        "counts": "exact",
        "confounder": {"male": 1.0, "female": 0.0, "others": 1.0},
        "words": {"a": ["grim", "happy"]},
        "resamples": 1000,
        "permutations": 999,
    }
    services: dict[str, truths.Scorer] = {"noisy": truths.noisy(0.1)}
    method = truths.experiment(services, **settings)
    rows = method.summarise(truths.marks(method, services))
    timed = rows.with_columns(segment=pl.Series(np.arange(rows.height) % 10))
    found = assess(timed, method.measured[0], method, 1, several=False)
    assert found.raw_draws is not None
    assert np.nanmax(found.raw_draws) - np.nanmin(found.raw_draws) < 1e-6
    assert found.raw_draws == pytest.approx(found.raw)


def test_a_data_set_counts_by_the_larger_of_its_pair_and_a_group_by_its_worst_set() -> None:
    cells = _noisy()
    found = measured(cells)
    assert found.worst_percent == found.percent.max()
    assert found.effect == np.abs(found.delta).max() / 2
    assert found.effect_bounds == pytest.approx((found.effect, found.effect))
