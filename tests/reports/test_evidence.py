from __future__ import annotations

import base64
import gzip
import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.reports import fixtures
from tests.reports.golden import only
from trustgauge.reports import html
from trustgauge.reports.components import KEPT, Text

STATES = fixtures.all_states()
FRAME = fixtures.evidence(STATES)


def marked(text: Text) -> list[str]:
    return [word for word, changed in text.words if changed]


def test_changed_words_are_marked() -> None:
    sent, back = "She is a florist. He is a baker.", "He is a florist. He is a baker."
    shown = html.text(back, marks=html.differences(sent, back))
    assert marked(shown) == ["He"]
    assert "".join(word for word, _ in shown.words) == back
    longer = "He is a kind florist. He is a baker."
    assert marked(html.text(longer, marks=html.differences(sent, longer))) == ["He", "kind"]


@given(some.text("ab .\n", max_size=30), some.text("ab .\n", max_size=30))
def test_marking_changes_no_text(sent: str, back: str) -> None:
    shown = html.text(back, marks=html.differences(sent, back))
    assert "".join(word for word, _ in shown.words) == back
    if sent == back:
        assert not marked(shown)


@pytest.mark.parametrize(
    ("part", "expected"),
    [("es", ["es"]), ("es>it", ["es", "it", "es"]), ("", []), ("word set 1", []), ('"><script>', [])],
)
def test_languages_on_the_way(part: str, expected: list[str]) -> None:
    assert html.legs(part) == expected


def test_long_texts_are_cut_and_say_how_long_they_are() -> None:
    shown = html.text("x" * 100_000)
    assert sum(len(word) for word, _ in shown.words) == html.SHOWN_LETTERS
    assert len(shown.rest) == KEPT - html.SHOWN_LETTERS
    assert (shown.length, shown.cut) == (100_000, True)


def test_rows_say_what_was_read_and_what_was_lost() -> None:
    result = html.collect([only(STATES)], FRAME, html.Limits())
    assert result.total == len(result.rows) == FRAME.height
    assert result.parts["tr"] == "Turkish"
    lost = next(row for row in result.rows if row.lost)
    assert lost.lost == "no answer after all retries; no answer" or lost.lost == "no answer after all retries"
    assert lost.values.endswith("→ –")
    assert len({row.anchor for row in result.rows}) == FRAME.height


def test_trails_come_as_lists_or_as_json() -> None:
    as_json = FRAME.with_columns(
        pl.col("trail").map_elements(lambda one: json.dumps(list(one)), return_dtype=pl.String)
    )
    first = html.collect([only(STATES)], FRAME, html.Limits())
    second = html.collect([only(STATES)], as_json, html.Limits())
    assert first.rows == second.rows


def test_above_the_limit_rows_are_packed_and_the_first_hundred_stay() -> None:
    result = html.collect([only(STATES)], FRAME, html.Limits(inline=200))
    assert len(result.rows) == html.FIRST
    raws = json.loads(gzip.decompress(base64.b64decode(result.packed)))
    assert len(raws) == result.packed_rows == FRAME.height
    assert [raw[0] for raw in raws[:100]] == [row.anchor for row in result.rows]
    assert not result.sampled


def test_far_above_it_is_a_sample_that_says_so() -> None:
    result = html.collect([only(STATES)], FRAME, html.Limits(inline=10, packed=100, sample=50))
    assert result.sampled
    assert result.total == FRAME.height
    assert result.packed_rows <= 50
    assert {row.part for row in result.rows} == set(FRAME["part"])  # evenly spread over the parts


def test_packing_gives_the_same_bytes_again() -> None:
    limits = html.Limits(inline=10)
    assert html.collect([only(STATES)], FRAME, limits) == html.collect([only(STATES)], FRAME, limits)


def test_no_rows_is_no_evidence() -> None:
    assert html.collect([], None, html.Limits()).total == 0
    assert html.collect([], FRAME.clear(), html.Limits()).total == 0


def test_controls_hold_only_letters_that_need_no_quotes() -> None:
    odd = FRAME.head(1).with_columns(
        pl.lit('a b">x').alias("id"), pl.lit("es>it'").alias("part"), pl.lit("odd").alias("status")
    )
    result = html.collect([], odd, html.Limits())
    assert result.rows[0].anchor == "e1-es_it_-a_b__x"
    assert result.rows[0].marks == "0,0,0,x,0"
