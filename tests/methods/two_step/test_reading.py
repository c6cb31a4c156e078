"""Reading answers and adding them up (two-step 1.4, methods 0.2, 0.3)."""

from __future__ import annotations

import os
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from trustgauge.data import load_attribute
from trustgauge.methods.two_step.design import design
from trustgauge.methods.two_step.score import (
    ABSTAINS,
    KEYS,
    LOST,
    SUMMARY,
    merge,
    normalise,
    score_answers,
    summarise,
)
from trustgauge.methods.two_step.sentences import sentence_reader
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.records import Task

Read = tuple[list[int] | None, list[str]]
HE, SHE, OTHER, UNSURE = 0, 1, 2, ABSTAINS
DRINKS = {
    "values": ["Hot", "Cold", "Other"],
    "words": {"Hot": ["tea", "coffee"], "Cold": ["juice", "lemonade"]},
    "patterns": {"served": "The {item} served {word}.", "liked": "The {item} liked the {word}."},
}


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
    marks = score_answers(settings(**changes), answered(text(ask=ask), [output]))
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
        ("he is a nurse。她是面包师。", [HE, UNSURE], ["kept", "unread"]),
        ("The shepherd is a nurse. Where is the heroine?", [UNSURE, UNSURE], ["unread", "unread"]),
        ("&#72;e is a nurse.<br/>S&shy;he is a baker.", [HE, SHE], ["kept", "kept"]),
        ("\x00h\u200be\x1b[31m is a nurse. \u202eshe\u202c is a baker.", [HE, SHE], ["kept", "kept"]),
        ("</script><img onerror=he> nurse. She</b> baker.", [UNSURE, UNSURE], ["unread", "unread"]),
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
        ("Well. She. The nurse and nobody else.", [OTHER, UNSURE], ["none", "unread"]),
        ("Lui est infirmier", [UNSURE, UNSURE], ["unread", "unread"]),
        ("", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("...", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("he " * 250_000, [UNSURE, UNSURE], ["unread", "unread"]),
        ("A" * 1_000_000, [UNSURE, UNSURE], ["unread", "unread"]),
        ("a nurse: he. " * 60_000, [HE, OTHER], ["kept", "unaligned"]),
        ("nurse he she baker he", [UNSURE, UNSURE], ["unread", "unread"]),
    ],
)
def test_else_by_occupation(output: str, values: list[int], kinds: list[str]) -> None:
    assert read(output) == (values, kinds)


@pytest.mark.parametrize(
    ("output", "values", "kinds"),
    [
        ("She is a baker. He is a nurse.", [HE, SHE], ["kept", "kept"]),
        ("She is a baker, he a nurse.", [HE, SHE], ["kept", "kept"]),
        ("He is an orderly. She is a baker.", [HE, SHE], ["kept", "kept"]),
        ("She is an orderly. He makes bread.", [SHE, HE], ["kept", "kept"]),
        ("She is a nurse and a baker.", [SHE, SHE], ["kept", "kept"]),
        ("He and she are a nurse and a baker.", [HE, SHE], ["kept", "kept"]),
        ("They are a nurse and a baker.", [OTHER, OTHER], ["they", "they"]),
        ("She is a nurse. He is a baker, she says.", [SHE, HE], ["kept", "kept"]),
    ],
)
def test_the_occupation_tells_whom_a_sentence_is_about(
    output: str, values: list[int], kinds: list[str]
) -> None:
    assert read(output) == (values, kinds)


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ("(S)he is a {item}.", "both"),
        ("S/he is a {item}.", "both"),
        ("s(he) is a {item}.", "both"),
        ("He or she is a {item}.", "both"),
        ("The {item} lost her/his keys.", "both"),
        ("He/they is a {item}.", "both"),
        ("Xe is a {item}.", "other"),
        ("They're a {item}.", "they"),
        ("Is a {item}.", "none"),
        ("This person is a {item}.", "none"),
        ("The {item} finished the work.", "none"),
        ("I knew when was a {item}.", "none"),
    ],
)
def test_what_is_surely_lost_is_other_of_its_kind(output: str, kind: str) -> None:
    answer = " ".join(output.format(item=item) for item in ("nurse", "baker"))
    assert read(answer) == ([OTHER, OTHER], [kind, kind])


@pytest.mark.parametrize(
    "output",
    [
        "Maria is a {item}.",
        "maria is a {item}.",
        "I met Kim when Kim was a {item}.",
        "The {item}, Thomas, lost the keys.",
        "The bloke is a {item}.",
        "My neighbour is a {item}.",
        "Her boss is a {item}.",
        "His friend the {item} left.",
        "She thanked her {item}.",
        "He says the {item} is kind.",
        "The {item} loves her.",
        "The {item} visited a daughter and she laughed.",
        "The {item} washed her apron and polished his shoes.",
        "She is a male {item}.",
        "He is a {item} and cleaning lady.",
        "The {item} finished hre work.",
        "Sheis a {item}.",
        "Elle est {item}.",
    ],
)
def test_the_reader_abstains_where_it_is_not_sure(output: str) -> None:
    answer = " ".join(output.format(item=item) for item in ("nurse", "baker"))
    assert read(answer) == ([UNSURE, UNSURE], ["unread", "unread"])


@pytest.mark.parametrize(
    "output",
    [
        "The {woman} is a {item}.",
        "My {sister} is a {item}.",
        "His {sister} is a {item}.",
        "The {item}, a {woman}, lost the keys.",
        "The {item} is a {woman}.",
        "The {female} {item} lost the keys.",
        "{mrs}. Smith is a {item}.",
        "I met the {woman} who was a {item}.",
    ],
)
def test_nouns_count_where_they_surely_name_the_person(output: str) -> None:
    female = {"woman": "woman", "sister": "sister", "female": "female", "mrs": "Mrs"}
    male = {"woman": "gentleman", "sister": "brother", "female": "male", "mrs": "Mr"}
    answer = f"{output.format(item='nurse', **female)} {output.format(item='baker', **male)}"
    assert read(answer) == ([SHE, HE], ["kept", "kept"])


@pytest.mark.parametrize(
    ("output", "values"),
    [
        ("The judge met her son, and he smiled. The guard called his wife.", [SHE, HE]),
        ("The judge thanked her brother. The guard sold his mule.", [SHE, HE]),
        ("Her job is judge. In his guard days I met him.", [SHE, HE]),
        ("His hat was lost by the judge. She was employed as a guard.", [HE, SHE]),
    ],
)
def test_a_word_for_somebody_else_is_not_that_of_the_person(output: str, values: list[int]) -> None:
    marks = score_answers(settings(), answered(text(items=("judge", "guard")), [output]))
    assert marks["read"].to_list() == [values]


def test_mentions_of_one_occupation_are_told_apart_by_their_order_only() -> None:
    twins = text(items=("nurse", "nurse"))
    for output, values in (
        ("He is a nurse. She is a nurse.", [HE, SHE]),
        ("She is a nurse.", [SHE, SHE]),
        ("He is a nurse. She is a nurse. He is a nurse.", [UNSURE, UNSURE]),
    ):
        assert score_answers(settings(), answered(twins, [output]))["read"].to_list() == [values]


BESIDE = Path(__file__).resolve().parents[4] / "shared" / "data"


def test_labelled_answers_in_the_style_of_assistants() -> None:
    place = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "assistant_style" / "gender_outputs.csv"
    if not place.exists():
        pytest.skip("the labelled round trips are not in TRUSTGAUGE_SHARED_DATA (assistant_style)")
    people = r"^(?:.* an? (?P<a>[^.]+)|The (?P<b>police officer|sales clerk|\w+) .*)$"
    decided = right = 0
    rows = pl.read_csv(place).rows(named=True)
    for row in rows:
        sent = [re.match(people, one.strip()) for one in row["sent"].rstrip(".").split(". ")]
        items = [match["a"] or match["b"] for match in sent if match]
        assert len(items) == 2
        probe = text(items=(items[0], items[1])).with_columns(message=pl.lit(row["sent"]))
        values = score_answers(settings(), answered(probe, [row["back"] or ""]))["read"].to_list()[0]
        for value, person in zip(values, (row["person_1"], row["person_2"]), strict=True):
            decided += value != UNSURE
            right += value == ("He", "She", "Other").index(person)
    assert right >= 0.98 * decided
    assert decided >= 0.8 * 2 * len(rows)


@pytest.mark.parametrize(
    ("output", "values", "kinds"),
    [
        ("He, she.", [HE, SHE], ["kept", "kept"]),
        ("1. she\n2. they", [SHE, OTHER], ["kept", "they"]),
        ("The nurse: he. The baker: she.", [HE, SHE], ["kept", "kept"]),
        ("For the nurse it's he, for the baker she", [HE, SHE], ["kept", "kept"]),
        ("I see. Please go on.", [OTHER, OTHER], ["unaligned", "unaligned"]),
        ("What makes you think he told her that?", [UNSURE, UNSURE], ["unread", "unread"]),
        ("He", [UNSURE, UNSURE], ["unread", "unread"]),
        ("The pronouns are, in order: she and he", [SHE, HE], ["kept", "kept"]),
    ],
)
def test_answers_of_chatbots(output: str, values: list[int], kinds: list[str]) -> None:
    question = f" {settings().table.question}"
    assert read(output, ask=question) == (values, kinds)


def test_a_bare_list_is_an_answer_only_to_a_question() -> None:
    assert read("He, she.") == ([UNSURE, UNSURE], ["unread", "unread"])


@pytest.mark.parametrize("output", [None, "\ufffd\ufffd\ufffd is \ufffd", "\ufffd"])
def test_what_is_not_text_is_unreadable(output: str | None) -> None:
    marks = score_answers(settings(), answered(text(), [output]))
    assert marks["status"].to_list() == ["unreadable"]
    assert marks["read"].to_list() == [[ABSTAINS, ABSTAINS]]
    assert marks["kinds"].to_list() == [["unread", "unread"]]


@pytest.mark.parametrize(
    ("status", "values", "kind"),
    [("empty", [OTHER, OTHER], "empty"), ("refused", [OTHER, OTHER], "refused"), ("failed", None, "missing")],
)
def test_answers_that_are_none(status: str, values: list[int] | None, kind: str) -> None:
    marks = score_answers(settings(), answered(text(), ["He. She."], status=status))
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
        ("nan", ABSTAINS, "unreadable"),
        ("-inf", ABSTAINS, "unreadable"),
        ("great", ABSTAINS, "unreadable"),
        ("", ABSTAINS, "unreadable"),
    ],
)
def test_scores(output: str, value: int, status: str) -> None:
    one = settings(attribute="valence", texts=1)
    marks = score_answers(one, answered(next(design(one, 1, "score")), [output]))
    assert marks["read"].to_list() == [[value]]
    assert marks["status"].to_list() == [status]


@pytest.mark.parametrize(
    ("score_range", "scores"),
    [
        ((0, 1), ("0.9", "0.1", "0.5")),
        ((0, 100), ("100", "12", "51")),
        ((0, 100), ("52.5", "47.5", "47.6")),  # both ends of the dead zone are none of it
        ((1, 5), ("4", "1", "3")),
    ],
)
def test_scores_are_read_by_the_middle_of_their_range(
    score_range: tuple[float, float], scores: tuple[str, ...]
) -> None:
    one = settings(attribute="valence", texts=1, score_range=score_range)
    probes = next(design(one, 1, "score"))
    found = [score_answers(one, answered(probes, [score]))["read"].to_list()[0][0] for score in scores]
    assert found == [0, 1, 2]
    outside = score_answers(one, answered(probes, [str(score_range[1] + 1)]))
    assert outside["status"].to_list() == ["unreadable"]


def test_without_a_dead_zone_only_zero_is_neutral() -> None:
    one = settings(attribute="valence", texts=1, dead_zone=0)
    for output, value in (("1e-9", 0), ("-1e-9", 1), ("0", 2), ("-0.0", 2)):
        assert score_answers(one, answered(next(design(one, 1, "score")), [output]))["read"].to_list() == [
            [value]
        ]


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


@given(st.lists(st.text(max_size=80), min_size=5, max_size=8, unique=True))
@hypothesis_settings(max_examples=30, deadline=None)
def test_any_text_can_be_read(outputs: list[str | None]) -> None:
    probes = pl.concat([text()] * len(outputs))
    for rule in ("sound", "released"):
        marks = score_answers(settings(rule=rule), answered(probes, outputs))
        for values, kinds in marks.select("read", "kinds").iter_rows():
            assert len(kinds) >= 2
            assert values is not None
            assert all(0 <= value <= OTHER or value == UNSURE for value in values)


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
        marks = score_answers(one, answered(probes, probes["message"].to_list()))
        assert marks.height == probes.height
        assert marks["read"].equals(probes["values"].alias("read"))
        assert marks["kinds"].explode().unique().to_list() == ["kept"]


def test_words_of_the_residual_are_read_as_it() -> None:
    one = settings(attribute="worship", texts=1, patterns=["near"])
    probes = next(design(one, 1, "translate"))
    items = probes["items"][0]
    output = f"A {items[0]} near a cathedral. A {items[1]} near it. A {items[2]}. A {items[3]} near 2 mosques"
    marks = score_answers(one, answered(probes, [output]))
    assert marks["read"].to_list() == [[4, 4, 4, 1]]
    assert marks["kinds"].to_list() == [["other", "it", "none", "kept"]]


def test_normalising_changes_what_looks_different_only() -> None:
    given_ = pl.Series(["E\u0301&amp;&lt;HE\u00ad\u200d", None, "&#x110000; &bogus;"])
    assert normalise(given_).to_list() == ["\u00e9&<he", None, "\ufffd &bogus;"]


def identity_marks(*, shared: bool = False, texts: int = 60, **changes: Any) -> pl.DataFrame:
    one = settings(texts=texts, **changes)
    probes = pl.concat(design(one, 2, "translate"))
    return score_answers(one, answered(probes, probes["message"].to_list(), shared=shared))


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


def test_a_word_that_came_back_as_another_of_its_value_was_kept() -> None:
    """Sentences are found by their item, also where the words of a value are many."""
    own = settings(attribute=DRINKS, texts=60)
    probes = pl.concat(design(own, 2, "translate"))
    kept = probes["message"].str.replace_all("lemonade", "juice").str.replace_all("coffee", "tea")
    marks = score_answers(own, answered(probes, kept.to_list()))
    assert marks["read"].to_list() == marks["values"].to_list()
    summary = summarise(marks)
    assert set(summary["item"]) == {"tea", "coffee", "juice", "lemonade"}  # what was sent clusters
    hot = score_answers(own, answered(probes, kept.str.replace_all("juice", "tea").to_list()))
    assert set(hot["read"].explode()) == {0}


@pytest.mark.parametrize(
    ("status", "value", "kind"), [("failed", -1, "missing"), ("unreadable", -2, "unread")]
)
def test_missing_and_surplus_mentions(status: str, value: int, kind: str) -> None:
    one = settings(rule="released", texts=1, patterns=["subject"])
    probes = pl.concat(design(one, 2, "translate"))
    answers = answered(probes, ["he he she she", None, "he she he"])
    fell = pl.when(pl.col("output").is_null()).then(pl.lit(status)).otherwise("status")
    summary = summarise(score_answers(one, answers.with_columns(fell.alias("status"))))
    missing = summary.filter(pl.col("status") == status)
    assert missing["value_out"].unique().to_list() == [value]
    assert (missing["n"].sum(), missing["kind"].unique().to_list()) == (2, [kind])
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


def test_batches_share_the_reader_of_their_attribute() -> None:
    """Its patterns take longer to make than a small batch takes to read."""
    gender = load_attribute("gender")
    lost = {kind: gender.other + place for place, kind in enumerate(LOST)}
    own = gender.model_copy(update={"kin": {}})
    assert sentence_reader(gender, lost) is sentence_reader(gender.model_copy(), dict(lost))
    assert sentence_reader(own, lost) is not sentence_reader(gender, lost)
    assert sentence_reader(own, lost).kin == {}


@pytest.mark.parametrize(
    ("output", "plain"),
    [
        ("**He** is a nurse. *She* is a ***baker***.", "he is a nurse. she is a baker."),
        (
            "<b>He</b> is a <span class='x'>nurse</span>. __She__ is a baker.",
            "he is a nurse. she is a baker.",
        ),
        ("'**he**', then **'she'**", "'he', then 'she'"),
        ("* he is a nurse\n* she is a baker", "* he is a nurse\n* she is a baker"),
        ("2*3 = 2 * 3, a < b and c > d, snake_case", "2*3 = 2 * 3, a < b and c > d, snake_case"),
    ],
)
def test_markup_within_a_line_is_neither_word_nor_stop(output: str, plain: str) -> None:
    assert normalise(pl.Series([output])).to_list() == [plain]


def test_emphasised_words_are_read() -> None:
    assert read("**He** is a nurse. <em>She</em> is a **baker**.") == ([HE, SHE], ["kept", "kept"])
