"""Conversations on disk, line by line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from trustgauge.data.dialogs import DialogSource
from trustgauge.errors import StoreError
from trustgauge.run.transcript import Transcript, lines


def noon() -> datetime:
    return datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_a_transcript_is_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "new" / "transcript.jsonl"
    with Transcript(path, noon) as transcript:
        transcript.add("a", 0, "user", 'He said:\n"no"', generated=True)
        transcript.add("a", 0, "bot", "良い \udcff", status="answered", millis=4.2)
    rows = list(lines(path))
    assert rows[0]["generated"] is True
    assert rows[1]["at"] == "2026-01-02T12:00:00.000+00:00"
    turns = DialogSource(file=path).read()
    assert turns["user"].to_list() == [['He said:\n"no"']]
    assert turns["bot"].to_list() == [["良い ?"]]


def test_half_a_line_of_a_process_that_died_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    with Transcript(path, noon) as transcript:
        transcript.add("a", 0, "user", "hello")
    with path.open("ab") as file:
        file.write(b'{"dialog": "a", "tu')
    assert [row["text"] for row in lines(path)] == ["hello"]
    with Transcript(path, noon) as transcript:
        transcript.add("a", 0, "bot", "hi")
    assert [row["text"] for row in lines(path)] == ["hello", "hi"]


def test_flushed_lines_are_there_for_others(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    transcript = Transcript(path, noon)
    transcript.add("a", 0, "user", "hello")
    transcript.flush()
    assert [row["speaker"] for row in lines(path)] == ["user"]
    transcript.close()
    transcript.close()


def test_faults(tmp_path: Path) -> None:
    with Transcript(tmp_path / "one.jsonl"), pytest.raises(StoreError, match=r"one\.jsonl is in use"):
        Transcript(tmp_path / "one.jsonl")
    Transcript(tmp_path / "one.jsonl").close()
    with pytest.raises(StoreError, match="cannot be written"):
        Transcript(tmp_path)
    with pytest.raises(StoreError, match="cannot be read"):
        list(lines(tmp_path / "none"))
    odd = tmp_path / "odd.jsonl"
    odd.write_text('{"dialog": "a"}\n')
    with pytest.raises(StoreError, match="line 1"):
        list(lines(odd))
