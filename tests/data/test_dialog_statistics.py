"""Statistics of conversations, against counts by hand and a plain recount."""

from __future__ import annotations

import json
import random
import statistics
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.data.test_conversations import source
from trustgauge.data.conversations import ConversationSource
from trustgauge.data.dialog_statistics import stop_words


def row(found: ConversationSource, **about: Any) -> dict[str, Any]:
    rows = [one for one in found.statistics() if all(one[key] == value for key, value in about.items())]
    assert len(rows) == 1
    return rows[0]


def test_counts_by_hand(tmp_path: Path) -> None:
    found = source(tmp_path / "a.csv")
    plain = row(found, speaker="user", gender="male", merged=False, prefixed=False)
    assert plain["words_per_utterance"] == {"mean": 1.0, "min": 1, "max": 1}
    assert plain["utterances_per_conversation"] == {"mean": 2.0, "min": 2, "max": 2}
    assert (plain["conversations"], plain["utterances"]) == (1, 2)
    merged = row(found, speaker="user", gender="male", merged=True, prefixed=True)
    # "Hey boy, yes ok"
    assert merged["words_per_utterance"] == {"mean": 4.0, "min": 4, "max": 4}
    assert merged["utterances_per_conversation"]["mean"] == 1.0
    # "it's" and "me" stand among the stop words, "Hey" does not.
    nobody = row(found, speaker="user", gender="NA", merged=False, prefixed=True)
    assert nobody["stopwords"] == {"mean": 2.0, "min": 2, "max": 2}
    bots = row(found, speaker="bot", gender="all", merged=False)
    assert bots["words_per_utterance"] == {"mean": 9 / 4, "min": 1, "max": 4}
    assert bots["utterances_per_conversation"] == {"mean": 4 / 3, "min": 1, "max": 2}
    # One turn each: C02 ends with a user who is not answered, C01 begins with the bot.
    assert bots["turns"] == {"mean": 1.0, "min": 1, "max": 1}


def test_rows_and_json(tmp_path: Path) -> None:
    rows = source(tmp_path / "a.csv").statistics()
    assert json.loads(json.dumps(rows)) == rows
    about = [(one["speaker"], one["merged"], one["prefixed"], one["gender"]) for one in rows]
    assert len(set(about)) == len(about) == 6 * 4
    assert {one[3] for one in about} == {"all", "male", "female", "NA"}
    unmerged = source(tmp_path / "a.csv", merge="none").statistics()
    assert {one["merged"] for one in unmerged} == {False}
    dropped = source(tmp_path / "a.csv", drop_na=True).statistics()
    assert {one["gender"] for one in dropped} == {"all", "male", "female"}


def test_a_conversation_without_a_speaker_counts_as_none(tmp_path: Path) -> None:
    content = "C_num,UB,User_gender,Original\n1,1,1,a\n1,0,1,b\n2,0,2,c\n2,0,2,d\n"
    found = source(tmp_path / "a.csv", content)
    users = row(found, speaker="user", gender="all", merged=False, prefixed=False)
    assert users["utterances_per_conversation"] == {"mean": 0.5, "min": 0, "max": 1}
    assert users["turns"] == {"mean": 0.5, "min": 0, "max": 1}


def test_a_plain_recount(tmp_path: Path) -> None:
    chance = random.Random(3)
    words = ["The", "cube", "is", "red", "and", "Don't", "stop", "you’re", "here!", "7"]
    rows = [
        (talk, chance.choice("01"), talk % 2 + 1, " ".join(chance.choices(words, k=chance.randint(1, 8))))
        for talk in range(1, 9)
        for _ in range(chance.randint(6, 20))
    ]
    lines = "".join(f"{talk},{who},{gender},{text}\n" for talk, who, gender, text in rows)
    found = source(tmp_path / "a.csv", "C_num,UB,User_gender,Original\n" + lines)
    stops = {"The", "is", "and", "Don't", "you’re", "here!"}
    assert {word.lower().strip("!").replace("’", "'") for word in stops} <= stop_words()
    for speaker, code in (("user", "1"), ("bot", "0")):
        for gender, sex in (("male", 1), ("female", 2)):
            mine = [(talk, text.split()) for talk, who, kind, text in rows if who == code and kind == sex]
            result = row(found, speaker=speaker, gender=gender, merged=False, prefixed=False)
            counts = [len(text) for _, text in mine]
            assert result["words_per_utterance"] == {
                "mean": pytest.approx(statistics.fmean(counts)),
                "min": min(counts),
                "max": max(counts),
            }
            stopped = [sum(word in stops for word in text) for _, text in mine]
            assert result["stopwords"]["mean"] == pytest.approx(statistics.fmean(stopped))
            assert result["stopwords"]["max"] == max(stopped)
            answered: dict[int, int] = defaultdict(int)
            for (talk, who, kind, _), (other, after, *_rest) in pairwise(rows):
                if kind == sex:
                    answered[talk] += (talk, who, after) == (other, "1", "0")
            assert result["turns"]["mean"] == pytest.approx(statistics.fmean(answered.values()))
