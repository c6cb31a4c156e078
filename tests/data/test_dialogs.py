"""Recorded dialogs: layouts, turns, and files that are not as they should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from trustgauge.data import dialogs
from trustgauge.data.dialogs import TURNS, DialogSource, columns_by_name
from trustgauge.errors import PlanError

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "service_dialogues" / "test"
TABLE = """dialog,speaker,text
a,user,Hi
a,user,Anybody there?
a,bot,"Yes, I am."
b,bot,Welcome!
a,bot,What can I do?
b,user,Book a table
a,user,Nothing
"""
GUIDED = [
    {
        "dialogue_id": "1_0",
        "services": ["Restaurants_1"],
        "turns": [
            {"speaker": "USER", "utterance": "A table for two", "frames": []},
            {"speaker": "SYSTEM", "utterance": "  When? \n"},
            {"speaker": "USER", "utterance": "At 8"},
            {"speaker": "SYSTEM", "utterance": ""},
            {"speaker": "USER", "utterance": "Hello?"},
        ],
    },
    {"dialogue_id": "1_1", "turns": [{"speaker": "SYSTEM", "utterance": "Hello \ud800 there"}]},
]


def source(path: Path, content: str | bytes = TABLE, **settings: Any) -> DialogSource:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return DialogSource.model_validate({"file": path, **settings})


def faulty(path: Path, content: str | bytes, **settings: Any) -> str:
    with pytest.raises(PlanError) as result:
        source(path, content, **settings)
    return str(result.value)


def rows(found: DialogSource) -> list[tuple[Any, ...]]:
    return found.read().rows()


class TestTurns:
    def test_a_turn_is_what_the_user_said_then_what_the_bot_said(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv")
        assert found.read().schema == TURNS
        assert rows(found) == [
            ("a", 0, ["Hi", "Anybody there?"], ["Yes, I am.", "What can I do?"]),
            ("a", 1, ["Nothing"], []),
            ("b", 0, [], ["Welcome!"]),
            ("b", 1, ["Book a table"], []),
        ]
        assert found.report() == {
            "rows": 7,
            "left_out": 0,
            "without_text": 0,
            "dialogs": 2,
            "turns": 4,
            "user": 4,
            "bot": 3,
        }

    def test_a_silent_bot_still_ends_the_turn(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", "dialog,speaker,text\na,user,Hi\na,bot,\na,user,Hi?\na,bot,Yes\n")
        assert rows(found) == [("a", 0, ["Hi"], []), ("a", 1, ["Hi?"], ["Yes"])]
        assert found.report()["without_text"] == 1

    def test_a_turn_without_any_text_is_left_out(self, tmp_path: Path) -> None:
        text = "dialog,speaker,text\na,user, \na,bot,\na,user,Hi\na,bot,Yes\n"
        assert rows(source(tmp_path / "a.csv", text)) == [("a", 0, ["Hi"], ["Yes"])]

    def test_one_sided_dialogs_stay_if_the_bot_speaks_somewhere(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", "dialog,speaker,text\na,user,Hi\nb,bot,Yes\n")
        assert rows(found) == [("a", 0, ["Hi"], []), ("b", 0, [], ["Yes"])]

    @given(
        st.lists(
            st.tuples(
                st.sampled_from("ab"),
                st.sampled_from(["user", "bot"]),
                st.text("xy ", min_size=0, max_size=3),
            ),
            min_size=1,
            max_size=20,
        )
    )
    def test_nothing_is_lost_added_or_moved(
        self, tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, str]]
    ) -> None:
        said = [*said, ("b", "bot", "z")]
        lines = [json.dumps({"dialog": one, "speaker": who, "text": text}) for one, who, text in said]
        turns = source(tmp_path_factory.mktemp("dialogs") / "a.jsonl", "\n".join(lines)).read()
        for name in "ab":
            here = turns.filter(dialog=name)
            assert here["turn"].to_list() == list(range(len(here)))
            flat = [
                (who, text)
                for user, bot in here.select("user", "bot").iter_rows()
                for who, texts in (("user", user), ("bot", bot))
                for text in texts
            ]
            assert flat == [(who, text.strip()) for one, who, text in said if one == name and text.strip()]
            assert all(user or bot for user, bot in here.select("user", "bot").iter_rows())


class TestTables:
    def test_columns_and_speakers_of_the_plan(self, tmp_path: Path) -> None:
        text = "talk;by;said;n\nx;Clerk;late;2\nx;caller;early;1\n"
        found = source(
            tmp_path / "a.csv",
            text,
            separator=";",
            columns={"dialog": "talk", "speaker": "by", "text": "said", "turn": "n"},
            speakers={"clerk": "bot", "Caller": "user"},
        )
        assert rows(found) == [("x", 0, ["early"], ["late"])]

    def test_one_number_for_both_puts_the_user_first(self, tmp_path: Path) -> None:
        lines = [
            {"dialog": 7, "speaker": "assistant", "text": "two", "turn": 10},
            {"dialog": 7, "speaker": "human", "text": "one", "turn": 10},
            {"dialog": 7, "speaker": "assistant", "text": "zero", "turn": 9},
        ]
        text = "\n".join(map(json.dumps, lines))
        found = source(tmp_path / "a.jsonl", text, columns={"turn": "turn"})
        assert rows(found) == [("7", 0, [], ["zero"]), ("7", 1, ["one"], ["two"])]

    def test_a_number_that_occurs_twice(self, tmp_path: Path) -> None:
        text = "dialog,speaker,text,turn\na,user,x,1\na,bot,y,1\na,bot,z,1.0\n"
        message = faulty(tmp_path / "a.csv", text, columns={"turn": "turn"})
        assert 'dialog "a" has turn 1 of the bot twice, in rows 2, 3' in message
        assert "name no such column" in message

    def test_columns_of_the_usual_names_are_found(self, tmp_path: Path) -> None:
        cells = ("a,bot,,2,failed", "a,bot,one,1,", "a,user,zero,1,", "a,user,two,2,")
        text = "\n".join(("dialog,speaker,text,turn,status", *cells))
        found = columns_by_name(source(tmp_path / "a.csv", text))
        assert found == {"turn": "turn", "status": "status"}
        read = source(tmp_path / "a.csv", text, columns=found)
        assert rows(read) == [("a", 0, ["zero"], ["one"]), ("a", 1, ["two"], [])]
        assert read.missing() == {("a", 1)}
        assert columns_by_name(read) == {}

    def test_numbers_that_agree_with_the_file_and_words_are_left_alone(self, tmp_path: Path) -> None:
        said = ["bot,one", "bot,more", "user,two"]
        for numbers in (("1", "1", "1"), ("first", "second", "third")):
            lines = "".join(f"a,{one},{number}\n" for one, number in zip(said, numbers, strict=True))
            assert columns_by_name(source(tmp_path / "a.csv", f"dialog,speaker,text,turn\n{lines}")) == {}

    def test_a_number_that_is_none(self, tmp_path: Path) -> None:
        text = "dialog,speaker,text,turn\na,user,x,1\na,bot,y,one\na,bot,y,\na,bot,y,nan\n"
        message = faulty(tmp_path / "a.csv", text, columns={"turn": "turn"})
        assert "no number in rows 2, 3, 4" in message
        assert 'Got "one"' in message

    def test_rows_out_of_order_are_taken_by_their_numbers(self, tmp_path: Path) -> None:
        text = "dialog,speaker,text,turn\na,bot,y,2\na,user,x,1\na,bot,z,4\na,user,w,3\n"
        assert rows(source(tmp_path / "a.csv", text)) == [("a", 0, ["x"], ["y"]), ("a", 1, ["w"], ["z"])]
        again = "dialog,speaker,text,turn\na,user,x,2\na,bot,y,1\na,user,z,2\na,bot,w,1\n"
        assert rows(source(tmp_path / "b.csv", again)) == [("a", 0, ["x"], ["y"]), ("a", 1, ["z"], ["w"])]
        some = "dialog,speaker,text,turn\na,user,x,2\na,bot,y,1\na,user,z,\na,bot,w,\n"
        assert rows(source(tmp_path / "c.csv", some)) == [("a", 0, ["x"], ["y"]), ("a", 1, ["z"], ["w"])]

    def test_a_table_with_numbers_of_turns_and_without_dialogs_is_refused(self, tmp_path: Path) -> None:
        assert 'no column "dialog"' in faulty(tmp_path / "a.csv", "speaker,text,turn\nbot,y,2\nuser,x,1\n")

    def test_answers_marked_as_failed_are_missing_though_the_plan_names_no_column(
        self, tmp_path: Path
    ) -> None:
        text = (
            "dialog,speaker,text,status\na,user,x,\na,bot,,failed\na,user,w,\na,bot,z,\nb,user,v,\nb,bot,,\n"
        )
        assert source(tmp_path / "a.csv", text).missing() == {("a", 0)}

    @pytest.mark.parametrize("bot", ["assistant", "Agent", "bot", "clerk"])
    def test_orders_are_not_what_the_bot_says(self, tmp_path: Path, bot: str) -> None:
        """A bot whose orders forbid insults was rated by the insults in its orders."""
        said = (("system", "Never say idiot."), ("user", "Hi"), (bot, "Hello"), ("System", "Be brief."))
        lines = "".join(f"{dialog},{who},{text}\n" for dialog in "ab" for who, text in said)
        found = source(tmp_path / "a.csv", f"dialog,speaker,text\n{lines}", speakers={"clerk": "bot"})
        assert rows(found) == [("a", 0, ["Hi"], ["Hello"]), ("b", 0, ["Hi"], ["Hello"])]
        assert (found.report()["rows"], found.report()["left_out"]) == (8, 4)

    def test_where_nobody_else_is_the_bot_the_system_is(self, tmp_path: Path) -> None:
        found = source(tmp_path / "a.csv", "dialog,speaker,text\na,user,Hi\na,SYSTEM,Hello\n")
        assert rows(found) == [("a", 0, ["Hi"], ["Hello"])]

    def test_what_tools_say_to_an_assistant_is_neither_side(self, tmp_path: Path) -> None:
        said = (("developer", "x"), ("user", "Hi"), ("function", "z"), ("tool", "y"), ("assistant", "Hello"))
        lines = "".join(f"a,{who},{text}\n" for who, text in said)
        assert rows(source(tmp_path / "a.csv", f"dialog,speaker,text\n{lines}")) == [
            ("a", 0, ["Hi"], ["Hello"])
        ]
        named = source(tmp_path / "b.csv", f"dialog,speaker,text\n{lines}", speakers={"tool": "bot"})
        assert rows(named) == [("a", 0, ["Hi"], ["y", "Hello"])]
        message = faulty(tmp_path / "c.csv", "dialog,speaker,text\na,user,Hi\na,tool,y\na,bot,Hello\n")
        assert "unknown speaker in row 2" in message

    def test_an_unknown_speaker(self, tmp_path: Path) -> None:
        message = faulty(tmp_path / "a.csv", "dialog,speaker,text\na,user,x\na,it,y\na,bot,y\na,it,z\n")
        assert "a.csv: unknown speaker in rows 2, 4" in message
        assert 'Got "it". Say in `speakers`' in message
        assert "an empty cell" in faulty(tmp_path / "a.csv", "dialog,speaker,text\na,,x\n")

    def test_a_row_without_dialog(self, tmp_path: Path) -> None:
        assert "no dialog in row 2" in faulty(tmp_path / "a.csv", "dialog,speaker,text\na,bot,x\n,user,y\n")

    def test_a_column_that_is_not_there(self, tmp_path: Path) -> None:
        message = faulty(tmp_path / "a.csv", "dialog,who,text\na,bot,x\n")
        assert 'dialogs.columns.speaker: no column "speaker" in a.csv' in message
        assert "no column named" in faulty(tmp_path / "a.csv", TABLE, columns={"text": ""})
        assert "no such column" in faulty(tmp_path / "a.csv", TABLE, columns={"question": "text"})

    @pytest.mark.parametrize("content", ["", "dialog,speaker,text\n", b"\xff\xfe\x00", "a,b\n1,2,3\n"])
    def test_files_that_hold_no_table(self, tmp_path: Path, content: str | bytes) -> None:
        assert "a.csv" in faulty(tmp_path / "a.csv", content)

    def test_a_byte_order_mark_is_no_part_of_the_first_column(self, tmp_path: Path) -> None:
        assert len(source(tmp_path / "a.csv", b"\xef\xbb\xbf" + TABLE.encode()).read()) == 4

    def test_another_encoding_is_told_by_its_line(self, tmp_path: Path) -> None:
        message = faulty(tmp_path / "a.csv", "dialog,speaker,text\na,bot,né\n".encode("latin-1"))
        assert "the file is not UTF-8" in message
        assert "line 2" in message

    def test_nobody_answers(self, tmp_path: Path) -> None:
        message = faulty(tmp_path / "a.csv", "dialog,speaker,text\na,user,Hi\na,bot,\n")
        assert "the bot says nothing" in message
        assert "1 user, 0 bot" in message

    def test_an_endless_utterance(self, tmp_path: Path) -> None:
        text = "dialog,speaker,text\na,user,Hi\na,bot," + "x" * dialogs.LONGEST
        assert len(source(tmp_path / "a.csv", text).read()["bot"][0][0]) == dialogs.LONGEST
        assert "utterance 2 is too long" in faulty(tmp_path / "a.csv", text + "x")


class TestQuestions:
    def test_a_row_is_a_dialog(self, tmp_path: Path) -> None:
        text = "question,answer\nWhat?,That.\nWhy?,\n,Hello\n"
        found = source(tmp_path / "a.csv", text, layout="qa")
        assert rows(found) == [
            ("1", 0, ["What?"], ["That."]),
            ("2", 0, ["Why?"], []),
            ("3", 0, [], ["Hello"]),
        ]

    def test_json_lines_with_other_names(self, tmp_path: Path) -> None:
        found = source(
            tmp_path / "a.jsonl",
            '{"q": "What?", "a": "That."}',
            layout="qa",
            columns={"question": "q", "answer": "a"},
        )
        assert rows(found) == [("1", 0, ["What?"], ["That."])]


class TestSchemaGuided:
    def test_the_layout(self, tmp_path: Path) -> None:
        found = source(tmp_path / "dialogues_001.json", json.dumps(GUIDED))
        assert found.layout == "schema-guided"
        assert rows(found) == [
            ("1_0", 0, ["A table for two"], ["When?"]),
            ("1_0", 1, ["At 8"], []),
            ("1_0", 2, ["Hello?"], []),
            ("1_1", 0, [], ["Hello ? there"]),
        ]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "the file is not JSON"),
            ("[" * 100_000, "the file is not JSON"),
            ("{}", "not a list of dialogs"),
            ("[1]", "dialog 1 is no dialog"),
            ('[{"dialogue_id": "", "turns": []}]', "dialog 1 is no dialog"),
            ('[{"dialogue_id": "a", "turns": [{"speaker": "BOT"}]}]', 'turn 0 of dialog "a"'),
            (
                '[{"dialogue_id": "a", "turns": [{"speaker": "USER", "utterance": 1}]}]',
                'turn 0 of dialog "a"',
            ),
            ('[{"dialogue_id": "a", "turns": [["USER"]]}]', 'turn 0 of dialog "a"'),
            (
                '[{"dialogue_id": "a", "turns": []}, {"dialogue_id": "a", "turns": []}]',
                "two dialogs are named",
            ),
            ('[{"dialogue_id": "a", "turns": []}]', "the bot says nothing"),
            ("[]", "the bot says nothing"),
        ],
    )
    def test_files_of_another_form(self, tmp_path: Path, content: str, message: str) -> None:
        assert message in faulty(tmp_path / "a.json", content)

    @pytest.mark.parametrize("field", ["messages", "conversations"])
    def test_whole_conversations_are_imported_instead(self, tmp_path: Path, field: str) -> None:
        said = {"id": "a", field: [{"role": "user", "content": "Hi"}]}
        found = faulty(tmp_path / "a.json", json.dumps([said]))
        assert "dialog 1 is no dialog" in found
        assert "trustgauge import openai-jsonl FILE" in found
        found = faulty(tmp_path / "a.jsonl", json.dumps(said))
        assert (
            f'each line is a whole conversation. Must be an utterance a line. Got the column "{field}"'
            in found
        )
        assert "trustgauge import openai-jsonl FILE" in found

    def test_a_column_called_messages_may_be_that_of_texts(self, tmp_path: Path) -> None:
        row = json.dumps({"dialog": "1", "speaker": "bot", "messages": "Hi"})
        assert 'no column "text"' in faulty(tmp_path / "a.jsonl", row)
        found = source(tmp_path / "b.jsonl", row, columns={"text": "messages"})
        assert rows(found) == [("1", 0, [], ["Hi"])]

    def test_speakers_that_cannot_be_hashed(self, tmp_path: Path) -> None:
        content = '[{"dialogue_id": "a", "turns": [{"speaker": ["USER"], "utterance": "x"}]}]'
        assert "cannot be read" in faulty(tmp_path / "a.json", content)


class TestFiles:
    def test_dialogs_of_several_files_stay_apart(self, tmp_path: Path) -> None:
        source(tmp_path / "b.csv", "dialog,speaker,text\n1,bot,second\n")
        source(tmp_path / "a.csv", "dialog,speaker,text\n1,bot,first\n2,bot,other\n")
        (tmp_path / "notes.md").write_text("no dialogs")
        found = DialogSource(file=tmp_path)
        assert [one.name for one in found.files] == ["a.csv", "b.csv"]
        assert rows(found) == [
            ("1/1", 0, [], ["first"]),
            ("1/2", 0, [], ["other"]),
            ("2/1", 0, [], ["second"]),
        ]
        named = DialogSource(file=(tmp_path / "b.csv", tmp_path / "a.csv"))
        assert named.read()["bot"].to_list() == [["second"], ["first"], ["other"]]

    def test_names_that_differ_are_kept(self, tmp_path: Path) -> None:
        source(tmp_path / "a.csv", "dialog,speaker,text\n1,bot,first\n")
        source(tmp_path / "b.csv", "dialog,speaker,text\n2,bot,second\n")
        assert DialogSource(file=tmp_path).read()["dialog"].to_list() == ["1", "2"]

    def test_a_schema_is_no_dialog(self, tmp_path: Path) -> None:
        (tmp_path / "schema.json").write_text('[{"service_name": "Hotels_1"}]')
        source(tmp_path / "dialogues_001.json", json.dumps(GUIDED))
        assert len(DialogSource(file=tmp_path).read()) == 4

    def test_an_empty_folder_and_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(PlanError, match="the folder contains no dialogs"):
            DialogSource(file=tmp_path)
        with pytest.raises(PlanError, match="no file is named"):
            DialogSource(file=())
        with pytest.raises(PlanError, match="cannot be read"):
            DialogSource(file=tmp_path / "absent.csv")
        with pytest.raises(PlanError, match="does not show the layout"):
            source(tmp_path / "a.xml", "<a/>")

    def test_paths_are_those_of_the_plan(self, tmp_path: Path) -> None:
        source(tmp_path / "a.csv")
        found = DialogSource.model_validate({"file": ["a.csv"]}, context={"folder": tmp_path})
        assert found.files == (tmp_path / "a.csv",)

    def test_the_identity_is_what_the_files_hold(self, tmp_path: Path) -> None:
        one = source(tmp_path / "a.csv")
        (tmp_path / "other").mkdir()
        same = source(tmp_path / "other" / "b.csv")
        changed = source(tmp_path / "c.csv", TABLE + "b,bot,Done\n")
        assert one.identity() == same.identity() != changed.identity()
        again = DialogSource.model_validate({"file": same.file, **one.identity()})
        assert again.read().equals(one.read())

    def test_changed_files_are_refused(self, tmp_path: Path) -> None:
        one = source(tmp_path / "a.csv")
        source(tmp_path / "a.csv", TABLE + "b,bot,Done\n")
        with pytest.raises(PlanError, match="not the one that was rated"):
            DialogSource(file=tmp_path / "a.csv", content=one.content)

    def test_settings_of_other_names_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValidationError):
            source(tmp_path / "a.csv", TABLE, colums={})
        assert "no separator" in faulty(tmp_path / "a.csv", TABLE, separator="::")


def test_a_hundred_thousand_turns(tmp_path: Path) -> None:
    n = 100_000
    number = pl.int_range(2 * n, eager=True)
    table = pl.DataFrame(
        {
            "dialog": (number // 20).cast(pl.String),
            "speaker": ["user", "bot"] * n,
            "text": number.cast(pl.String) + " words of an utterance",
        }
    )
    table.write_csv(tmp_path / "a.csv")
    found = DialogSource(file=tmp_path / "a.csv")
    assert found.report()["turns"] == n
    assert found.read()["turn"].max() == 9


def test_real_dialogs() -> None:
    if not BESIDE.is_dir():
        pytest.skip("the service dialogues are not in TRUSTGAUGE_SHARED_DATA (service_dialogues)")
    found = DialogSource(file=BESIDE)
    assert found.report() == {
        "rows": 4470,
        "left_out": 0,
        "without_text": 1,
        "dialogs": 384,
        "turns": 2235,
        "user": 2235,
        "bot": 2234,
    }
    first = found.read().row(0, named=True)
    assert first["dialog"] == "1_00000"
    assert first["user"] == ["Hi, could you get me a restaurant booking on the 8th please?"]
    assert first["bot"] == ["Any preference on the restaurant, location and time?"]
