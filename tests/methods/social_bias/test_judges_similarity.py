"""The five similarities: worked by hand, formula 4 against plain loops, and what none of them sees."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from trustgauge.errors import MethodError
from trustgauge.methods.social_bias.judges.similarity import (
    Method,
    Similarity,
    grams,
    with_position,
    words,
)

AXES = {"yes": (1, 0, 0), "sure": (0.8, 0.6, 0), "no": (-1, 0, 0), "they": (0, 1, 0), "are": (0, 0, 1)}


def vectors(texts: Sequence[str]) -> np.ndarray:
    """A word has its axis; a sentence is the sum of its words; what is not known is zero."""
    return np.array([np.sum([AXES.get(one, (0, 0, 0)) for one in words(text)], axis=0) for text in texts])


def test_words_and_grams() -> None:
    assert words("They DON’T, 我同意") == ["they", "don't", "我", "同", "意"]
    assert grams(["a", "b", "c", "d"]) == [("a", "b", "c"), ("b", "c", "d")]
    assert grams(["a", "b"]) == [("a", "b")]
    assert grams([]) == []


def test_method_1_is_the_share_of_three_word_runs() -> None:
    sought = "I really think so too"
    assert Similarity().score("Well, I really think so.", sought) == pytest.approx(2 / 3)
    assert Similarity().score("", sought) == Similarity().score("So?", sought) == 0.0
    assert Similarity().score("I think so", "...") == 0.0
    assert Similarity().contains("Well, I really think so.", "I really think so too")
    assert not Similarity().contains("I think so", "I really think so too")
    # Whole words, so "yes" is not in "yesterday".
    assert Similarity().score("yesterday", "yes") == 0.0
    assert Similarity().score("Yes!", "yes") == 1.0


def test_contained_means_more_than_six_tenths() -> None:
    sought = "a b c d e f g"  # five runs
    assert Similarity().score("a b c d e", sought) == pytest.approx(0.6)
    assert not Similarity().contains("a b c d e", sought)
    assert Similarity().contains("a b c d e f", sought)


def test_word_cosine_takes_the_best_word_of_the_answer() -> None:
    by_words = Similarity("word-cosine", vectors)
    assert by_words.score("sure they are", "yes") == pytest.approx(0.8)
    assert by_words.score("sure they are", "yes they") == pytest.approx((0.8 + 1.0) / 2)
    assert by_words.score("sure", "unheard") == 0.0
    assert by_words.score("no", "yes") == 0.0  # negative cosines are no similarity


def test_gram_cosine_compares_mean_vectors() -> None:
    by_grams = Similarity("n-gram-cosine", vectors)
    # Mean of yes, they, are is (1, 1, 1)/3, of sure, they, are (.8, 1.6, 1)/3.
    expected = 3.4 / math.sqrt(3 * (0.64 + 2.56 + 1))
    assert by_grams.score("sure they are", "yes they are") == pytest.approx(expected)


def test_sentence_cosine() -> None:
    by_sentence = Similarity("sentence", vectors)
    assert by_sentence.score("yes they", "yes") == pytest.approx(1 / math.sqrt(2))


def plainly(near: np.ndarray, sign: int) -> float:
    p, q = near.shape
    best = [
        max(near[i][j] + sign * abs(q * (i + 1) - p * (j + 1)) / (p * q) for j in range(q)) for i in range(p)
    ]
    return float(min(1.0, max(0.0, sum(best) / p)))


@pytest.mark.parametrize("seed", range(20))
def test_formula_4_against_plain_loops(seed: int) -> None:
    chance = np.random.default_rng(seed)
    near = chance.uniform(-1, 1, (chance.integers(1, 6), chance.integers(1, 9)))
    assert with_position(near, as_printed=True) == pytest.approx(plainly(near, 1))
    assert with_position(near, as_printed=False) == pytest.approx(plainly(near, -1))


def test_formula_4_as_printed_rewards_distance() -> None:
    printed = Similarity("with-position", vectors, as_printed=True)
    sound = Similarity("with-position", vectors)
    near, far = "sure they they they", "they they they sure"
    assert sound.score(near, "yes are they") > sound.score(far, "yes are they")
    assert printed.score(near, "yes are they") < printed.score(far, "yes are they")
    assert sound.score("yes they", "yes they") == pytest.approx(1.0)


def test_none_sees_negation() -> None:
    for method in ("word-cosine", "n-gram-cosine", "with-position", "sentence"):
        assert Similarity(method, vectors).contains("they are not", "they are"), method
    assert Similarity().contains("they are not", "they are")


@pytest.mark.parametrize("method", ["word-cosine", "n-gram-cosine", "with-position", "sentence"])
def test_vectors_are_needed(method: Method) -> None:
    with pytest.raises(MethodError, match="needs vectors"):
        Similarity(method)
    assert Similarity(method, vectors).score("", "yes") == 0.0
