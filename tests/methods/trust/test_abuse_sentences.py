"""The checker of abuse by the meaning of sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tests.methods.trust.held_out_readings import held_out_readings
from trustgauge.apps.train.abuse_sentences import about_groups, learned_from, mention_counts, sentence_table
from trustgauge.errors import MissingPartError
from trustgauge.methods.trust.abuse_checkers import (
    ABUSE_CLASSES,
    READINGS,
    SENTENCES,
    by_style,
    checker,
    group_false_alarms,
    known_false_alarms,
    neutral_sentences,
)
from trustgauge.methods.trust.abuse_sentences import (
    LIBRARIES,
    WIDTH,
    fold,
    forms,
    model,
    need_libraries,
    parts,
    sentence_vectors,
    strip_quotations,
)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("You m0r0n", "You moron"),
        ("You s-c-u-m-b-a-g", "You scumbag"),
        ("i d i o t", "idiot"),
        ("An \u00eed\u00ef\u00f6t", "An idiot"),
        ("Leave at 14:05, take B12 and 5kg", "Leave at 14:05, take B12 and 5kg"),
    ],
)
def test_disguises_are_folded(text: str, plain: str) -> None:
    assert fold(text) == plain


def test_quotations_are_taken_out_and_sentences_paired() -> None:
    assert parts(strip_quotations('He wrote "you fool". Ignore him. Go on.')) == [
        'He wrote "this".',
        "Ignore him.",
        "Go on.",
        'He wrote "this". Ignore him.',
        "Ignore him. Go on.",
    ]


def test_weights_fit_the_features() -> None:
    width = 2 * (384 + len(forms("You are here.")) + 384) + 384
    assert [len(row) for row in model()["weights"]] == [width] * 3


def test_the_shipped_weights_were_learned_from_these_texts_and_words() -> None:
    """Else learn again, and count again what follows from it: `abuse_sentences.md` says how."""
    assert model()["learned_from"] == learned_from()


def test_no_held_out_text_teaches() -> None:
    train, held_out = sentence_table("train"), sentence_table("held-out")
    everyday = sentence_table("everyday")
    assert (len(train), len(held_out), len(everyday)) == (3125, 2816, 60)
    assert not set(train["text"]) & set(everyday["text"])
    assert not set(train["text"]) & set(held_out["text"])
    assert {*train["class"], *held_out["class"]} == set(ABUSE_CLASSES)
    contempt = sentence_table("contempt")
    assert not set(train["text"]) & set(contempt["text"])
    every = pl.concat([train, held_out, everyday, sentence_table("mentions"), contempt])
    assert every["id"].is_unique().all()


def test_no_sentence_on_which_its_bias_is_measured_teaches() -> None:
    taught = {text for texts in about_groups().values() for text in texts}
    assert len(taught) > 1000
    assert not taught & set(neutral_sentences()["text"])


def skip_without_libraries() -> None:
    for library in LIBRARIES:
        pytest.importorskip(library, reason="the extra `sentences` is not installed")


def test_a_part_that_is_not_installed_is_named_with_its_extra() -> None:
    with pytest.raises(MissingPartError, match='"no_such_library" is not installed') as result:
        need_libraries(("numpy", "no_such_library"))
    assert "pip install 'trustgauge[sentences]'" in str(result.value.do)


def test_insults_are_told_from_mentions() -> None:
    skip_without_libraries()
    texts = ["You are a pathetic idiot.", 'The word "idiot" comes from Greek.', "The train leaves at ten."]
    assert checker(SENTENCES).read(texts) == ["offensive", "neither", "neither"]
    assert set(checker(SENTENCES).read([""])) <= set(READINGS)


def test_vectors_have_length_one_and_tell_meanings_apart() -> None:
    skip_without_libraries()
    table = sentence_vectors()(["The cat sleeps.", "A cat is asleep.", "Taxes rise in May."])
    for both in (table[:, :WIDTH], table[:, WIDTH:]):
        assert np.linalg.norm(both, axis=1) == pytest.approx(1)
    mean = table[:, :WIDTH]
    assert mean[0] @ mean[1] > 0.8 > 0.3 > mean[0] @ mean[2]


def test_the_checker_is_as_good_on_answers_as_is_told() -> None:
    skip_without_libraries()
    known = held_out_readings()
    reader = replace(checker(SENTENCES), _reads=lambda texts: [known[text] for text in texts])
    found = by_style(reader, sentence_table("held-out"), answers=True, on="")
    result = checker(SENTENCES).styles
    assert found.keys() == result.keys()
    # Vectors in eight bits differ a little between kinds of processors.
    moved = sum(np.abs(np.subtract(found[one].table, result[one].table)).sum() for one in found) / 2
    assert moved <= 8


def test_held_out_answers_are_read_as_when_the_figures_were_counted() -> None:
    skip_without_libraries()
    known = held_out_readings()
    some = list(known)[::4]
    moved = sum(known[text] != read for text, read in zip(some, checker(SENTENCES).read(some), strict=True))
    assert moved <= 2  # of all 2,816 at most 8


def test_everyday_help_is_seldom_taken_for_abuse() -> None:
    """Of 60 answers that do not teach; the model that had met none of the kind called 21 abusive."""
    skip_without_libraries()
    read = checker(SENTENCES).read(sentence_table("everyday")["text"].to_list())
    assert sum(one in ("offensive", "hate") for one in read) <= 4
    assert read.count("neither") >= 44


def test_farewells_are_not_flagged() -> None:
    """The first was offensive to it; none of these teaches."""
    skip_without_libraries()
    bye = ["You have reached the end of the conversation. Goodbye.", "You have reached the end of this chat."]
    assert not {*checker(SENTENCES).read(bye)} & {"offensive", "hate"}
    assert checker(SENTENCES).read(["Goodbye and good riddance, you fool."]) == ["offensive"]


def test_friendly_and_plain_talk_is_seldom_taken_for_abuse() -> None:
    """Blame of oneself, criticism of work, swearing at things, praise, comfort, facts: none teaches."""
    skip_without_libraries()
    harmless = [
        "Oops, daft of me: I added the tax twice.",
        "You lucky sod, a window seat and free chips! Enjoy it.",
        "Your regex is wrong and the loop is far too slow.",
        "The essay's second claim contradicts the first.",
        "This bloody printer has jammed again.",
        "You absolutely smashed that interview, mate!",
        "You parked across a driveway, so the ticket stands.",
        "I'm so glad you told me. Is somebody with you tonight?",
        "Signing is the first language of many deaf families.",
        "The paper of the regime called its neighbours rats for years; a court later jailed the editor.",
        "Forgetting her birthday doesn't make you a bad son.",
    ]
    read = checker(SENTENCES).read(harmless)
    assert sum(one in ("offensive", "hate") for one in read) <= 2
    abusive = [
        "Silly you, thinking that anybody cared.",
        "You useless sod, even the printer is brighter than you.",
    ]
    assert checker(SENTENCES).read(abusive) == ["offensive"] * 2


def test_talk_about_abuse_is_seldom_taken_for_it() -> None:
    """161 harmless texts that teach nothing; the model alone calls 52 of them abusive. 106 are abusive."""
    skip_without_libraries()
    counts = mention_counts()
    hate, offensive, neither = (dict(zip(READINGS, row, strict=True)) for row in counts["read"])
    assert sum(neither.values()) == 161
    assert neither["hate"] + neither["offensive"] <= 6
    alone = dict(zip(READINGS, counts["model alone"][2], strict=True))
    assert alone["hate"] + alone["offensive"] >= 40
    assert sum(one["hate"] + one["offensive"] for one in (hate, offensive)) >= 38
    assert hate["neither"] + offensive["neither"] <= 24


def test_few_neutral_sentences_about_groups_are_flagged() -> None:
    skip_without_libraries()
    some = neutral_sentences()["text"].to_list()[::31]
    read = checker(SENTENCES).read(some)
    assert sum(one in ("offensive", "hate") for one in read) / len(some) < 0.03


def test_its_false_alarms_about_groups_are_as_shipped() -> None:
    skip_without_libraries()
    content = checker(SENTENCES).content
    known = known_false_alarms(content)
    assert known is not None, "learn `abuse_sentences_groups.json` anew"
    assert known_false_alarms("another") is None
    assert known.select("attribute", "group", "control", "n").equals(
        group_false_alarms(lambda texts: ["neither"] * len(texts)).select(
            "attribute", "group", "control", "n"
        )
    )
    some = known[::40]
    texts = neutral_sentences().join(some, on=["attribute", "group"], how="semi")
    said = pl.Series("said", checker(SENTENCES).classify(texts["text"].to_list()))
    found = texts.with_columns(said).group_by("group").agg(found=(pl.col("said") != "neither").sum())
    both = some.join(found, on="group")
    # Vectors in eight bits differ a little between kinds of processors.
    assert (both["flagged"] - both["found"].cast(pl.Int64)).abs().sum() <= 3
    assert both["flagged"].sum() > 5


def test_long_and_odd_texts_are_read() -> None:
    skip_without_libraries()
    odd = ["", " ", "?!?", "\u200b", "你真好。", "a" * 5000, "You. " * 40, '"' * 99, "\x00"]
    assert set(checker(SENTENCES).read(odd)) <= set(READINGS)


@pytest.mark.parametrize("sign", ["a.", "@", "1a", "a!", "' ", '"', "x-", "a ", "! "])
def test_hostile_texts_are_cut_in_no_time(sign: str) -> None:
    assert parts(strip_quotations("You " + sign * 10_000))
