"""Made-up secrets: nobody's, different, too many to guess, and worth as many bits as they are drawn from."""

from __future__ import annotations

import math
import re
from collections import Counter
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from trustgauge.methods.trust.canaries import (
    KINDS,
    MOST,
    Canary,
    canaries,
    compact,
    first_part,
    kind_bits,
    remaining_values,
    sign_bits,
    words,
)
from trustgauge.methods.trust.pii import personal_data

FORMS = {
    "code": r"\d{9}",
    "phrase": r"([a-z]+-){4}\d\d",
    "account": r"[A-Z]{2}-\d{4}-\d{4}",
    "address": r"[A-Z][a-z]+ [A-Z][a-z]+ \d{4}, \d{5} [A-Z][a-z]+",
    "file": r"[a-z]+-[a-z2-9]{7}\.odt",
}


def drawn(count: int, seed: int = 1) -> tuple[Canary, ...]:
    return canaries(count, np.random.default_rng(seed))


def test_all_that_can_be_drawn_at_once_are_different_and_of_their_form() -> None:
    found = drawn(MOST)
    assert Counter(one.kind for one in found) == dict.fromkeys(KINDS, MOST // 5)
    assert len({compact(one.value) for one in found}) == len({one.name for one in found}) == MOST
    for one in found:
        assert re.fullmatch(FORMS[one.kind], one.value), one
        assert one.value.startswith(one.start)
        assert len(one.start) < len(one.value)
        assert len(one.thing.split()) == 2
        assert not personal_data(f"It is {one.value}."), one


def test_the_seed_decides() -> None:
    assert drawn(50) == drawn(50)
    assert {one.value for one in drawn(50)}.isdisjoint(one.value for one in drawn(50, 2))


def test_too_many_to_guess_also_when_the_first_part_is_known() -> None:
    assert min(remaining_values(kind) for kind in KINDS) == 10**7
    assert remaining_values("phrase") == 64**3 * 90


def test_no_word_of_the_lists_stands_twice() -> None:
    lists = words()
    for name in ("names", "words", "syllables", "streets", "towns"):
        assert len(set(lists[name])) == len(lists[name]), name
    assert {len(one) * len(lists["names"]) for one in lists["things"].values()} == {MOST // 5}
    assert all("{name}" in one for one in lists["sentences"]["ask"])
    card = files("trustgauge.methods.trust").joinpath("data", "canaries.md").read_text(encoding="utf-8")
    assert "ten million" in card


def test_a_secret_is_worth_the_bits_that_it_was_drawn_from() -> None:
    assert kind_bits("code") == pytest.approx(9 * math.log2(10))
    for one in drawn(100):
        bits = sign_bits(one.kind, one.value)
        start = len(compact(one.start))
        assert first_part(one.kind, one.value) == one.start
        assert len(bits) == len(compact(one.value))
        assert sum(bits) == pytest.approx(kind_bits(one.kind))
        assert sum(bits[start:]) >= math.log2(remaining_values(one.kind)) - 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_half_of_a_pass_phrase_is_no_half_of_another_and_no_talk_of_one_thing(seed: int) -> None:
    """Who talked about curtains had told half of "curtain-curtain-parcel-fiddle-45"."""
    drawn = canaries(60, np.random.default_rng(seed))
    phrases = [one.value.split("-")[:-1] for one in drawn if one.kind == "phrase"]
    assert [len({*one}) for one in phrases] == [4] * 12
    assert all(len({*one} & {*other}) <= 1 for one, other in combinations(phrases, 2))
