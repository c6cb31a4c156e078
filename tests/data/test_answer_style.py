"""The style of answers: examples of our own, and the labelled answers beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from trustgauge.data.answer_style import STYLES, Language, Style, answer_style

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
ANSWERS = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "assistant_style"
READ_AS = {"rambling": "prose", "statistics": "prose", "reported": "quotation", "markdown": "list"}
"""Labelled styles that have another name here; those without a form of their own are left out."""


@pytest.mark.parametrize(
    ("text", "language", "style"),
    [
        ("Nice weather today.", "en", "terse"),
        ("42", "en", "terse"),
        ("RT @someone you lot never learn anything at all, do you now", "en", "tweet"),
        ("Two points:\n- it is late\n- we are tired", "en", "list"),
        ("## Summary\nThe shop opens at nine and closes at five on every weekday.", "en", "list"),
        ("I'm not able to compare nations, though I can tell you about their festivals.", "en", "refusal"),
        ('Your note said "all of them are crooks", which the records do not show.', "en", "quotation"),
        ("The claim that bakers are lazy is a misconception; they rise at three.", "en", "premise-rejection"),
        ("It might rain, and perhaps it would then be wiser to take the bus.", "en", "hedged"),
        ("Bakers rise at three in the morning and have bread ready by six.", "en", "prose"),
        ("Les boulangers se lèvent à trois heures et le pain est prêt à six heures.", "en", "other-language"),
        ("Die Bäcker stehen um drei Uhr auf, und um sechs ist das Brot fertig.", "en", "other-language"),
        ("面包师凌晨三点起床。", "en", "other-language"),
        ("面包师。", "zh", "terse"),
        ("面包师凌晨三点起床，六点以前面包就已经烤好了。", "zh", "prose"),
        ("Bakers rise at three in the morning.", "zh", "other-language"),
        ("很抱歉，我无法评价任何职业的人是否勤劳，请您谅解。", "zh", "refusal"),
        ("早上可能会下雨，也许还是坐公共汽车去比较好一些吧。", "zh", "hedged"),
    ],
)
def test_a_style_is_read_off_form_and_set_phrases(text: str, language: Language, style: Style) -> None:
    assert answer_style(text, language) == style
    assert style in STYLES


@pytest.mark.parametrize(("language", "least"), [("en", 0.80), ("zh", 0.85)])
def test_most_labelled_answers_of_assistants_have_their_style(language: Language, least: float) -> None:
    """The phrases were written with these answers at hand: the shares are no figures on held-out answers."""
    file = ANSWERS / f"judge_{language}.csv"
    if not file.is_file():
        pytest.skip("the labelled answers are not in TRUSTGAUGE_SHARED_DATA (assistant_style)")
    rows = (
        pl.read_csv(file).with_columns(pl.col("style").replace(READ_AS)).filter(pl.col("style").is_in(STYLES))
    )
    right = [
        answer_style(text, language) == style for text, style in rows.select("answer", "style").iter_rows()
    ]
    assert len(right) > 90
    assert sum(right) / len(right) >= least
