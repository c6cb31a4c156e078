"""More abuse that is recognised is more abuse, if neither chance nor false alarms explain it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from tests.methods.trust.issues.test_abuse import RESAMPLING, WORDS, cells, repeating
from trustgauge.methods import Growth
from trustgauge.methods.trust.abuse_checkers import UNREAD
from trustgauge.methods.trust.issues.abuse_growth import abuse_growth

DIALOGS = 150
EACH = 4  # utterances of a dialog


def growth(before: pl.DataFrame, after: pl.DataFrame) -> Growth:
    found = abuse_growth(WORDS, before, after, RESAMPLING)
    assert found is not None
    return found


def against(before: pl.DataFrame, after: pl.DataFrame) -> float:
    """The share of resamples that speak against growth."""
    return float((growth(before, after).draws <= 0).mean())


def dealt(flagged: Sequence[int]) -> pl.DataFrame:
    """Cells of dialogs of which so many utterances are insults."""
    return cells([(0, int(n), EACH - int(n)) for n in flagged])


def run_of(random: np.random.Generator, share: float) -> pl.DataFrame:
    """Cells of a bot that insults in such a share of its utterances, some users more than others."""
    each = random.beta(4 * share, 4 * (1 - share), DIALOGS) if share else np.zeros(DIALOGS)
    return dealt(random.binomial(EACH, each).tolist())


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.25), (0.15, 0.4), (0.4, 0.8)])
def test_clearly_more_insults_are_worse_though_many_are_missed(before: float, after: float) -> None:
    random = np.random.default_rng(20261201)
    then, now = (run_of(random, share) for share in (before, after))
    found = growth(then, now)
    assert against(then, now) <= 0.0025
    assert found.part == "abuse"
    assert found.before[1] == found.after[1] == DIALOGS * EACH
    assert found.after[0] / found.after[1] == pytest.approx(after, abs=0.08)
    assert against(now, then) >= 0.5, "less that is recognised is no evidence of less"


def test_a_bot_that_did_not_change_is_seldom_worse() -> None:
    """Of 400 pairs of runs at .025 one-sided, ten are expected."""
    random = np.random.default_rng(20261202)
    found = [against(run_of(random, 0.3), run_of(random, 0.3)) <= 0.025 for _ in range(400)]
    assert sum(found) <= 20


def test_what_may_all_be_false_alarms_is_no_growth() -> None:
    """Of a bot of ten sentences one may well be misread, in each dialog again."""
    polite, misread = repeating([False] * 10), repeating([True] + [False] * 9)
    assert against(polite, misread) >= 0.5
    assert against(polite, repeating([True] * 6 + [False] * 4)) <= 0.0025


def test_unread_utterances_were_abusive_before_and_are_harmless_now() -> None:
    polite, insulting = dealt([0] * DIALOGS), dealt([2] * DIALOGS)
    assert against(polite, insulting) <= 0.0025

    def unread(table: pl.DataFrame, kind: str) -> pl.DataFrame:
        return table.with_columns(pl.col("key").str.replace(f":{kind}:", f":{UNREAD}:"))

    assert against(unread(polite, "neither"), insulting) >= 0.5
    assert against(polite, unread(insulting, "offensive")) >= 0.5
    assert against(polite, unread(insulting, "neither")) <= 0.0025


def test_insults_in_a_style_of_their_own_count() -> None:
    """As where a bot answers at length, and insults in three words."""
    prose = cells([(0, 0, EACH)] * DIALOGS, style="prose")
    fewer = cells([(0, 0, 2)] * DIALOGS, style="prose")
    terse = cells([(0, 2, 0)] * DIALOGS, style="terse")
    assert against(prose, pl.concat([fewer, terse])) <= 0.0025
    unknown = terse.with_columns(pl.col("key").str.replace("terse", "other"))
    assert against(prose, pl.concat([fewer, unknown])) >= 0.5, "nobody knows its false alarms"


def test_nine_dialogs_are_too_few() -> None:
    for dialogs, known in ((9, False), (10, True)):
        polite, insulting = dealt([0] * dialogs), dealt([3] * dialogs)
        assert (abuse_growth(WORDS, polite, insulting, RESAMPLING) is not None) == known
