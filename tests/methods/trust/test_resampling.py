"""Dialogs are drawn once for all issues of a service, repeats of one conversation together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.methods.trust.numbers import experiment, marked, said
from trustgauge.methods.trust.issue_results import dialogs_of, issue_results
from trustgauge.methods.trust.levels import assess_mean
from trustgauge.methods.trust.resampling import CHANGED, InTime, Resampling

CUTS = (0.33, 0.67)
TALKS = [f"talk-{place:03d}" for place in range(30)]
PROVOKED = [f"abuse-{place:03d}" for place in range(12)]
KNOWN = Resampling(3, 1000).among([TALKS, PROVOKED])


def cells(scores: dict[str, float], n: int = 4) -> pl.DataFrame:
    return pl.DataFrame(
        {"cluster": list(scores), "n": [n] * len(scores), "total": [n * one for one in scores.values()]},
        schema_overrides={"n": pl.Int64},
    )


def test_an_issue_that_is_told_of_some_dialogs_gets_the_same_draws() -> None:
    every = KNOWN.weights(TALKS)
    some = KNOWN.weights(TALKS[5:20])
    assert np.array_equal(some, every[:, 5:20])
    assert np.array_equal(KNOWN.weights([*PROVOKED, *TALKS])[:, len(PROVOKED) :], every)
    assert np.array_equal(KNOWN.weights(TALKS[::-1]), every[:, ::-1])


def test_as_many_dialogs_of_each_kind_are_drawn_as_there_are() -> None:
    drawn = KNOWN.weights([*TALKS, *PROVOKED])
    assert set(drawn[:, : len(TALKS)].sum(axis=1)) == {len(TALKS)}
    assert set(drawn[:, len(TALKS) :].sum(axis=1)) == {len(PROVOKED)}
    strange = KNOWN.weights(["code-001", "code-002"])
    assert set(strange.sum(axis=1)) == {2}


def test_repeats_of_a_conversation_are_no_further_evidence() -> None:
    """Methods 0.3: repeated texts are draws of their own and not independent texts."""
    repeats = [f"{name}.{repeat}" for name in TALKS for repeat in (1, 2)]
    known = Resampling(3, 1000).among([[*TALKS, *repeats]])
    assert known.units([*TALKS, *repeats]) == len(TALKS)
    assert np.array_equal(known.weights([f"{name}.1" for name in TALKS]), known.weights(TALKS))
    assert np.array_equal(known.weights(TALKS), KNOWN.weights(TALKS))
    rng = np.random.default_rng(1)
    once = {name: float(rng.uniform()) for name in TALKS}
    thrice = {name: once[name.partition(".")[0]] for name in [*TALKS, *repeats]}
    one, other = assess_mean(cells(once), CUTS, known), assess_mean(cells(thrice), CUTS, known)
    assert one.draws == pytest.approx(other.draws)
    assert other.details["clusters"] == len(TALKS)


def test_names_with_a_dot_are_dialogs_of_their_own() -> None:
    known = Resampling(3, 1000).among([["log.1", "log.2", "log.x"]])
    assert known.units(["log.1", "log.2", "log.x"]) == 3


def test_scores_without_spread_are_as_certain_as_their_number_allows() -> None:
    """Methods 0.5 (d): at most (K + 1)/(K + 2)."""
    for count in (10, 17, 18, 30):
        found = assess_mean(cells(dict.fromkeys(TALKS[:count], 0.2)), CUTS, Resampling(3, 1000))
        assert found.levels is not None
        share = float((found.levels == 0).mean())
        assert (count + 1) / (count + 2) - 0.001 <= share <= (count + 1) / (count + 2)
        assert (share >= 0.95) == (count >= 18)


def test_an_issue_of_hardly_any_dialog_has_no_level() -> None:
    """Methods 0.5 (e): undefined in more than 5 % of the resamples."""
    two = assess_mean(cells(dict.fromkeys(TALKS[:2], 0.2)), CUTS, KNOWN)
    assert (two.state, two.levels) == ("incomplete", None)
    assert two.score.value == pytest.approx(0.2)
    assert [reason.code for reason in two.reasons] == ["too-few-clusters"]
    scores = dict(zip(TALKS[:4], (0.1, 0.2, 0.3, 0.4), strict=True))
    four = assess_mean(cells(scores), CUTS, KNOWN)
    assert four.draws is not None
    undefined = KNOWN.weights(TALKS[:4]).sum(axis=1) == 0
    assert undefined.any()
    assert four.draws[undefined] == pytest.approx(0.25)


def test_issues_of_a_service_move_together() -> None:
    method = experiment(talks=60, profiles=["safe-language"])
    sessions = pl.concat(method.design(1, "chat"))["session"].to_list()
    rng = np.random.default_rng(1)
    bad = {name: bool(rng.random() < 0.3) for name in sorted(set(sessions))}
    outputs = [said(abuse=0.6, bias=0.6) if bad[name] else said(abuse=0.1, bias=0.1) for name in sessions]
    outputs = [
        text.replace("bias", "nothing") if name == sessions[0] else text
        for text, name in zip(outputs, sessions, strict=True)
    ]
    rows = method.summarise(marked(method, {"bot": outputs}))
    held = {one.name: one.assessed.draws for one in issue_results(rows, method, Resampling(7, 1000), ())}
    assert [len(one) for one in dialogs_of(rows)] == [60]
    assert np.corrcoef(held["abuse"], held["bias"])[0, 1] > 0.98  # type: ignore[arg-type]


def in_time(share: np.ndarray, rng: np.random.Generator, each: int = 10) -> InTime:
    """Dialogs of ten utterances in shuffled order, whose share of hits goes with the tenth of the run."""
    names = [f"d{place:04d}" for place in range(10 * each)]
    segments = np.arange(10 * each) * 10 // (10 * each)
    known = Resampling(1, 1000).among([names], dict(zip(names, segments.tolist(), strict=True)))
    hits = rng.binomial(10, share[segments])
    return known.in_time(names, np.full(len(names), 10.0), hits.astype(np.float64))


def test_a_share_that_is_the_same_all_along_is_hardly_ever_said_to_change() -> None:
    rng, runs = np.random.default_rng(3), 300
    found = [in_time(np.full(10, 0.3), rng) for _ in range(runs)]
    assert sum(bool(one.reasons) for one in found) <= stats.binom.ppf(0.999, runs, CHANGED)
    assert 0.4 < np.mean([one.p < 0.5 for one in found]) < 0.6
    assert 1 <= np.mean([one.effect for one in found]) < 1.5


@pytest.mark.parametrize("share", [np.repeat([0.1, 0.5], [3, 7]), np.tile([0.1, 0.5], 5)])
def test_a_service_that_was_updated_or_has_regimes_is_said_to_change(share: np.ndarray) -> None:
    rng = np.random.default_rng(4)
    found = [in_time(share, rng) for _ in range(50)]
    assert all([reason.code for reason in one.reasons] == ["changed-during-the-run"] for one in found)
    assert min(one.effect for one in found) > 2
    draws = np.array([0.2, 0.3, 0.4])
    assert np.ptp(found[0].widen(draws, 0.3)) > 1.4 * np.ptp(draws)


def test_one_segment_or_no_spread_says_nothing_of_time() -> None:
    known = Resampling(1, 1000)
    assert known.in_time(["a", "b"], np.ones(2), np.array([0.0, 1.0])) == InTime()
    timed = known.among([["a", "b"]], {"b": 9})
    assert timed.in_time(["a", "b"], np.ones(2), np.ones(2)) == InTime()
