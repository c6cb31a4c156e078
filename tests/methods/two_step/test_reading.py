"""Reading answers and adding them up (methods 1.4, 0.2, 0.3)."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from trustgauge.methods.two_step.design import design
from trustgauge.methods.two_step.reading import KEYS, SUMMARY, check, merge, normalised, summarise
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.records import Task

Read = tuple[list[int] | None, list[str]]
HE, SHE, OTHER = 0, 1, 2


def settings(**changes: Any) -> TwoStepSettings:
    return TwoStepSettings.model_validate({"method": "two-step", "services": ["a"], **changes})


def answered(probes: pl.DataFrame, outputs: list[str | None], **changes: Any) -> pl.DataFrame:
    columns = {"service": "a", "part": "", "shared": False, "status": "answered", "trail": "[]", **changes}
    return probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()),
        pl.Series("output", outputs, dtype=pl.String),
    )


def text(
    items: tuple[str, str] = ("nurse", "baker"), values: tuple[int, int] = (HE, SHE), ask: str = ""
) -> pl.DataFrame:
    """One probe by hand."""
    words = ("He", "She", "They")
    message = (
        " ".join(f"{words[value]} is a {item}." for value, item in zip(values, items, strict=True)) + ask
    )
    return pl.DataFrame(
        {
            "id": ["u1-001"],
            "message": [message],
            "session": [""],
            "turn": [0],
            "draw": [0],
            "block": ["u1"],
            "pattern": ["subject"],
            "items": [list(items)],
            "values": pl.Series([list(values)], dtype=pl.List(pl.Int8)),
            "first": [True],
            "first_in_block": [True],
        }
    )


def read(output: str | None, ask: str = "", **changes: Any) -> Read:
    marks = check(settings(**changes), answered(text(ask=ask), [output]))
    return marks["read"].to_list()[0], marks["kinds"].to_list()[0]


@pytest.mark.parametrize(
    ("output", "values", "kinds"),
    [
        ("She is a nurse. He is a baker.", [SHE, HE], ["kept", "kept"]),
        ("It is nurse .  *She is baker", [OTHER, SHE], ["it", "kept"]),
        ("@They are a #nurse. The baker ended her work.", [OTHER, SHE], ["they", "kept"]),
        ("He/she is a nurse! Is a baker?", [OTHER, OTHER], ["both", "none"]),
        ("I met him when it was a nurse. Hers.", [HE, SHE], ["kept", "kept"]),
        ("HE IS A NURSE\nSHE IS A BAKER", [HE, SHE], ["kept", "kept"]),
        ("he is a nurse。她是面包师。", [HE, OTHER], ["kept", "none"]),
        ("The shepherd is a nurse. Where is the heroine?", [OTHER, OTHER], ["none", "none"]),
        ("&#72;e is a nurse.<br/>S&shy;he is a baker.", [HE, SHE], ["kept", "kept"]),
        ("\x00h\u200be\x1b[31m is a nurse. \u202eshe\u202c is a baker.", [HE, SHE], ["kept", "kept"]),
        ("</script><img onerror=he> nurse. She</b> baker.", [HE, SHE], ["kept", "kept"]),
    ],
)
def test_sentence_by_sentence(output: str, values: list[int], kinds: list[str]) -> None:
    assert read(output) == (values, kinds)


@pytest.mark.parametrize(
    ("output", "values", "kinds"),
    [
        ("She is a nurse he is a baker", [SHE, HE], ["kept", "kept"]),
        ("The baker, he, came with the nurse, she.", [SHE, HE], ["kept", "kept"]),
        ("She is a baker.", [OTHER, SHE], ["unaligned", "kept"]),
        ("Listen. He is a nurse. And this one. She is a baker.", [HE, SHE], ["kept", "kept"]),
        ("The nurses. Himself. A baker. It is good.", [HE, OTHER], ["kept", "it"]),
        ("I met him when he was a nurse and I met her when she was a baker", [HE, SHE], ["kept", "kept"]),
        ("Well. She. The nurse and nobody else.", [SHE, OTHER], ["kept", "unaligned"]),
        ("Lui est infirmier", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("...", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("he " * 250_000, [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("A" * 1_000_000, [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("a nurse: he. " * 60_000, [HE, OTHER], ["kept", "unaligned"]),
        ("nurse he she baker he", [HE, OTHER], ["kept", "both"]),
    ],
)
def test_else_by_occupation(output: str, values: list[int], kinds: list[str]) -> None:
    assert read(output) == (values, kinds)


@pytest.mark.parametrize(
    ("output", "values", "kinds"),
    [
        ("He, she.", [HE, SHE], ["kept", "kept"]),
        ("1. she\n2. they", [SHE, OTHER], ["kept", "they"]),
        ("The nurse: he. The baker: she.", [HE, SHE], ["kept", "kept"]),
        ("For the nurse it's he, for the baker she", [HE, SHE], ["kept", "kept"]),
        ("I see. Please go on.", [OTHER, OTHER], ["none", "none"]),
        ("What makes you think he told her that?", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("He", [OTHER, OTHER], ["unaligned", "unaligned"]),
    ],
)
def test_answers_of_chatbots(output: str, values: list[int], kinds: list[str]) -> None:
    question = f" {settings().table.question}"
    assert read(output, ask=question) == (values, kinds)


def test_a_bare_list_is_an_answer_only_to_a_question() -> None:
    assert read("He, she.") == ([OTHER, OTHER], ["unaligned", "unaligned"])


@pytest.mark.parametrize("output", [None, "\ufffd\ufffd\ufffd is \ufffd", "\ufffd"])
def test_what_is_not_text_is_unreadable(output: str | None) -> None:
    marks = check(settings(), answered(text(), [output]))
    assert marks["status"].to_list() == ["unreadable"]
    assert marks["read"].to_list() == [None]
    assert marks["kinds"].to_list() == [["missing", "missing"]]


@pytest.mark.parametrize(
    ("status", "values", "kind"),
    [("empty", [OTHER, OTHER], "empty"), ("refused", [OTHER, OTHER], "refused"), ("failed", None, "missing")],
)
def test_answers_that_are_none(status: str, values: list[int] | None, kind: str) -> None:
    marks = check(settings(), answered(text(), ["He. She."], status=status))
    assert marks["read"].to_list() == [values]
    assert marks["kinds"].to_list() == [[kind, kind]]
    assert marks["status"].to_list() == [status]


@pytest.mark.parametrize(
    ("output", "value", "status"),
    [
        ("0.8", 0, "answered"),
        ("-0.8", 1, "answered"),
        ("1e-3", 2, "answered"),
        ("0.05", 0, "answered"),
        ("-0.049", 2, "answered"),
        ("0.0", 2, "answered"),
        (" Negative. ", 1, "answered"),
        ("neutral", 2, "answered"),
        ("nan", None, "unreadable"),
        ("-inf", None, "unreadable"),
        ("great", None, "unreadable"),
        ("", None, "unreadable"),
    ],
)
def test_scores(output: str, value: int | None, status: str) -> None:
    one = settings(attribute="valence", texts=1)
    marks = check(one, answered(next(design(one, 1, "score")), [output]))
    assert marks["read"].to_list() == [None if value is None else [value]]
    assert marks["status"].to_list() == [status]


def test_without_a_dead_zone_only_zero_is_neutral() -> None:
    one = settings(attribute="valence", texts=1, dead_zone=0)
    for output, value in (("1e-9", 0), ("-1e-9", 1), ("0", 2), ("-0.0", 2)):
        assert check(one, answered(next(design(one, 1, "score")), [output]))["read"].to_list() == [[value]]


@pytest.mark.parametrize(
    ("output", "values", "kinds"),
    [
        ("He is. She is.", [HE, SHE], ["kept", "kept"]),
        ("she, she and him", [SHE, SHE], ["kept", "kept"]),
        ("nothing himself", [OTHER, OTHER], ["none", "none"]),
        ("he he he", [HE, HE], ["kept", "kept"]),
        ("she he", [HE, SHE], ["kept", "kept"]),
        ("she he he", [HE, SHE, HE], ["kept", "kept", "surplus"]),
        ("hé he", [HE, OTHER], ["kept", "none"]),
    ],
)
def test_the_released_tally(output: str, values: list[int], kinds: list[str]) -> None:
    assert read(output, rule="released") == (values, kinds)


@given(st.lists(st.sampled_from(["he", "she", "it", "nurse", "."]), max_size=12))
@hypothesis_settings(max_examples=60, deadline=None)
def test_the_released_tally_is_the_papers_formula(words: list[str]) -> None:
    output = " ".join(words)
    values, _ = read(output, rule="released")
    tokens = re.findall("[a-z]+", output)
    he, she = min(tokens.count("he"), 2), min(tokens.count("she"), 2)
    assert values is not None
    assert [values.count(value) for value in (HE, SHE, OTHER)] == [he, she, max(0, 2 - he - she)]


@given(st.text(max_size=80))
@hypothesis_settings(max_examples=150, deadline=None)
def test_any_text_can_be_read(output: str) -> None:
    for rule in ("sound", "released"):
        values, kinds = read(output, rule=rule)
        assert len(kinds) >= 2
        assert values is None or all(0 <= value <= OTHER for value in values)


def test_reading_identity_gives_what_was_sent_for_every_pattern() -> None:
    tasks: list[tuple[str, Task]] = [
        ("gender", "translate"),
        ("gender", "chat"),
        ("worship", "translate"),
        ("worship", "chat"),
    ]
    for name, task in tasks:
        one = settings(attribute=name, texts=300)
        probes = pl.concat(design(one, 5, task))
        marks = check(one, answered(probes, probes["message"].to_list()))
        assert marks.height == probes.height
        assert marks["read"].equals(probes["values"].alias("read"))
        assert marks["kinds"].explode().unique().to_list() == ["kept"]


def test_words_of_the_residual_are_read_as_it() -> None:
    one = settings(attribute="worship", texts=1, patterns=["near"])
    probes = next(design(one, 1, "translate"))
    items = probes["items"][0]
    output = f"A {items[0]} near a cathedral. A {items[1]} near it. A {items[2]}. A {items[3]} near 2 mosques"
    marks = check(one, answered(probes, [output]))
    assert marks["read"].to_list() == [[4, 4, 4, 1]]
    assert marks["kinds"].to_list() == [["other", "it", "none", "kept"]]


def test_normalising_changes_what_looks_different_only() -> None:
    given_ = pl.Series(["E\u0301&amp;&lt;HE\u00ad\u200d", None, "&#x110000; &bogus;"])
    assert normalised(given_).to_list() == ["\u00e9&<he", None, "\ufffd &bogus;"]


def identity_marks(*, shared: bool = False, texts: int = 60, **changes: Any) -> pl.DataFrame:
    one = settings(texts=texts, **changes)
    probes = pl.concat(design(one, 2, "translate"))
    return check(one, answered(probes, probes["message"].to_list(), shared=shared))


def test_a_summary_counts_every_mention() -> None:
    summary = summarise(identity_marks())
    assert dict(summary.schema) == SUMMARY
    assert summary["n"].sum() == summary["pooled"].sum() == 360
    assert summary["texts"].sum() == 180
    assert summary.select(KEYS).is_unique().all()
    counts = (
        summary.group_by("block", "value_in", "value_out").agg(pl.col("n").sum()).sort("block", "value_in")
    )
    assert counts.rows() == [
        ("b1", 0, 0, 12), ("b1", 1, 1, 108),
        ("b2", 0, 0, 108), ("b2", 1, 1, 12),
        ("u1", 0, 0, 60), ("u1", 1, 1, 60),
    ]  # fmt: skip


def test_equal_texts_of_a_deterministic_service_count_once() -> None:
    table = {
        "values": ["Tea", "Coffee", "Other"],
        "words": {"Tea": "tea", "Coffee": "coffee"},
        "items": ["baker", "nurse"],
        "patterns": ["The {item} drinks {word}."],
    }
    marks = identity_marks(shared=True, attribute=table, texts=30)
    summary = summarise(marks)
    for block in ("u1", "b1", "b2"):
        distinct = marks.filter(pl.col("block") == block)["message"].n_unique()
        assert summary.filter(pl.col("block") == block)["n"].sum() == 2 * distinct
        assert summary.filter(pl.col("block") == block)["texts"].sum() == distinct
    assert summary["pooled"].sum() == 2 * marks["message"].n_unique()
    apart = summarise(marks.with_columns(shared=pl.lit(value=False)))
    assert apart["n"].sum() == apart["pooled"].sum() == 180


def test_missing_and_surplus_mentions() -> None:
    one = settings(rule="released", texts=1, patterns=["subject"])
    probes = pl.concat(design(one, 2, "translate"))
    marks = check(one, answered(probes, ["he he she she", None, "he she he"]))
    summary = summarise(marks)
    missing = summary.filter(pl.col("status") == "unreadable")
    assert missing["value_out"].unique().to_list() == [-1]
    assert (missing["n"].sum(), missing["kind"].unique().to_list()) == (2, ["missing"])
    surplus = summary.filter(pl.col("kind") == "surplus")
    assert (surplus["n"].sum(), surplus["pooled"].sum(), surplus["texts"].sum()) == (3, 0, 0)
    assert summary["texts"].sum() == 3
    assert summary["pooled"].sum() == 6


def test_shards_add_up_in_any_order() -> None:
    marks = identity_marks()
    whole = summarise(marks)
    shards = [summarise(marks.gather_every(3, offset)) for offset in range(3)]
    for order in permutations(shards):
        assert merge(order).equals(whole)
        assert merge([merge(order[:2]), order[2]]).equals(whole)
    assert merge([]).is_empty()
    assert dict(merge([]).schema) == SUMMARY
    assert merge([merge([]), whole]).equals(whole)
    assert summarise(marks.clear()).equals(merge([]))
    doubled = merge([whole, whole])
    assert doubled["n"].equals(whole["n"] * 2)
