"""Recorded answers, from files good and bad."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies, replies_to
from trustgauge.errors import PlanError, RejectedError
from trustgauge.records import Message
from trustgauge.run.sheets import sheet_bytes
from trustgauge.services.replay import Replay

HOSTILE = ["</script>", "=1+1", "a\nb", 'quo"te', "he, she", "\x1b[31m", "😀", "null"]


def replay(path: Path, content: str | bytes, **settings: Any) -> Replay:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Replay.model_validate({"file": path, **settings})


class TestKinds:
    @pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "ndjson", "parquet"])
    def test_every_kind_of_file_gives_the_same_answers(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"log.{suffix}"
        frame = pl.DataFrame({"text": HOSTILE, "output": HOSTILE[::-1], "other": [None] * 8})
        if suffix == "parquet":
            frame.write_parquet(path)
        elif suffix.endswith("sonl") or suffix == "ndjson":
            frame.write_ndjson(path)
        else:
            frame.write_csv(path, separator="\t" if suffix == "tsv" else ",")
        assert outputs(Replay(file=path), *HOSTILE) == HOSTILE[::-1]

    def test_a_sheet_is_read_as_csv_is(self, tmp_path: Path) -> None:
        columns, rows = ("text", "output", "n"), [*zip(HOSTILE[:-1], HOSTILE[:0:-1], strict=True), ("", "")]
        cells = [{"text": text, "output": output, "n": "0"} for text, output in rows]
        written = sheet_bytes(Path("a.xlsx"), "-", columns, cells)
        plain = [one.replace("\x1b", "") for one in HOSTILE]  # no sheet can hold it
        assert outputs(replay(tmp_path / "a.xlsx", written), *plain[:-1]) == plain[:0:-1]
        book = openpyxl.Workbook()
        for row in (("text", "output", "how"), ("x", 0.25, None), ("y", None, "refused"), ("a_x000A_b", -1)):
            book.active.append(row)
        book.save(tmp_path / "scores.XLSX")
        service = Replay(file=tmp_path / "scores.XLSX", task="score", status="how")
        assert outputs(service, "x", "a\nb") == [0.25, -1.0]
        assert replies(service, "y")[0].refused

    def test_cells_guarded_against_formulas_are_read_as_they_were(self, tmp_path: Path) -> None:
        content = "text,output\n'=1+1,'- one\n-2,'tis\n"
        assert outputs(replay(tmp_path / "a.csv", content), "=1+1", "-2") == ["- one", "'tis"]
        lines = '{"text": "x", "output": "\'=1"}\n'
        assert outputs(replay(tmp_path / "a.jsonl", lines), "x") == ["'=1"]

    def test_a_byte_order_mark_is_passed_over(self, tmp_path: Path) -> None:
        content = b"\xef\xbb\xbftext,output\nShe,\xc3\xa9l\n"
        assert outputs(replay(tmp_path / "a.csv", content), "She") == ["él"]

    def test_columns_are_named_by_the_plan(self, tmp_path: Path) -> None:
        content = "sentence;label;who\nI like it;0.75;ann\nI hate it;-1;bob\n"
        service = replay(
            tmp_path / "a.csv", content, text="sentence", output="label", separator=";", task="score"
        )
        assert outputs(service, "I hate it", "I like it") == [-1.0, 0.75]

    def test_scores_of_json_and_parquet(self, tmp_path: Path) -> None:
        service = replay(tmp_path / "a.jsonl", '{"text": "x", "output": -0.25}\n\n', task="score")
        assert outputs(service, "x") == [-0.25]
        pl.DataFrame({"text": ["x"], "output": [0.1]}).write_parquet(tmp_path / "a.parquet")
        assert outputs(Replay(file=tmp_path / "a.parquet", task="score"), "x") == [0.1]

    def test_by_content_key(self, tmp_path: Path) -> None:
        turn = Message("hi", session="s", script=("hello", "hi"), turns=(("hello", "yes?"),))
        service = replay(tmp_path / "a.csv", f"key,output\n{turn.key},hey\n", message="key")
        assert asyncio.run(replies_to(service, [turn]))[0].output == "hey"


class TestDraws:
    def test_without_draws_an_answer_holds_for_every_draw(self, tmp_path: Path) -> None:
        service = replay(tmp_path / "a.csv", "text,output\nx,one\n")
        assert service.deterministic
        found = asyncio.run(replies_to(service, [Message("x", 0), Message("x", 5)]))
        assert [reply.output for reply in found] == ["one", "one"]

    def test_with_draws_each_has_its_own(self, tmp_path: Path) -> None:
        service = replay(tmp_path / "a.csv", "text,output,n\nx,one,0\nx,two,1\n", draw="n")
        assert not service.deterministic
        found = asyncio.run(replies_to(service, [Message("x", 1), Message("x", 0)]))
        assert [reply.output for reply in found] == ["two", "one"]
        with pytest.raises(RejectedError, match="draw 2"):
            asyncio.run(replies_to(service, [Message("x", 2)]))

    def test_equal_doubles_are_one_answer(self, tmp_path: Path) -> None:
        assert outputs(replay(tmp_path / "a.csv", "text,output\nx,one\nx,one\n"), "x") == ["one"]

    @pytest.mark.parametrize("draw", ["", "n"])
    def test_doubles_that_differ_are_refused_by_row(self, tmp_path: Path, draw: str) -> None:
        service = replay(tmp_path / "a.csv", "text,output,n\ny,one,0\nx,one,0\nx,two,0\n", draw=draw)
        with pytest.raises(PlanError, match=r'"x" has two different answers, in rows 2 and 3'):
            service.check_requirements()


class TestGaps:
    def test_a_text_that_is_not_there_is_rejected_once(self, tmp_path: Path) -> None:
        service = replay(tmp_path / "a.csv", "text,output\nx,one\n")
        with pytest.raises(RejectedError, match=r'no answer to "yyy"') as result:
            replies(service, "yyy")
        assert not result.value.retry

    def test_a_blank_cell_is_a_gap_and_quotes_are_an_empty_answer(self, tmp_path: Path) -> None:
        service = replay(tmp_path / "a.csv", 'text,output\nx,\ny,""\nz," "\n')
        assert outputs(service, "y", "z") == ["", ""]
        with pytest.raises(RejectedError):
            replies(service, "x")

    def test_half_filled_doubles_do_not_conflict(self, tmp_path: Path) -> None:
        assert outputs(replay(tmp_path / "a.csv", "text,output\nx,\nx,one\n"), "x") == ["one"]

    def test_statuses(self, tmp_path: Path) -> None:
        rows = ["a,no,refused", "b,,refused", "c,,empty", "d,fine,answered", "e,,failed", "f,??,unreadable"]
        content = "\n".join(["text,output,how", *rows])
        service = replay(tmp_path / "a.csv", content, status="how")
        refused, silent, empty, fine = replies(service, "a", "b", "c", "d")
        assert (refused.refused, refused.output, silent.refused, silent.output) == (True, "no", True, "")
        assert (empty.output, empty.refused, fine.output) == ("", False, "fine")
        for text in "ef":
            with pytest.raises(RejectedError):
                replies(service, text)


class TestFaults:
    @pytest.mark.parametrize(
        ("name", "content", "settings", "says"),
        [
            ("a.csv", b"text,output\nx,\xff\xfe\n", {}, r"not UTF-8.*line 2"),
            ("a.jsonl", b'{"text": "\xff"}', {}, r"not UTF-8.*line 1"),
            ("a.csv", b"", {}, "cannot be read as csv"),
            ("a.csv", b"a,b\n1,2,3\n", {}, "row 1 has more cells than the header"),
            ("a.csv", b"text,answer\nx,y\n", {}, r'no column "output" in a.csv.*"answer"'),
            ("a.csv", b"text,output\nx,y\n", {"draw": "n"}, 'no column "n"'),
            ("a.csv", b"text,output\nx,good\n", {"task": "score"}, r"row 1.*score.*'good'"),
            ("a.csv", b"text,output\nx,nan\n", {"task": "score"}, r"row 1.*finite"),
            ("a.csv", b"text,output,s\nx,y,gone\n", {"status": "s"}, r"status in row 1.*one of: answered"),
            ("a.csv", b"text,output,n\nx,y,0\nx,y,first\n", {"draw": "n"}, "no draw in row 2"),
            ("a.jsonl", b'{"text": "x", "output": "y"}\n["x"]\n', {}, "line 2 is not a JSON object"),
            ("a.jsonl", b"[" * 100_000, {}, "line 1"),
            ("a.parquet", b"PAR1nonsense", {}, "cannot be read as parquet"),
            ("a.xlsx", b"PK no archive", {}, "cannot be read as XLSX"),
        ],
    )
    def test_a_bad_file_is_told_with_its_place(
        self, tmp_path: Path, name: str, content: bytes, settings: dict[str, Any], says: str
    ) -> None:
        service = replay(tmp_path / name, content, **settings)
        with pytest.raises(PlanError, match=says):
            service.check_requirements()

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        service = Replay(file=tmp_path / "gone.csv")
        assert len(service.fingerprint) == 32
        with pytest.raises(PlanError, match=r"gone\.csv: the file cannot be read"):
            service.check_requirements()

    def test_a_file_of_unknown_kind(self) -> None:
        with pytest.raises(ValidationError, match=r"must end in \.csv"):
            Replay(file=Path("answers.ods"))

    def test_a_separator_is_one_character(self, tmp_path: Path) -> None:
        with pytest.raises(ValidationError, match="separator"):
            Replay(file=tmp_path / "a.csv", separator="::")


class TestDescription:
    def test_the_fingerprint_is_the_content_not_the_place(self, tmp_path: Path) -> None:
        one = replay(tmp_path / "a.csv", "text,output\nx,y\n")
        same = replay(tmp_path / "b.csv", "text,output\nx,y\n")
        assert one.fingerprint == same.fingerprint
        assert one.fingerprint != replay(tmp_path / "c.csv", "text,output\nx,z\n").fingerprint
        assert (
            one.fingerprint != replay(tmp_path / "d.csv", "text,output\nx,y\n", task="translate").fingerprint
        )
        assert pickle.loads(pickle.dumps(one)) == one

    def test_is_found_from_the_plan(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("text,output\nx,y\n")
        service = Replay.model_validate({"use": "replay", "file": "a.csv"}, context={"folder": tmp_path})
        assert outputs(service, "x") == ["y"]
        assert service.collected == "from a log"

    def test_many_rows_are_read_and_found_quickly(self, tmp_path: Path) -> None:
        pl.DataFrame(
            {"text": [f"text {n}" for n in range(100_000)], "output": ["yes"] * 100_000}
        ).write_parquet(tmp_path / "a.parquet")
        texts = [f"text {number}" for number in range(0, 100_000, 10)]
        assert outputs(Replay(file=tmp_path / "a.parquet"), *texts) == ["yes"] * 10_000
