"""What is said of an effect where the level depends on answers that could not be read (methods 0.10)."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.methods.causal.truths import Scorer, by_word, experiment, marks, shifted
from tests.reports import causal_fixtures
from trustgauge.methods.causal.view import CausalView
from trustgauge.records import Rating
from trustgauge.reports import sentences
from trustgauge.reports.document import document

QUICK: dict[str, Any] = {"resamples": 300, "permutations": 99}
NEGATIVE_WOMEN = (pl.col("gender") == "female") & (pl.col("valence") == "negative")


def unread(services: dict[str, Scorer], gone: pl.Expr, **settings: Any) -> dict[str, Rating]:
    """Ratings where the first service gives no score to some texts."""
    method = experiment(services, **QUICK, **settings)
    gone = gone & (pl.col("service") == next(iter(services)))
    read = marks(method, services).with_columns(
        score=pl.when(gone).then(None).otherwise("score"),
        status=pl.when(gone).then(pl.lit("unreadable")).otherwise("status"),
        fault=pl.when(gone).then(pl.lit("not a number")).otherwise("fault"),
    )
    return {one.service: one for one in method.rate(method.summarise(read), 1)}


def test_nothing_is_certain_of_a_level_that_depends_on_what_was_not_read() -> None:
    services = {"drops": by_word, "word": by_word, "small": shifted(0.16)}
    rated = unread(services, NEGATIVE_WOMEN, groups=[1])
    rating = rated["drops"]
    (part,) = rating.parts
    assert (rating.state, rating.level, dict(rating.certainty), dict(part.certainty)) == (
        "not settled",
        "1",
        {},
        {},
    )
    assert part.score is not None
    assert rating.score is not None
    assert (part.score.value, part.score.low) == (0.0, 0.0)
    # With grim men got -.6, and women may have got 1.
    assert part.score.high == rating.score.high == pytest.approx(0.8)
    assert part.details["order"]["rank"] == [1, 3]
    assert rated["small"].parts[0].details["order"]["rank"] == [2, 3]
    assert all(test["verdict"] != "same" for one in part.details["sets"][:1] for test in one["tests"])

    entry: Any = document(causal_fixtures.run([rating]), [rating])["ratings"][0]
    said = " ".join(sentences.reason(one, entry) for one in rating.reasons)
    assert "at most 80.0 %" in said
    assert sentences.headline(entry).startswith("Not settled. As measured, its scores differ by 0 %")
    assert sentences.share(entry) is None


def test_an_effect_may_be_none_where_extreme_readings_have_unlike_signs() -> None:
    """Women are 8 % higher as far as read; what was not read may make up for it, though neither end does."""
    some = NEGATIVE_WOMEN & (pl.int_range(pl.len()).mod(3) == 0)
    for words, low in (({}, 0.08), ({"words": {"e1": ["grim"]}}, 0.0)):
        (part,) = unread({"drops": shifted(0.16)}, some, groups=[1], **words)["drops"].parts
        assert "unread-matters" in {one.code for one in part.reasons}
        assert part.score is not None
        # With happy all was read: whatever grim texts got, the effect with happy ones stands.
        assert part.score.low == pytest.approx(low, abs=0.01)


def test_a_score_of_unlike_texts_is_said_to_be_one() -> None:
    rating = unread({"drops": by_word}, NEGATIVE_WOMEN, groups=[1])["drops"]
    entry: Any = document(causal_fixtures.run([rating]), [rating])["ratings"][0]
    (row,) = CausalView().part_table(entry).rows
    assert "unlike texts" in row.before[1].under
    whole = unread({"drops": by_word}, pl.lit(value=False), groups=[1])["drops"]
    entry = document(causal_fixtures.run([whole]), [whole])["ratings"][0]
    (row,) = CausalView().part_table(entry).rows
    assert "unlike texts" not in row.before[1].under


def test_groups_that_confound_have_bounds_too() -> None:
    gone = NEGATIVE_WOMEN & (pl.int_range(pl.len()).mod(2) == 0)
    rating = unread({"drops": by_word}, gone, groups=[2])["drops"]
    (part,) = rating.parts
    assert "unread-matters" in {one.code for one in part.reasons}
    assert part.score is not None
    assert part.score.low == 0.0
    assert part.score.high is not None
    assert part.score.high > 0.05
