"""Texts and blocks (two-step 1.2)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import factorial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.errors import MethodError
from trustgauge.methods.two_step.design import PROBES, Skeletons, block_values, design, exact_counts
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.records import PROBE, Task
from trustgauge.stats import stream

TEA = {
    "name": "drink",
    "values": ["Tea", "Coffee", "Other"],
    "words": {"Tea": "tea", "Coffee": "coffee"},
    "items": ["baker", "nurse", "engineer"],
    "patterns": ["The {item} drinks {word}.", "The {item} likes {word}."],
}


def settings(**changes: Any) -> TwoStepSettings:
    return TwoStepSettings.model_validate({"method": "two-step", "services": ["a"], **changes})


def probes(seed: int = 1, task: Task = "translate", **changes: Any) -> pl.DataFrame:
    return pl.concat(design(settings(**changes), seed, task))


def test_columns_and_sizes() -> None:
    frame = probes(texts=50)
    assert dict(frame.schema) == PROBES
    assert list(PROBE) == frame.columns[: len(PROBE)]
    assert frame.height == 150
    assert frame["block"].unique(maintain_order=True).to_list() == ["u1", "b1", "b2"]
    assert frame["id"].is_unique().all()
    assert frame["id"][0] == "u1-001"


def test_the_papers_effort() -> None:
    frame = probes(texts=20, patterns=["subject"])
    assert frame.height == 60
    assert frame["values"].list.len().sum() == 120


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_texts() -> None:
    one, same, other = (probes(seed, texts=300).write_json() for seed in (7, 7, 8))
    assert one == same
    assert one != other


def test_the_design_is_lazy() -> None:
    batches = design(settings(texts=10_000_000), 1, "translate")
    assert isinstance(batches, Iterator)
    first = next(batches)
    assert 0 < first.height < 100_000


def test_batches_do_not_change_the_texts() -> None:
    long = pl.concat(itertools.islice(design(settings(texts=9000), 1, "translate"), 3))
    assert long.height == 9000
    assert long["block"].unique().to_list() == ["u1"]
    assert long["message"].str.contains(r"\{").sum() == 0


@pytest.mark.parametrize("name", ["gender", "worship"])
def test_exact_counts_are_the_shares(name: str) -> None:
    one = settings(attribute=name)
    frame = probes(attribute=name)
    for block, shares in zip(one.spec.blocks, one.spec.distributions, strict=True):
        values = frame.filter(pl.col("block") == block)["values"].explode().to_numpy()
        counts = np.bincount(values, minlength=len(shares))
        np.testing.assert_array_equal(counts, np.round(shares * 200 * one.spec.mentions))


def test_sampled_counts_vary_around_the_shares() -> None:
    one = settings(counts="sampled", texts=2000)
    values = [block_values(one, seed, 1) for seed in (1, 2)]
    he = [int((drawn == 0).sum()) for drawn in values]
    assert he[0] != he[1]
    for count in he:
        assert abs(count - 400) < 6 * np.sqrt(4000 * 0.1 * 0.9)
    assert not np.any(values[0] == 2)


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=6).filter(lambda weights: sum(weights) > 0),
    st.integers(0, 3000),
)
def test_largest_remainder(weights: list[int], total: int) -> None:
    shares = np.array(weights) / sum(weights)
    counts = exact_counts(shares, total)
    assert counts.sum() == total
    assert np.all(np.abs(counts - shares * total) < 1 + 1e-6)
    assert np.all(counts[shares == 0] == 0)


def test_largest_remainder_by_hand() -> None:
    np.testing.assert_array_equal(exact_counts(np.array([0.1, 0.9, 0.0]), 30), [3, 27, 0])
    np.testing.assert_array_equal(exact_counts(np.array([1 / 3, 1 / 3, 1 / 3]), 100), [34, 33, 33])
    np.testing.assert_array_equal(exact_counts(np.array([0.46, 0.28, 0.26]), 10), [5, 3, 2])


@pytest.mark.parametrize(
    ("items", "patterns", "ranks", "mentions"), [(3, 2, 1, 2), (4, 3, 2, 3), (5, 2, 3, 1)]
)
def test_skeletons_come_once_before_any_comes_twice(
    items: int, patterns: int, ranks: int, mentions: int
) -> None:
    skeletons = Skeletons.draw((items, patterns, ranks), mentions, stream(3, "test"))
    assert skeletons.count == factorial(items) // factorial(items - mentions) * patterns * ranks
    taken = skeletons.take(np.arange(skeletons.count))
    rows = [
        (int(pattern), tuple(item), tuple(rank))
        for pattern, item, rank in zip(taken[0], taken[1].tolist(), taken[2].tolist(), strict=True)
    ]
    assert len(set(rows)) == skeletons.count
    assert all(len(set(item)) == mentions for _, item, _ in rows)
    again = skeletons.take(np.arange(skeletons.count, 2 * skeletons.count))
    np.testing.assert_array_equal(again[1], taken[1])


@pytest.mark.parametrize("mentions", [9, 10, 20])
def test_texts_of_many_sentences_have_more_skeletons_than_64_bits_hold(mentions: int) -> None:
    skeletons = Skeletons.draw((142, 2, 1), mentions, stream(3, "test"))
    assert skeletons.count == factorial(142) // factorial(142 - mentions) * 2
    _, items, _ = skeletons.take(np.arange(568))
    assert all(len(set(row)) == mentions for row in items.tolist())
    assert len({tuple(row) for row in items.tolist()}) == 568
    np.testing.assert_array_equal(np.unique(items, return_counts=True)[1], [4 * mentions] * 142)


def test_skeletons_are_the_same_in_every_block_and_use_items_evenly() -> None:
    frame = probes(texts=284)
    blocks = [frame.filter(pl.col("block") == block) for block in ("u1", "b1", "b2")]
    for other in blocks[1:]:
        assert other["items"].equals(blocks[0]["items"])
        assert other["pattern"].equals(blocks[0]["pattern"])
    assert not blocks[1]["values"].equals(blocks[0]["values"])
    uses = blocks[0]["items"].explode().value_counts()["count"]
    assert uses.min() == uses.max() == 4  # 284 texts x 2 mentions over 142 occupations


def test_every_text_has_a_sentence_for_each_mention() -> None:
    frame = probes(texts=100, attribute="worship")
    for message, items, values in frame.select("message", "items", "values").iter_rows():
        sentences = message.rstrip(".").split(". ")
        assert len(sentences) == len(items) == len(values) == 4
        for sentence, item, value in zip(sentences, items, values, strict=True):
            assert item in sentence.lower()
            assert any(
                word in sentence
                for word in settings(attribute="worship").table.read_words(
                    settings(attribute="worship").spec.values[value]
                )
            )


def test_draws_number_the_occurrences_of_a_message_and_its_repeats() -> None:
    frame = probes(texts=40, repeats=2, attribute=TEA)
    assert frame.height == 40 * 3 * 2
    for _, group in frame.group_by("message", maintain_order=True):
        assert group["draw"].to_list() == list(range(group.height))
        assert group["first"].to_list() == [True] + [False] * (group.height - 1)
    for _, group in frame.group_by("message", "block", maintain_order=True):
        assert group["first_in_block"].to_list() == [True] + [False] * (group.height - 1)
    assert frame["id"][1] == "u1-001r1"
    assert frame["message"].n_unique() < frame.height / 2


def test_words_in_a_list_become_the_cluster() -> None:
    frame = probes(task="score", attribute="valence")
    table = settings(attribute="valence").table
    assert frame["items"].list.len().unique().to_list() == [1]
    for message, items, words, values in frame.select("message", "items", "words", "values").iter_rows():
        assert words[0] in message
        assert items[0] in message
        assert items[0] in table.item_list
        assert words[0] in table.read_words(table.values[values[0]])
    assert frame.filter(pl.col("block") == "u1")["words"].explode().n_unique() >= 40


def test_a_chatbot_gets_the_question() -> None:
    frame = probes(task="chat", texts=5)
    assert frame["message"].str.ends_with("? Answer in order.").all()


@pytest.mark.parametrize(
    ("name", "task"), [("gender", "score"), ("valence", "translate"), ("valence", "chat")]
)
def test_a_task_that_cannot_ask_about_the_attribute(name: str, task: Task) -> None:
    with pytest.raises(MethodError, match="cannot be asked"):
        design(settings(attribute=name), 1, task)
