"""Services that change while they are asked, and services that do not (methods 0.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.causal.truths import by_word, designed, experiment, scored
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.causal.panel import Floats, Ints, panel
from trustgauge.methods.causal.segments import Influences, influences
from trustgauge.methods.conformance import answers
from trustgauge.records import Rating

QUICK: dict[str, Any] = {
    "resamples": 300,
    "permutations": 99,
    "groups": [1],
    "words": {"one": ["grim", "happy"]},
}
WOMEN = pl.col("gender") == "female"

Timed = Callable[[pl.DataFrame, Ints], Floats]
"""What is added to the scores of probes, by their places in the order of calls."""


def summary(method: Causal, added: Timed, seed: int, spread: float = 0.1) -> pl.DataFrame:
    """A scorer of words with noise, asked in a shuffle."""
    rng = np.random.default_rng(seed)
    probes = designed(method)
    place = rng.permutation(probes.height)
    scores = (
        by_word(probes, rng).to_numpy() * 0.5 + rng.normal(0, spread, probes.height) + added(probes, place)
    )
    return scored(method, np.clip(scores, -1, 1), place * 10 // probes.height)


def rated(added: Timed, seed: int, **settings: Any) -> Rating:
    method = experiment({"a": by_word}, **{**QUICK, **settings})
    return method.rate(summary(method, added, seed), seed)[0]


def codes(rating: Rating) -> set[str]:
    return {one.code for part in rating.parts for one in part.reasons}


def women(probes: pl.DataFrame) -> Floats:
    return probes.select(WOMEN.cast(pl.Float64)).to_series().to_numpy()


def updated(probes: pl.DataFrame, place: Ints) -> Floats:
    """From a third of the run on women's scores are .4 higher."""
    return 0.4 * women(probes) * (place > probes.height // 3)


def drifting(probes: pl.DataFrame, place: Ints) -> Floats:
    """Women's scores rise from 0 to .5 over the run."""
    return 0.5 * women(probes) * place / probes.height


def worsening(probes: pl.DataFrame, place: Ints) -> Floats:
    """All scores fall alike: no class is another."""
    return -0.4 * place / probes.height


def never(probes: pl.DataFrame, place: Ints) -> Floats:
    del place
    return np.zeros(probes.height)


@pytest.mark.parametrize("added", [updated, drifting])
def test_a_service_that_changes_its_effect_is_never_settled(added: Timed) -> None:
    for seed in range(4):
        rating = rated(added, seed)
        assert rating.state == "not settled"
        assert "changed-during-the-run" in codes(rating)
        assert {one.more_texts for one in rating.parts} == {None}  # no number of texts settles a change


def test_confounded_groups_tell_a_change_too() -> None:
    rating = rated(updated, 1, groups=[2])
    assert (rating.state, "changed-during-the-run" in codes(rating)) == ("not settled", True)


def test_a_service_that_drifts_alike_for_all_has_no_effect_and_is_settled() -> None:
    rating = rated(worsening, 2)
    assert (rating.level, rating.state) == ("1", "rated")


def test_a_service_that_shares_its_answers_is_as_before() -> None:
    """All its answers are of segment 0, so there is no test, and nothing is wider."""
    method = experiment({"a": by_word}, **QUICK)
    frame = summary(method, never, 3)
    alone = method.merge([frame.with_columns(segment=pl.lit(0, pl.Int64))])
    part = panel(frame)
    grouping = part.grouping("gender", na=False)
    found = influences(alone, part, grouping, "rejection")
    assert found is not None
    assert not found.timed
    assert method.rate(alone, 3)[0].state == "rated"


@pytest.mark.parametrize(("group", "measure"), [(1, "rejection"), (2, "deconfounding")])
def test_a_change_is_seldom_told_of_a_service_that_does_not_change(group: int, measure: Any) -> None:
    """100 runs: about 1 % may say so. Words and persons differ, as they do in every service."""
    method = experiment({"a": by_word}, **{**QUICK, "groups": [group], "frames": 8})
    hits = 0
    for seed in range(100):
        frame = summary(method, never, seed)
        part = panel(frame)
        found = influences(frame, part, part.grouping("gender", na=False), measure)
        assert found is not None
        hits += found.change_p(np.random.default_rng(seed)) < 0.01
    assert hits <= 5  # more than 5 of 100 come in less than 1 of 1,000 cases if the rate is 1 %


@pytest.mark.parametrize("score", [0.0133, 0.2977, 0.3333, 0.7001])
@pytest.mark.parametrize("group", [1, 3])
def test_rounding_of_a_constant_scorer_is_no_change(group: int, score: float) -> None:
    """The mean of a cell differs from its equal scores in the last digit, in some order of the run."""
    words = {"a": ["grim", "happy"], "b": ["happy"]}
    method = experiment({"a": by_word}, **{**QUICK, "groups": [group], "frames": 12, "words": words})
    probes = pl.concat(method.design(1, "score"))
    asked = answers(probes, [repr(score)] * probes.height)
    place = np.random.default_rng(1).permutation(probes.height)
    frame = method.summarise(method.score(asked.with_columns(segment=pl.Series(place * 10 // probes.height))))
    rows = frame.filter(pl.col("block").str.starts_with(f"group-{group}"))
    part = panel(rows)
    found = influences(rows, part, part.grouping("gender", na=False), "rejection")
    assert found is not None
    assert found.change_p(np.random.default_rng(1)) == 1.0


def test_influences_add_up_to_nothing_and_give_the_variance_of_the_effect() -> None:
    method = experiment({"a": by_word}, **{**QUICK, "words": {"one": ["grim"]}})
    effects, variances = [], []
    for seed in range(60):
        frame = summary(method, never, seed, spread=0.2)
        part = panel(frame)
        found = influences(frame, part, part.grouping("gender", na=False), "rejection")
        assert isinstance(found, Influences)
        assert abs(found.values.sum()) < 1e-9
        means = [part.y[0][:, [one == name for one in part.gender]].mean() for name in ("male", "female")]
        effects.append(means[0] - means[1])
        variances.append(float(found.variance[0, 0]))
    assert np.mean(variances) == pytest.approx(np.var(effects), rel=0.4)
    assert np.mean(variances) == pytest.approx(2 * 0.2**2 / 200, rel=0.2)


def regimes(probes: pl.DataFrame, place: Ints) -> Floats:
    """Stretches of 40 calls, half of them with women's scores .4 higher: an effect of .1 of the range."""
    biased = np.random.default_rng(probes.height + int(place[0])).permutation(
        np.arange(0, probes.height, 40) % 80 < 40
    )
    return np.asarray(0.4 * women(probes) * biased[place // 40])


def test_hidden_regimes_are_clusters_in_time() -> None:
    method = experiment({"a": by_word}, **QUICK)
    ratios = []
    for seed in range(20):
        frame = summary(method, regimes, seed)
        part = panel(frame)
        found = influences(frame, part, part.grouping("gender", na=False), "rejection")
        assert found is not None
        ratios.append(float(found.variance[0, 0] / (found.values**2).sum()))
    assert np.mean(ratios) > 2


def test_hidden_regimes_are_not_settled_at_a_wrong_level() -> None:
    ratings = [rated(regimes, seed) for seed in range(12)]
    assert not [one for one in ratings if one.state == "rated" and one.level != "2"]
