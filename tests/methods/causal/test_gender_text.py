"""Does the text depend on gender: exact cases, references, and what chance alone gives."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.data.test_conversations import source
from trustgauge.data.conversations import ConversationSource
from trustgauge.methods.causal.gender_text import gender_tests

HEAD = "C_num,UB,User_gender,Original\n"


def talks(path: Path, users: dict[int, list[tuple[int, list[str]]]], **settings: str) -> ConversationSource:
    """Conversations: gender code -> (number, what the user says); the bot always says "right"."""
    lines = [
        f"{number},1,{gender},{text}\n{number},0,{gender},right\n"
        for gender, mine in users.items()
        for number, texts in mine
        for text in texts
    ]
    return source(path, HEAD + "".join(lines), **settings)


def found(of: ConversationSource, seed: int = 1) -> dict[str, dict[str, float | None]]:
    return {one["name"]: one for one in gender_tests(of, seed)}


def test_gender_that_is_plain_in_the_words_is_found(tmp_path: Path) -> None:
    men = [(number, ["the engine of the car", "the motor"]) for number in range(1, 6)]
    women = [(number, ["garden", "garden flowers"]) for number in range(6, 11)]
    of = talks(tmp_path / "a.csv", {1: men, 2: women})
    tests = found(of)
    assert len(tests) == 6
    words = tests["words of the user"]
    # Men: (5 + 2) / 2 words an utterance; women: (1 + 2) / 2. 2 of the 252 arrangements are as extreme.
    assert words["statistic"] == pytest.approx(1.5 - 3.5)
    assert words["p"] == pytest.approx(2 / 252)
    assert words["permutations"] == 0
    # "the of the" in the first utterance, "the" in the second.
    assert tests["stop words of the user"]["statistic"] == pytest.approx(-2.0)
    entry = tests["predictability of the user"]
    assert entry["statistic"] == 1.0
    # The words tell both parts from one another, whichever is called women: 2 of 252 again.
    assert entry["p"] == pytest.approx(2 / 252)
    assert entry["n"] == 10


def test_texts_that_are_all_alike_tell_nothing(tmp_path: Path) -> None:
    men, women = [(number, ["yes"]) for number in range(1, 8)], [(8, ["yes"]), (9, ["yes"])]
    for name, one in found(talks(tmp_path / "a.csv", {1: men, 2: women})).items():
        assert one["p"] == pytest.approx(1.0), name


def test_words_against_scipy(tmp_path: Path) -> None:
    chance = random.Random(2)
    users = {
        gender: [(number, ["word " * chance.randint(1, 6) for _ in range(4)]) for number in numbers]
        for gender, numbers in ((1, range(1, 8)), (2, range(8, 14)))
    }
    of = talks(tmp_path / "a.csv", users)
    means = {
        gender: [np.mean([len(text.split()) for text in texts]) for _, texts in mine]
        for gender, mine in users.items()
    }
    reference = stats.permutation_test(
        (means[2], means[1]),
        lambda a, b, axis: np.mean(a, axis) - np.mean(b, axis),
        vectorized=True,
        n_resamples=np.inf,
        alternative="two-sided",
    )
    mine = found(of)["words of the user"]
    assert mine["statistic"] == pytest.approx(float(reference.statistic))
    exact = np.abs(reference.null_distribution) >= abs(reference.statistic) - 1e-9
    assert mine["p"] == pytest.approx(float(exact.mean()))


def plainly_told(talked: list[tuple[bool, list[str]]]) -> float:
    """Naive Bayes in loops, one conversation left out after the other."""
    places = [set(words) for _, words in talked]
    shared = {one for a, b in combinations(places, 2) for one in a & b}
    right = 0.0
    for out, (truth, words) in enumerate(talked):
        logs = []
        for kind in (True, False):
            others = [
                word
                for place, (gender, said) in enumerate(talked)
                if place != out and gender == kind
                for word in said
                if word in shared
            ]
            total = len(others) + len(shared)
            logs.append(sum(np.log((others.count(word) + 1) / total) for word in words if word in shared))
        difference = logs[0] - logs[1]
        right += 0.5 if abs(difference) < 1e-9 else float((difference > 0) == truth)
    return right / len(talked)


@pytest.mark.parametrize("seed", range(4))
def test_predictability_against_plain_loops(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    users: dict[int, list[tuple[int, list[str]]]] = {1: [], 2: []}
    for number in range(1, 12):
        gender = 1 + number % 2
        words = ["a", "b", "c", "d", "e", "f", *("gh" if gender == 1 else "ij")]
        users[gender].append((number, [" ".join(chance.choices(words, k=5)) for _ in range(2)]))
    mine = found(talks(tmp_path / "a.csv", users))["predictability of the user"]
    plain = [(gender == 2, " ".join(texts).split()) for gender, many in users.items() for _, texts in many]
    assert mine["statistic"] == pytest.approx(plainly_told(plain))


def test_random_permutations_are_seeded(tmp_path: Path) -> None:
    chance = random.Random(9)
    users = {
        gender: [(number, ["word " * chance.randint(1, 6)]) for number in numbers]
        for gender, numbers in ((1, range(1, 13)), (2, range(13, 25)))
    }
    of = talks(tmp_path / "a.csv", users)
    one = found(of, 1)
    assert one["words of the user"]["permutations"] == 9_999
    assert one == found(source(tmp_path / "b.csv", (tmp_path / "a.csv").read_bytes()), 1)
    p = one["words of the user"]["p"]
    other = found(of, 2)["words of the user"]["p"]
    assert p is not None
    assert other is not None
    assert p != other
    assert p == pytest.approx(other, abs=0.03)


def test_chance_alone_rarely_finds_anything(tmp_path: Path) -> None:
    small = []
    for seed in range(40):
        chance = random.Random(seed)
        users = {
            gender: [
                (number, [" ".join(chance.choices("abcdefgh", k=chance.randint(1, 9)))]) for number in numbers
            ]
            for gender, numbers in ((1, range(1, 7)), (2, range(7, 13)))
        }
        tests = found(talks(tmp_path / f"{seed}.csv", users, proxy="assigned"))
        small += [
            one["p"] <= 0.05 for name, one in tests.items() if name.endswith("user") and one["p"] is not None
        ]
    assert len(small) == 120
    # 6 expected; more than 14 of 120 has a probability below .001 if the tests were independent.
    assert sum(small) <= 14


def test_users_without_gender_take_no_part_and_too_few_are_not_tested(tmp_path: Path) -> None:
    of = source(tmp_path / "a.csv")
    tests = gender_tests(of, 1)
    assert json.loads(json.dumps(tests, allow_nan=False)) == tests
    assert {one["n"] for one in tests} == {2}
    assert {one["measure"]: one["p"] for one in tests} == {
        "words": 1.0,
        "stop words": 1.0,
        "predictability": None,
    }
    unknown = source(tmp_path / "b.csv", columns={"gender": ""})
    assert all(one["statistic"] is None and one["n"] == 0 for one in gender_tests(unknown, 1))
    tests[0]["p"] = 0.5
    assert gender_tests(of, 1)[0]["p"] == 1.0
