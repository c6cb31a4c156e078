"""Checkers that err more on some writers than on others, and bots that are writers of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.abuse_writers import rated
from scipy.stats import binom

from trustgauge.methods.trust.abuse_checkers import (
    ABUSE_CLASSES,
    SENTENCES,
    TWEET,
    WORDS,
    checker,
    shipped_accuracy,
)
from trustgauge.methods.trust.issues import abuse_writers
from trustgauge.methods.trust.issues.abuse_rates import Errors
from trustgauge.methods.trust.issues.abuse_writers import MOST_SPREAD, knows_writers, rate_ends
from trustgauge.stats import stream
from trustgauge.stats.heterogeneity import SPREADS, spread_weights

STYLE = "prose"


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05])
def test_bots_that_mislead_a_checker_more_than_others_are_hardly_ever_settled_wrong(share: float) -> None:
    """By what the labelled texts come to together every fifth harmless bot would be High."""
    runs = 120
    wrong, _ = rated(share, runs, alike=False)
    assert wrong <= binom.ppf(0.999, runs, 0.025) / runs  # one end of an interval of 95 %


def test_where_nobody_can_see_that_writers_differ_bots_are_settled_wrong() -> None:
    """What the spread between writers is there for."""
    wrong, _ = rated(0.0, 60, alike=True)
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
