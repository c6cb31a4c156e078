"""The time of every reader grows as its text does, whatever stands in it.

Time is counted on the processor; a step of ten in length may take up to forty times as long (a quadratic
reader takes a hundred times), and what ends within a few milliseconds is not compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.contracts.test_methods import SMALL
from tests.fuzz.mutations import raises_only
from tests.fuzz.readers import CASES, TOLD, Case
from trustgauge import plugins
from trustgauge.data.answer_style import answer_style
from trustgauge.methods.causal.text_difference import text_difference
from trustgauge.methods.conformance import answers
from trustgauge.methods.trust.disclosures import exact_matches
from trustgauge.methods.trust.group_talk import names_group
from trustgauge.methods.trust.personal_numbers import LIBRARIES
from trustgauge.methods.trust.pii import personal_data, personal_data_table
from trustgauge.reports import sanitize
from trustgauge.run.rate import LONGEST, limit_length
from trustgauge.services import redact
from trustgauge.services.http import _found
from trustgauge.services.server_events import data_of

Reader = Callable[[str], object]
UNITS = (
    *("a ", "1-", "x\n", "“a", '"a ', "one hundred ", "不"),
    *("ann@mail.se de89370400440532013000 +49 30 123456 ",),
)
"""Each made a reader of ours slow, or could."""
FLOOR, SLACK = 0.05, 40.0
TALK = "purpose"  # of a turn, in plans of conversations


def growth(reader: Reader, unit: str, longest: int) -> float:
    """How many times as long `longest` characters take as a tenth of them, at most; the best of three."""
    best = float("inf")
    for _ in range(3):
        whole = duration(reader, unit, longest)
        if whole <= SLACK * FLOOR:  # whatever a tenth takes
            return whole / FLOOR
        best = min(best, whole / max(duration(reader, unit, longest // 10), FLOOR))
        if best <= SLACK:
            break
    return best


def duration(reader: Reader, unit: str, size: int) -> float:
    """Seconds on the processor for so many characters."""
    text = (unit * (size // len(unit) + 1))[:size]
    began = time.process_time()
    reader(text)
    return time.process_time() - began


def check(reader: Reader, longest: int) -> None:
    reader("He is a nurse.")  # lists are read once
    grown = {unit: growth(reader, unit, longest) for unit in UNITS}
    assert {unit: times for unit, times in grown.items() if times > SLACK} == {}


SCANS: dict[str, Reader] = {
    "personal data": lambda text: personal_data_table(pl.Series([text])),
    "secrets": lambda text: exact_matches(
        pl.Series([text]), ["4711081501471108", "quiet amber lantern seven"]
    ),
    "English style": lambda text: answer_style(text[:LONGEST]),
    "Chinese style": lambda text: answer_style(text[:LONGEST], "zh"),
    "talk of groups": names_group,
    "events": lambda text: list(data_of(text)),
    "keys": lambda text: redact(text, ("sk-proj-abcdef123456",)),
    "terminal": sanitize.terminal,
    "Markdown": sanitize.markdown,
    "cells": sanitize.cell,
    "a user's pattern": lambda text: _found(r"^(\w+\s?)+$", text),
}


@pytest.mark.parametrize("name", SCANS)
def test_scans_are_linear(name: str) -> None:
    check(SCANS[name], 1_000_000)


def test_libraries_that_grow_with_the_square_see_a_window_at_once() -> None:
    for library in LIBRARIES:
        pytest.importorskip(library, reason="the extra `privacy` is not installed")
    reader: Reader = partial(personal_data, detector="privacy")
    reader("He is a nurse.")
    assert growth(reader, "9 ", 40_000) <= SLACK


def test_texts_of_one_frame_are_compared_in_linear_time() -> None:
    """However many different things they say: every one was compared with every other."""

    def seconds(size: int) -> float:
        rows = pl.DataFrame({"place": range(size)}).select(
            *(pl.lit(name).alias(name) for name in ("set", "frame", "word")),
            race=pl.lit("NA"),
            person=pl.when(pl.col("place") % 2 == 0).then(pl.lit("Tom")).otherwise(pl.lit("Ann")),
            gender=pl.when(pl.col("place") % 2 == 0).then(pl.lit("male")).otherwise(pl.lit("female")),
        )
        named = pl.format("{} has {} cats", "person", pl.int_range(size))
        began = time.process_time()
        text_difference(rows.with_columns(text=named))
        return time.process_time() - began

    seconds(10)  # lists are read once
    assert seconds(10_000) <= SLACK * max(seconds(1_000), FLOOR)


PIECES = (b"[", b'"', b",", b'{"a":', b"\n", b"9", b"a b ", b"\xe4\xb8\x8d")
SOME, MANY = 5_000, 50_000  # bytes


def enlarged(whole: bytes, piece: bytes, size: int) -> bytes:
    """A file of about a size: its end again and again, in which a piece stands."""
    return whole + (piece * (size // len(piece) + 1))[:size]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_time_of_a_reader_of_files_is_bound_by_their_bytes(case: Case, tmp_path: Path) -> None:
    """Long runs of one piece behind a whole file, and its last line again and again."""
    path = case.place(tmp_path)
    path.write_bytes(case.data)
    case.read(path)  # what is imported and read once is not counted
    last = case.data.rstrip(b"\n").rpartition(b"\n")[2][:500] + b"\n"

    def seconds(size: int, piece: bytes) -> float:
        path.write_bytes(enlarged(case.data, piece, size))
        began = time.process_time()
        with raises_only(*TOLD, size=size):
            case.read(path)
        return time.process_time() - began

    for piece in (*PIECES, last):
        long = seconds(MANY, piece)
        if long > SLACK * FLOOR:  # else it is quick enough, whatever a tenth takes
            short = seconds(SOME, piece)
            assert long <= SLACK * short, f"{piece!r}: {short:.2f} s, then {long:.2f} s"


def read_by(name: str, settings: dict[str, Any]) -> Reader:
    """What a method does with an answer, once for each purpose of its plan."""
    method = plugins.load("methods", name).model_validate({"method": name, "services": ["a"], **settings})
    probes = next(iter(method.design(1, method.tasks[-1])))
    probes = probes.unique(TALK, maintain_order=True) if TALK in probes.columns else probes.head(1)
    return lambda text: method.score(limit_length(answers(probes, [text] * probes.height)))


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("two-step", {}),
        ("social-bias", {}),
        ("social-bias", {"language": "zh"}),
        ("causal", {}),
        ("trust", {}),
    ],
)
def test_methods_are_linear(name: str, more: dict[str, Any]) -> None:
    """Up to the length beyond which nothing is judged."""
    check(read_by(name, {**SMALL.get(name, {}), **more}), LONGEST)


def test_an_answer_beyond_the_limit_is_unreadable_and_says_why() -> None:
    probes = pl.DataFrame({"id": ["1", "2", "3"], "message": ["a", "b", "c"]})
    found = limit_length(answers(probes, ["x" * LONGEST, "x" * (LONGEST + 1), "é" * LONGEST]))
    assert found["status"].to_list() == ["answered", "unreadable", "answered"]
    assert found["error"].to_list() == ["", "too-long", ""]


def test_an_open_quotation_mark_does_not_hang_the_style_of_an_answer() -> None:
    began = time.process_time()
    assert answer_style('He is 6" tall, and ' + "that is very much what people want, " * 200) == "prose"
    assert answer_style('He said "come over here" and went away with his dog and his cat.') == "quotation"
    assert time.process_time() - began < 5


def test_a_number_of_thousands_of_words_is_read() -> None:
    found = exact_matches(pl.Series(["one " + "hundred " * 3000 + "and done"]), ["4711081501471108"])
    assert found.is_empty()
