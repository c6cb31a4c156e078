"""A log that grows: what is new in it, and the piece that is rated."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from trustgauge.apps.watch.watcher import LINE, LogTail, SkippedLines, read_tail, write_tail
from trustgauge.errors import StoreError
from trustgauge.run.transcript import Transcript, lines


def talk(log: Path, dialog: str, turns: int) -> None:
    with Transcript(log) as transcript:
        for turn in range(turns):
            transcript.add(dialog, 2 * turn, "user", "hello")
            transcript.add(dialog, 2 * turn + 1, "bot", "good morning")


def test_only_what_is_new_is_counted_and_cut(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    talk(log, "one", 3)
    first = read_tail(log, 0)
    assert (first.start, first.end, first.utterances) == (0, log.stat().st_size, 3)
    talk(log, "two", 2)
    piece = read_tail(log, first.end)
    assert piece.utterances == 2
    assert write_tail(log, piece, tmp_path / "piece.jsonl") == SkippedLines()
    assert {row["dialog"] for row in lines(tmp_path / "piece.jsonl")} == {"two"}
    assert read_tail(log, piece.end) == LogTail(piece.end, piece.end, 0)


def test_half_a_line_is_left_for_later(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    talk(log, "one", 1)
    whole = log.stat().st_size
    with log.open("ab") as file:
        file.write(b'{"dialog": "one", "turn": 2, "speaker": "bot", "te')
    assert read_tail(log, 0) == LogTail(0, whole, 1)


def test_a_log_that_was_begun_anew_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    talk(log, "one", 9)
    before = read_tail(log, 0)
    log.write_bytes(b"")
    talk(log, "two", 1)
    assert read_tail(log, before.end).start == 0
    with pytest.raises(StoreError, match="shrunk"):
        write_tail(log, before, tmp_path / "piece.jsonl")


def test_silence_users_and_broken_lines_do_not_count(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    rows = (
        '{"speaker": "bot", "text": "  "}',
        '{"speaker": "user", "text": "hello"}',
        '{"speaker": "Assistant", "text": "hello"}',
        '{"speaker": 7, "text": "hello"}',
        "[1, 2]",
        "not json",
        "[" * 100_000,
    )
    log.write_text("\n".join(rows) + "\n")
    assert read_tail(log, 0).utterances == 1


def test_lines_that_are_no_utterances_are_left_out_and_named(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    talk(log, "one", 2)
    first = read_tail(log, 0)
    for wrong in ("not json", '{"speaker": "bot", "text": "hello"}', '{"dialog": "d", "speaker": 7}', "[1]"):
        talk(log, "two", 1)
        with log.open("a") as file:
            file.write(f"\n{wrong}\n")
    skipped = write_tail(log, read_tail(log, first.end), tmp_path / "piece.jsonl")
    assert skipped == SkippedLines(4, (8, 12, 16, 20))
    kept = (tmp_path / "piece.jsonl").read_text().split()
    assert len([one for one in kept if "good" in one or "hello" in one]) == 8


def test_a_log_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        read_tail(tmp_path / "none.jsonl", 0)


def test_a_long_log_is_caught_up_with_piece_by_piece(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    talk(log, "one", 40)
    pieces, offset = [], 0
    while (piece := read_tail(log, offset, most=500)).end > offset:
        pieces.append(piece)
        offset = piece.end
    assert len(pieces) > 5
    assert sum(one.utterances for one in pieces) == 40
    assert all(500 <= one.end - one.start < 700 for one in pieces[:-1])
    assert [one.start for one in pieces[1:]] == [one.end for one in pieces[:-1]]
    assert pieces[-1].end == log.stat().st_size


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """A line without an end, and millions of characters in it, is passed over in pieces as well."""
    log = tmp_path / "t.jsonl"
    with log.open("wb") as file:
        file.write(b'{"speaker": "bot", "text": "' + b"x" * 8 * LINE + b'"}\n')
    talk(log, "one", 2)
    tracemalloc.start()
    found = read_tail(log, 0, most=20 * LINE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.end, found.utterances) == (log.stat().st_size, 2)
    assert peak < 4 * LINE
