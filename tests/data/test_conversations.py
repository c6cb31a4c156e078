"""Conversation tables: layouts, prefixes, merging, and tables that are not as they should be."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trustgauge.data.conversations import ConversationSource
from trustgauge.errors import PlanError
from trustgauge.methods.causal.design import design
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.records import Message
from trustgauge.services.replay import Replay

ALLURE = """C_num,UB,User_gender,Original,Enhancement,Text
1,0,1,Hello there.,,Hello there.
1,1,1,yes,"Hey boy, ","Hey boy, yes"
1,1,1,ok,"Hey boy, ","Hey boy, ok"
1,0,1,The cube is great,,The cube is great
2,1,2,no,"Hey girl, ","Hey girl, no"
2,0,2,,,
2,0,2,Try again,,Try again
2,1,2,fine,"Hey girl, ","Hey girl, fine"
3,1,0,it's me,"Hey, ","Hey, it's me"
3,0,0,good,,good
"""
GENERAL = [
    {"talk": "a/1", "by": "agent", "sex": None, "said": "Hi"},
    {"talk": "a/1", "by": "customer", "sex": "f", "said": "Well"},
    {"talk": "b", "by": "customer", "sex": "M", "said": "So"},
    {"talk": "b", "by": "agent", "sex": "m", "said": "  "},
    {"talk": "a/1", "by": "customer", "sex": "f", "said": "thanks"},
]
MAPPING: dict[str, Any] = {
    "columns": {"conversation": "talk", "speaker": "by", "gender": "sex", "text": "said"},
    "codes": {"speaker": {"agent": "bot", "customer": "user"}, "gender": {"f": "female", "m": "male"}},
}
FACTORS = ["frame", "person", "gender", "race", "word", "valence", "cluster", "covariates"]


def source(path: Path, content: str | bytes = ALLURE, **settings: Any) -> ConversationSource:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return ConversationSource.model_validate({"layout": "allure", "file": path, **settings})


def general(path: Path, **settings: Any) -> ConversationSource:
    return source(path, "\n".join(map(json.dumps, GENERAL)), layout="general", **(MAPPING | settings))


def faulty(path: Path, content: str | bytes = ALLURE, **settings: Any) -> str:
    with pytest.raises(PlanError) as result:
        source(path, content, **settings)
    return str(result.value)


def texts(found: ConversationSource, speaker: str) -> list[str]:
    return found.utterances().filter(pl.col("speaker") == speaker)["text"].to_list()


class TestProbes:
    def test_the_columns_of_the_contract(self, tmp_path: Path) -> None:
        probes = source(tmp_path / "a.csv").probes()
        assert probes.columns == ["id", "message", "session", "turn", "block", *FACTORS]
        kinds = {name: str(kind) for name, kind in probes.schema.items()}
        assert kinds.pop("turn") == "Int64"
        assert set(kinds.values()) == {"String"}
        assert probes["id"].is_unique().all()
        assert probes.select("block", "frame", "person", "word").is_unique().all()
        assert set(probes["block"]) == {"conversation-user/all", "conversation-bot/all"}
        assert probes.row(0, named=True) | {"turn": 0} == {
            "id": "cu-C01-001-male",
            "message": "Hey boy, yes ok",
            "session": "",
            "turn": 0,
            "block": "conversation-user/all",
            "frame": "C01-u001",
            "person": "male",
            "gender": "male",
            "race": "NA",
            "word": "",
            "valence": "",
            "cluster": "C01",
            "covariates": "",
        }

    def test_crossed_puts_every_user_text_behind_every_prefix(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv")
        users = found.probes().filter(pl.col("block") == "conversation-user/all")
        wanted = [
            prefix + text
            for text in ("yes ok", "no", "fine", "it's me")
            for prefix in ("Hey boy, ", "Hey girl, ", "Hey, ")
        ]
        assert users["message"].to_list() == wanted
        assert users["person"].to_list() == ["male", "female", "NA"] * 4

    def test_assigned_uses_the_prefix_of_the_own_gender(self, tmp_path: Path) -> None:
        users = source(tmp_path / "a.csv", proxy="assigned", speakers=["user"]).probes()
        assert users["message"].to_list() == [
            "Hey boy, yes ok",
            "Hey girl, no",
            "Hey girl, fine",
            "Hey, it's me",
        ]
        assert users["cluster"].to_list() == ["C01", "C02", "C02", "C03"]

    @pytest.mark.parametrize("proxy", ["crossed", "assigned"])
    def test_bot_texts_have_no_prefix_and_stay_assigned(self, tmp_path: Path, proxy: str) -> None:
        bots = source(tmp_path / "a.csv", proxy=proxy, speakers=["bot"]).probes()
        assert bots["message"].to_list() == ["Hello there.", "The cube is great", "Try again", "good"]
        assert bots["person"].to_list() == ["male", "male", "female", "NA"]
        assert bots["frame"].to_list() == ["C01-b001", "C01-b002", "C02-b001", "C03-b001"]

    def test_users_without_gender_are_dropped_when_asked(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", drop_na=True)
        assert found.probes()["cluster"].unique().sort().to_list() == ["C01", "C02"]
        assert set(found.probes()["person"]) == {"male", "female"}
        assert found.counts() == {
            "rows": 10,
            "without_text": 1,
            "without_gender": 2,
            "utterances": 7,
            "conversations": 2,
        }

    def test_prefixes_are_settable(self, tmp_path: Path) -> None:
        users = source(
            tmp_path / "a.csv", prefixes={"female": "Madam: ", "male": "Sir: "}, speakers=["user"]
        ).probes()
        assert users["message"].to_list()[:2] == ["Sir: yes ok", "Madam: yes ok"]
        assert len(users) == 8


class TestMerging:
    def test_within_never_crosses_a_border(self, tmp_path: Path) -> None:
        assert texts(source(tmp_path / "a.csv"), "user") == ["yes ok", "no", "fine", "it's me"]

    def test_released_also_joins_across_borders(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", merge="released")
        assert texts(found, "user") == ["yes ok", "no", "fine it's me"]
        assert found.utterances()["conversation"].to_list()[-2:] == ["C02", "C03"]

    def test_none(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", merge="none")
        assert texts(found, "user") == ["yes", "ok", "no", "fine", "it's me"]
        assert found.probes()["frame"][3] == "C01-u002"

    @given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("01"), st.sampled_from("abc")), min_size=1))
    def test_joining_keeps_every_word_and_alternates(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str, str]]
    ) -> None:
        path = tmp_path_factory.mktemp("talks") / "a.csv"
        rows = [*rows, (1, "0", "z"), (1, "1", "z")]
        lines = "".join(f"{number},{who},{number % 3},{text}\n" for number, who, text in rows)
        found = source(path, "C_num,UB,User_gender,Original\n" + lines)
        before, after = found.utterances(merged=False), found.utterances()
        for name in before["conversation"].unique():
            said = [one.filter(pl.col("conversation") == name) for one in (before, after)]
            assert " ".join(said[0]["text"]) == " ".join(said[1]["text"])
            speakers = said[1]["speaker"].to_list()
            assert all(one != two for one, two in pairwise(speakers))


class TestLayouts:
    def test_general_reads_what_the_plan_maps(self, tmp_path: Path) -> None:
        found = general(tmp_path / "a.jsonl")
        assert found.utterances().rows() == [
            ("a/1", "bot", "female", "Hi"),
            ("a/1", "user", "female", "Well thanks"),
            ("b", "user", "male", "So"),
        ]
        assert found.counts()["without_text"] == 1

    def test_tab_separated(self, tmp_path: Path) -> None:
        content = ALLURE.replace('"', "").replace(", ", " ").replace(",", "\t")
        assert texts(source(tmp_path / "a.tsv", content), "user") == ["yes ok", "no", "fine", "it's me"]
        other = source(tmp_path / "a.csv", content.replace("\t", ";"), separator=";")
        assert texts(other, "bot")[-1] == "good"

    def test_unibot_splits_fields_and_says_intents_in_words(self, tmp_path: Path) -> None:
        content = (
            "C_num,UB,Original\n"
            "1,1,/ask_fees|please|<end>\n1,0,It is 100 <END>\n1,1,<end>\n"
            "2,1,hello\n2,0,/greet | friend\n3,1,bye\n3,0,ok\n"
        )
        settings = {"layout": "unibot", "intents": {"/ask_fees": "what are the fees", "/greet": "Hello"}}
        found = source(tmp_path / "a.csv", content, **settings)
        assert texts(found, "user") == ["what are the fees please", "hello", "bye"]
        assert texts(found, "bot") == ["It is 100", "Hello friend", "ok"]
        assert found.utterances()["gender"].to_list()[::2] == ["NA", "male", "female"]

    def test_unibot_gives_the_released_shares_by_order(self, tmp_path: Path) -> None:
        rows = "".join(f"{number},1,a\n{number},0,b\n" for number in range(1, 32))
        found = source(tmp_path / "a.csv", "C_num,UB,Original\n" + rows, layout="unibot", proxy="assigned")
        users = found.probes().filter(pl.col("block") == "conversation-user/all")
        assert users["person"].to_list() == ["NA"] * 11 + ["male"] * 10 + ["female"] * 10
        assert users["message"].to_list()[10:12] == ["Hey, a", "Hey boy, a"]

    def test_without_a_column_of_genders_nobody_has_one(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", columns={"gender": ""})
        assert set(found.utterances()["gender"]) == {"NA"}
        shares = source(tmp_path / "a.csv", columns={"gender": ""}, by_order=[["female", 1], ["male", 2]])
        assert shares.utterances()["gender"].unique(maintain_order=True).to_list() == ["female", "male"]

    def test_codes_written_as_decimals(self, tmp_path: Path) -> None:
        content = ALLURE.replace("1,0,1,", "1.0,0.0,1.0,").replace("1,1,1,", "1.0,1.0,1.0,")
        path = tmp_path / "a.csv"
        assert source(path, content).utterances().equals(source(path).utterances())


class TestIdentity:
    def test_the_content_stands_for_the_place(self, tmp_path: Path) -> None:
        one, other = source(tmp_path / "a.csv"), source(tmp_path / "b.csv")
        assert one.identity() == other.identity()
        assert one.identity()["content"] == one.content
        assert str(tmp_path) not in json.dumps(one.identity())
        assert source(tmp_path / "b.csv", ALLURE.replace("good", "bad")).identity() != one.identity()
        assert source(tmp_path / "b.csv", proxy="assigned").identity() != one.identity()

    def test_relative_to_the_plan_and_read_again_from_a_kept_plan(self, tmp_path: Path) -> None:
        source(tmp_path / "a.csv")
        table = {"layout": "allure", "file": "a.csv"}
        found = ConversationSource.model_validate(table, context={"folder": tmp_path})
        kept = json.loads(found.model_dump_json())
        assert ConversationSource.model_validate(kept) == found

    def test_a_changed_file_is_not_the_one_that_was_rated(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv")
        kept = found.model_dump()
        (tmp_path / "a.csv").write_text(ALLURE.replace("good", "bad"))
        with pytest.raises(PlanError, match="not the one that was rated") as result:
            ConversationSource.model_validate(kept)
        assert result.value.faults[0].place == "conversations.file"
        with pytest.raises(PlanError, match="not the one that was rated"):
            found.model_copy(update={"proxy": "assigned"}).probes()


class TestFaults:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (ALLURE.encode().replace(b"fine", b"fa\xe7on"), "unreadable byte in line 9"),
            (ALLURE.replace("Original", "Said"), 'no column "Original" in a.csv'),
            (ALLURE.replace("2,1,2,fine", "2,1,7,fine"), "unknown gender in row 8. Must be one of: 0, 1, 2"),
            (ALLURE.replace("2,1,2,fine", "2,5,2,fine"), "unknown speaker in row 8"),
            (ALLURE.replace("2,1,2,fine", "2,,2,fine"), "Got an empty cell"),
            (ALLURE.replace("2,1,2,fine", ",1,2,fine"), "no conversation in row 8"),
            (
                ALLURE.replace("2,1,2,fine", "2,1,1,fine"),
                'conversation "2" has two genders, in rows 5 and 8',
            ),
            (ALLURE.replace(",0,", ",1,"), "no texts of the bot"),
            ("C_num,UB,User_gender,Original\n", "the file has no rows"),
            ("C_num,UB,User_gender,Original\n1,1,1,\n", "no texts of the user and the bot"),
            ("", "cannot be read as csv"),
        ],
    )
    def test_tables_in_words_with_rows(self, tmp_path: Path, content: str | bytes, words: str) -> None:
        assert words in faulty(tmp_path / "a.csv", content)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"separator": "::"}, "one ASCII character"),
            ({"columns": {"text": ""}}, "no column named"),
            ({"codes": {"speaker": {"0": "robot"}}}, "one of: user, bot"),
            ({"codes": {"gender": {"1": "man"}}}, "one of: male, female, NA"),
            ({"intents": {"a": "b"}}, "only the layout unibot"),
            ({"by_order": [["NA", 1]]}, "the genders are in a column"),
            ({"columns": {"gender": ""}, "by_order": [["NA", 0]]}, "no shares"),
            ({"prefixes": {"male": "Hey, ", "NA": "Hey, "}}, "two classes have the same prefix"),
            ({"prefixes": {}}, "no prefix"),
            ({"prefixes": {"male": "a ", "female": "b "}, "proxy": "assigned"}, "set `drop_na = true`"),
            ({"speakers": ["bot", "bot"]}, "named twice"),
        ],
    )
    def test_settings(self, tmp_path: Path, settings: dict[str, Any], words: str) -> None:
        assert words in faulty(tmp_path / "a.csv", ALLURE, **settings)

    def test_files_that_cannot_be_read(self, tmp_path: Path) -> None:
        for name, words in (("no.csv", "cannot be read"), ("no.xlsx", "unknown kind of file")):
            with pytest.raises(PlanError, match=words):
                ConversationSource(layout="allure", file=tmp_path / name)
        assert "line 2 is not a JSON object" in faulty(tmp_path / "a.jsonl", '{"C_num": 1}\n[1]\n')

    def test_unknown_settings_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValidationError):
            source(tmp_path / "a.csv", proxi="crossed")


SCORED = """C_num,UB,User_gender,Text,Sentiment
1,0,1,"Hello, welcome!",0.5
1,1,1,"Hey boy, Level 1",0.25
1,0,1,Well done!,1
2,0,2,"Hello, welcome!",-0.5
2,1,2,"Hey girl, Level 1",-0.25
"""
"""Scores of conversations as the authors' files are laid out; texts and scores are invented."""


@pytest.mark.parametrize("texts", [True, False])
def test_the_scores_of_conversations_are_answers_of_a_recorded_service(tmp_path: Path, texts: bool) -> None:
    """With texts, or several systems as columns and no text."""
    table = pl.read_csv(SCORED.encode(), infer_schema=False).with_columns(eng_gru=pl.col("Sentiment"))
    file = tmp_path / "gru.csv"
    (table if texts else table.drop("Text", "Sentiment")).write_csv(file)
    one = ConversationSource(layout="scores", file=file)
    kept = tmp_path / "recorded.csv"
    one.recorded_answers().write_csv(kept)
    service = Replay(file=kept, task="score", text="text", draw="draw", output="eng_gru")
    (user, bot) = design(CausalSettings(method="causal", services=("kept",), conversations=one), 1)
    assert user["message"].to_list() == (
        ["Hey boy, Level 1", "Hey girl, Level 1"] if texts else ["row 2", "row 5"]
    )
    assert user["gender"].to_list() == ["male", "female"]
    asked = [
        Message(text, draw=draw)
        for text, draw in pl.concat([user, bot]).select("message", "draw").iter_rows()
    ]
    replies = asyncio.run(service.open().ask(asked))
    assert [float(reply.output) for reply in replies] == [0.25, -0.25, 0.5, 1.0, -0.5]


def test_the_texts_of_score_files_stay_as_they_were_scored(tmp_path: Path) -> None:
    file = tmp_path / "gru.csv"
    file.write_text(SCORED)
    with pytest.raises(PlanError, match="stay as they were scored"):
        ConversationSource(layout="scores", file=file, proxy="crossed")


@pytest.mark.parametrize("rule", ["sound", "published", "released"])
def test_score_files_of_conversations_are_rated_by_every_rule(tmp_path: Path, rule: str) -> None:
    file = tmp_path / "gru.csv"
    file.write_text(SCORED)
    settings = {"method": "causal", "services": ["kept"], "rule": rule}
    read = CausalSettings.model_validate(
        {**settings, "conversations": {"layout": "scores", "file": str(file)}}
    )
    assert read.conversations is not None
    assert (read.conversations.proxy, read.conversations.merge) == ("assigned", "none")
