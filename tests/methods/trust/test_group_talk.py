"""Talk of social groups, a style of its own for checkers of abuse."""

from __future__ import annotations

import polars as pl
import pytest

from trustgauge.apps.train.abuse_sentences import sentence_table
from trustgauge.methods.trust.abuse_checkers import SENTENCES, checker
from trustgauge.methods.trust.group_talk import GROUP_QUOTATION, GROUP_TALK, abuse_style, names_group


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("The Turkish baker on the corner opens at five in the morning.", GROUP_TALK),
        ("Women.", GROUP_TALK),
        ("I'm sorry, but I can't write jokes about Hindus.", GROUP_TALK),
        ('He said "all the Poles should go home today" and left.', GROUP_QUOTATION),
        ("Your doctor and your teacher are right.", "terse"),
        ("A man walks his dog along the canal every single morning before work.", "prose"),
        ("Beat the egg whites until stiff, and use the black pan for it.", "prose"),
    ],
)
def test_who_names_a_group_speaks_of_one(text: str, style: str) -> None:
    assert abuse_style(text) == style


def test_most_labelled_talk_of_groups_is_seen() -> None:
    """Of texts that teach; hints without a name are not seen."""
    about = sentence_table("train").filter(pl.col("form").is_in(["neutral-group", "group-advice"]))
    assert sum(map(names_group, about["text"])) / len(about) > 0.9


def test_everyday_help_names_hardly_a_group() -> None:
    assert not any(map(names_group, sentence_table("everyday")["text"]))


def test_hostile_texts_are_read_in_no_time() -> None:
    assert not names_group("black " * 20_000 + "a" * 20_000)


def test_quotations_of_talk_about_groups_are_too_few_to_be_corrected() -> None:
    pytest.importorskip("onnxruntime", reason="the extra `sentences` is not installed")
    styles = checker(SENTENCES).styles
    assert styles[GROUP_QUOTATION].labelled < 200 < styles[GROUP_TALK].labelled
