"""Dialogs out of chat logs: who talks with whom, who asked, and what belongs to none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.data.dialog_threads import LogLine, lines_of, threads
from trustgauge.data.dialogs import DialogSource
from trustgauge.errors import PlanError

LOG = """=== ann [n=ann@host] has joined #channel
[12:00] <ann> how do I mount a disk?
[12:00] <eve> nice weather
[12:01] <@Bob> Ann: with mount
[12:02] <cid> ann, or click on it
[12:03] <ann> bob: mount what?
[12:03] * bob thinks
[12:04] <bob> the device
[12:05] <ann> cid: click where?
[12:06] <dan> zoe: hello
[12:50] <bob> ann: still there?
[12:51] <ann> bob: yes
"""


def dialogs(text: str, **settings: int) -> list[tuple[str, list[tuple[str, str]]]]:
    found = threads(list(lines_of(text)), **{"answer_within": 3, "silence": 30, **settings})
    return [(one.user, one.said) for one in found]


class TestThreads:
    def test_who_asked_is_the_user_with_each_who_answers(self) -> None:
        first, second, third = dialogs(LOG)
        assert first == (
            "ann",
            [
                ("ann", "how do I mount a disk?"),
                ("bob", "with mount"),
                ("ann", "mount what?"),
                ("bob", "the device"),
            ],
        )
        assert second == (
            "ann",
            [("ann", "how do I mount a disk?"), ("cid", "or click on it"), ("ann", "click where?")],
        )
        assert third == ("bob", [("bob", "still there?"), ("ann", "yes")])

    def test_a_longer_silence_keeps_the_dialog(self) -> None:
        (_, said), _ = dialogs(LOG, silence=60)
        assert said[-2:] == [("bob", "still there?"), ("ann", "yes")]

    def test_an_answer_that_comes_too_late_opens_a_dialog_of_its_own(self) -> None:
        log = "[12:00] <ann> anyone?\n[12:10] <bob> ann: me\n[12:11] <ann> bob: thanks\n"
        assert dialogs(log) == [("bob", [("bob", "me"), ("ann", "thanks")])]
        assert dialogs(log, answer_within=10)[0][0] == "ann"

    def test_who_talks_with_two_must_say_whom_he_means(self) -> None:
        log = (
            "[1:00] <a> b: x\n[1:00] <b> a: y\n[1:01] <a> c: x\n[1:01] <c> a: y\n[1:02] <a> which?\n"
            "[1:02] <c> mine\n"
        )
        assert [len(said) for _, said in dialogs(log)] == [2, 3]

    def test_midnight_passes(self) -> None:
        lines = list(lines_of("[23:59] <ann> x?\n[00:01] <bob> ann: y\n[00:00:30] <ann> z\n"))
        assert [line.minute for line in lines] == [1439, 1441, 2880]

    def test_colours_and_marks_of_rank_are_no_text(self) -> None:
        assert list(lines_of("[1:02] <+Ann> \x0304,01red\x0f \x02bold\x02")) == [
            LogLine(62, "ann", "red bold")
        ]

    def test_an_address_is_a_nick_of_the_log(self) -> None:
        log = "[1:00] <a> note: read this\n[1:00] <b> a: which?\n[1:01] <a> http://x\n"
        assert dialogs(log) == [("a", [("a", "note: read this"), ("b", "which?"), ("a", "http://x")])]

    @given(
        st.lists(
            st.tuples(st.integers(0, 50), st.sampled_from("abcd"), st.sampled_from(["", "a: ", "b, ", "c: "]))
        )
    )
    def test_dialogs_are_of_two_and_in_the_order_of_the_log(self, said: list[tuple[int, str, str]]) -> None:
        minute, lines = 0, []
        for number, (gap, nick, to) in enumerate(said):
            minute += gap
            lines.append(LogLine(minute, nick, f"{to}{number}"))
        found = threads(lines, answer_within=3, silence=30)
        for one in found:
            assert len({who for who, _ in one.said}) == 2
            numbers = [int(text.split()[-1]) for _, text in one.said]
            assert numbers == sorted(set(numbers))
            assert all(lines[number].nick == who for number, (who, _) in zip(numbers, one.said, strict=True))
            assert one.user == one.said[0][0]


class TestFiles:
    def test_a_log(self, tmp_path: Path) -> None:
        (tmp_path / "2012-01-02.txt").write_text(LOG)
        found = DialogSource(file=tmp_path / "2012-01-02.txt")
        assert found.layout == "irc"
        assert found.read().select("dialog", "user", "bot").rows()[:2] == [
            ("1", ["how do I mount a disk?"], ["with mount"]),
            ("1", ["mount what?"], ["the device"]),
        ]
        assert found.report()["dialogs"] == 3
        assert found.report()["rows"] == 12

    def test_a_dialog_without_a_header(self, tmp_path: Path) -> None:
        text = '2004-11-23T11:49:00.000Z\tann\t\tsays "hi\n2004-11-23T11:50:00.000Z\tbob\tann\twell\tso\n\n'
        (tmp_path / "1.tsv").write_text(text)
        found = DialogSource(file=tmp_path / "1.tsv", layout="irc")
        assert found.read().rows() == [("1", 0, ['says "hi'], ["well\tso"])]

    def test_dialogs_with_a_header(self, tmp_path: Path) -> None:
        text = (
            "folder,dialogueID,date,from,to,text\n3,1.tsv,2004,ann,,hi\n4,1.tsv,2004,cid,,ho\n"
            '3,1.tsv,2004,bob,ann,"well, so"\n4,1.tsv,2004,ann,cid,\n'
        )
        (tmp_path / "a.csv").write_text(text)
        found = DialogSource(file=tmp_path / "a.csv", layout="irc")
        assert found.read().rows() == [("3/1.tsv", 0, ["hi"], ["well, so"]), ("4/1.tsv", 0, ["ho"], [])]
        (tmp_path / "b.csv").write_text("talk,from,text\n1,a,x\n1,b,y\n")
        own = DialogSource(file=tmp_path / "b.csv", layout="irc", columns={"dialog": "talk"})
        assert own.read().rows() == [("1", 0, ["x"], ["y"])]

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.txt", "", "no line looks like a line of a chat log"),
            ("a.txt", "ann: hello\n", 'Got "ann: hello"'),
            ("a.txt", "[12:00] <ann> hello\n", "the bot says nothing"),
            ("a.tsv", "", "the file is empty"),
            ("a.tsv", "x\ty\tz\n", "line 1 is no line of a dialog"),
            ("a.csv", "dialogueID,from,text\n1,,x\n", "no dialog or no speaker in row 1"),
            ("a.csv", "from,text\nx,y\n", 'no column "dialogueID"'),
        ],
    )
    def test_files_of_another_form(self, tmp_path: Path, name: str, content: str, message: str) -> None:
        (tmp_path / name).write_text(content)
        with pytest.raises(PlanError) as result:
            DialogSource(file=tmp_path / name, layout="irc")
        assert message in str(result.value)
