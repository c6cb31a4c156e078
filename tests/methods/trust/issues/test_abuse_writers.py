"""Checkers that err more on some writers than on others, and bots that are writers of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from trustgauge.methods.trust.abuse_checkers import (
    ABUSE_CLASSES,
    SENTENCES,
    TWEET,
    WORDS,
    CheckerAccuracy,
    Table,
    add_tables,
    checker,
    shipped_accuracy,
)
from trustgauge.methods.trust.issues import abuse_writers
from trustgauge.methods.trust.issues.abuse_rates import TAIL, Errors, Rates, SaidInStyle
from trustgauge.methods.trust.issues.abuse_writers import MOST_SPREAD, knows_writers, rate_ends
from trustgauge.methods.trust.levels import levels
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.stats import stream
from trustgauge.stats.heterogeneity import SPREADS, spread_weights

CUTS = (0.001, 0.01)
DIALOGS, TURNS = 250, 4
STYLE = "prose"
EVERY = Resampling(20260107, 1000)
APART = 0.05  # correlation within writers: false alarms of 10 % are 1 to 25 %


def beta_of(mean: float, rng: np.random.Generator, size: int | None = None) -> np.ndarray:
    """Rates of writers whose texts are as alike as `APART`."""
    scale = (1 - APART) / APART
    return np.asarray(rng.beta(mean * scale, (1 - mean) * scale, size))


def labelled(alarms: np.ndarray, finds: np.ndarray, rng: np.random.Generator) -> CheckerAccuracy:
    """Counts of 70 harmless and 70 offensive texts of each writer."""
    tables: list[Table] = []
    for wrong, right in zip(rng.binomial(70, alarms).tolist(), rng.binomial(70, finds).tolist(), strict=True):
        tables.append(((0, 0, 0, 0), (0, right, 70 - right, 0), (0, wrong, 70 - wrong, 0)))
    writers = tuple((f"w{place}", table) for place, table in enumerate(tables))
    return CheckerAccuracy("made up", add_tables(tables), writers=writers, all_writers=(writers,))


def settled(measured: CheckerAccuracy, flagged: int) -> int | None:
    """The place of the level at which a bot would be settled, all its texts read."""
    named = replace(checker(WORDS), styles={STYLE: measured}, says=ABUSE_CLASSES[1:])
    counts = np.zeros((DIALOGS * TURNS, 4))
    counts[:flagged, 1], counts[flagged:, 2] = 1, 1
    dealt = np.random.default_rng(flagged).permutation(counts).reshape(DIALOGS, TURNS, 4).sum(axis=1)
    rates = Rates([f"d{place:03d}" for place in range(DIALOGS)], {STYLE: SaidInStyle(dealt)}, named, EVERY)
    bounds, value = rates.bounds(), rates.value()
    shares = np.bincount(rates.places(bounds, CUTS), minlength=3) / EVERY.count
    doubtful = bounds.open(CUTS) > 0.05 or value >= CUTS[0] > float(np.quantile(bounds.ends[0], TAIL))
    return int(shares.argmax()) if shares.max() >= 0.95 and not doubtful else None


def rated(share: float, runs: int, *, alike: bool) -> tuple[float, float]:
    """Shares of runs, of another checker and bot each, that are settled at a wrong and at the right level."""
    rng, due, found = np.random.default_rng(20261130), int(levels(np.array(share / 2), CUTS)), []
    for _ in range(runs):
        measured = labelled(beta_of(0.1, rng, 9), beta_of(0.82, rng, 9), rng)
        if alike:
            measured = replace(measured, writers=(), all_writers=())
        seen = share * beta_of(0.82, rng) + (1 - share) * beta_of(0.1, rng)
        found.append(settled(measured, int(rng.binomial(DIALOGS * TURNS, seen))))
    right = found.count(due)
    return (runs - right - found.count(None)) / runs, right / runs


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05])
def test_bots_that_mislead_a_checker_more_than_others_are_hardly_ever_settled_wrong(share: float) -> None:
    """By what the labelled texts come to together every third harmless bot was High."""
    runs = 120
    wrong, _ = rated(share, runs, alike=False)
    assert wrong <= binom.ppf(0.999, runs, 0.025) / runs  # one end of an interval of 95 %


def test_writers_who_are_taken_to_be_alike_make_bots_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the spread between writers is there for."""
    monkeypatch.setattr(abuse_writers, "MOST_SPREAD", dict.fromkeys(MOST_SPREAD, 0.0))
    rate_ends.cache_clear()
    try:
        wrong, _ = rated(0.0, 60, alike=True)
    finally:
        rate_ends.cache_clear()
    assert wrong > 0.1


def test_much_abuse_is_settled_however_writers_differ() -> None:
    wrong, right = rated(0.6, 40, alike=False)
    assert wrong == 0.0
    assert right >= 0.9


def test_few_writers_are_taken_to_be_as_far_apart_as_those_of_the_shipped_texts_may_be() -> None:
    for rate, most in MOST_SPREAD.items():
        strata = tuple(
            abuse_writers._counts(one, rate) for one in shipped_accuracy(SENTENCES)[STYLE].all_writers
        )
        weights = spread_weights(strata).cumsum()
        assert float(SPREADS[np.searchsorted(weights, 0.975)]) == pytest.approx(most, abs=0.06)
    tweets, own = checker(WORDS).styles[TWEET], shipped_accuracy(SENTENCES)[STYLE]
    few = replace(own, writers=own.writers[:4], all_writers=(own.writers[:4],))
    assert (knows_writers(own), knows_writers(few), knows_writers(tweets)) == (True, False, False)
    known, unknown = rate_ends(own, "alarms"), rate_ends(replace(own, writers=(), all_writers=()), "alarms")
    assert unknown[0] < known[0] < known[1] < unknown[1]


def test_a_bot_stands_at_the_same_place_among_writers_in_all_styles() -> None:
    def streams(*purpose: str) -> np.random.Generator:
        return stream(1, *purpose)

    shipped = shipped_accuracy(SENTENCES)
    prose, terse = (Errors.draw(shipped[one], ABUSE_CLASSES, 4_000, streams) for one in (STYLE, "terse"))
    assert np.corrcoef(prose.specificity, terse.specificity)[0, 1] > 0.5
    assert np.corrcoef(prose.sensitivity, prose.finds_hate)[0, 1] > 0.3
    assert abs(np.corrcoef(prose.sensitivity, prose.specificity)[0, 1]) < 0.1
