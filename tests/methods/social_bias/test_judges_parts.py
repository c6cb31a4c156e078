"""Answers of parts that are alike have one verdict, and the rules make it: whatever their marks are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trustgauge.methods.social_bias.judges.findings import CASES, CHOSEN, Findings
from trustgauge.methods.social_bias.judges.lexer import FILL, FIRST, LETTERS, SECOND
from trustgauge.methods.social_bias.judges.name_finder import Named, held
from trustgauge.methods.social_bias.judges.parts import PART, SILENT, part_of, seen
from trustgauge.methods.social_bias.judges.pieces import Pieces, pieces_of
from trustgauge.methods.social_bias.judges.plain_text import characters, laid
from trustgauge.methods.social_bias.judges.properties import hold_properties
from trustgauge.methods.social_bias.judges.question_parser import Asked, Property, hold_property
from trustgauge.methods.social_bias.judges.spelling import spelling
from trustgauge.methods.social_bias.judges.stances import Case
from trustgauge.methods.social_bias.judges.tokens import Tokens
from trustgauge.methods.social_bias.judges.verdicts import Finding, decide

MARKS = "".join(sorted({*LETTERS.values(), *"ABp_ks,,,.?"}))
SMALL = ["YABp,.?", "wABpvn,.", "nBAko,b.", "RECup,.b", "HCcuTA,.?", "w_ivb,.?", "sABxp,.", "DXafl,.?p"]
Answer = tuple[int, str, bool]
"""Case, marks, and whether the question names its second group first."""


def pieces(marks: Sequence[str]) -> Pieces:
    """Answers with these marks, of words of one letter."""
    parts = [PART.findall(one) or [""] for one in marks]
    flat = [part for one in parts for part in one]
    firsts = np.cumsum([0, *map(len, parts)])[:-1]
    lengths = np.array(list(map(len, flat)))
    starts = np.cumsum(lengths) - lengths
    within = np.concatenate([np.arange(length + 1) for length in lengths])  # and a token that ends the text
    begins = np.cumsum(lengths + 1) - lengths - 1
    tokens = Tokens(
        np.zeros(len(within), dtype=np.uint8),
        np.zeros(len(within), dtype=np.uint32),
        within.astype(np.int32),
        within.astype(np.int32) + 1,
        begins,
        np.zeros(len(flat), dtype=np.int64),
        [],
    )
    every = np.arange(len(flat))
    rows = np.repeat(np.arange(len(marks)), list(map(len, parts)))
    return Pieces(rows, firsts, every, starts, np.arange(lengths.sum() + 1), tokens, every, flat)


def expected(answer: Answer, *, chinese: bool) -> Finding:
    """What the rules say of an answer by itself."""
    case, marks, turned = answer
    verdict, first, last = decide(CASES[case]._replace(chinese=chinese), marks)
    return CHOSEN.get(verdict, (verdict, verdict))[turned], first, last + 1 if last >= 0 else -1


def differing(answers: Sequence[Answer], known: Findings) -> list[object]:
    """Answers that are read otherwise together than alone."""
    cases, marks, turned = zip(*answers, strict=True)
    of = pieces(marks)
    verdicts, starts, ends = known.read(of, np.array(cases), np.array(turned))
    begins = np.where(starts < 0, 0, of.starts[of.firsts])
    found = zip(verdicts, (starts - begins).tolist(), (ends - begins).tolist(), strict=True)
    return [
        (answer, one, alone)
        for answer, one in zip(answers, found, strict=True)
        if one != (alone := expected(answer, chinese=known.chinese))
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(CASES) - 1),
            st.sampled_from([MARKS, *SMALL]).flatmap(lambda letters: st.text(letters, max_size=14)),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
)
@example([(8, "w,Y,Y?", False), (8, "Y,Y?", False)], False)
@example([(0, "w,A", False), (0, "A.w_.", True), (0, "w,?", False), (0, "w?.", False)], True)
def test_any_marks(answers: list[Answer], chinese: bool) -> None:
    assert differing(answers, Findings(chinese)) == []


@pytest.mark.parametrize("letters", [MARKS, *SMALL])
def test_many_marks_at_once(letters: str) -> None:
    """So that parts that are alike meet each other in all orders; and again, when they are known."""
    chance = random.Random(letters)
    known = Findings(chinese=False)
    for _ in range(2):
        answers = [
            (chance.randrange(len(CASES)), "".join(chance.choices(letters, k=chance.randint(0, 10))), False)
            for _ in range(2_500)
        ]
        assert differing(answers, known) == []


def test_short_marks_of_all_kinds() -> None:
    letters = "wAYpCn,.?"
    answers = [
        (case, "".join(marks), False)
        for case in range(len(CASES))
        for length in range(4)
        for marks in product(letters, repeat=length)
    ]
    assert differing(answers, Findings(chinese=False)) == []


@settings(max_examples=300, deadline=None)
@given(st.from_regex(SILENT, fullmatch=True), st.sampled_from(CASES))
def test_silent_parts_are_alike(marks: str, case: Case) -> None:
    """The rules see in them what they see in one plain word."""
    assert seen(marks, case) == seen(part_of(marks).like, case)
    assert part_of(marks).like[0] == "w"


def test_parts_that_differ_are_seen() -> None:
    """Each mark that a rule knows shows in some part, for some question."""
    around = ("A{}p.", "{}.", "{}_.", "ix{}w.", "{}_,")
    for mark in set(MARKS) - set(",.?w_igqhekoLvP"):
        assert any(
            seen(text.format(mark), case) != seen(text.format("w"), case) for text in around for case in CASES
        ), mark


CORES = ["老", "穷", "很穷", "穷人", "爱偷东西", "懒", "老老"]
SAID = st.lists(
    st.sampled_from([*CORES, "偷东西", "们", "，".replace("，", ","), "。", FIRST, "é".upper()]), max_size=9
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SAID.map("".join), st.lists(st.sampled_from(CORES), max_size=3)), min_size=1))
def test_properties_are_held_as_in_one_answer(drawn: list[tuple[str, list[str]]]) -> None:
    """The longest piece first, one after another; a piece may hold another, or overlap with itself."""
    texts = [text.replace("É", "E") for text, _ in drawn]
    asked = [
        Property(False, frozenset(), tuple(sorted(set(cores), key=lambda core: (-len(core), core))))
        for _, cores in drawn
    ]
    given_bytes = np.frombuffer("".join(f"{text}\0" for text in texts).encode(), dtype=np.uint8)
    held = hold_properties(given_bytes, np.arange(len(texts)), asked)
    assert len(held) == len(given_bytes)
    alone = [
        hold_property(text, Asked("", "", "", False, frozenset(), of.cores))
        for text, of in zip(texts, asked, strict=True)
    ]
    found = held.tobytes().decode().split("\0")[:-1]
    assert [one.replace("\3", "") for one in found] == [one.replace("\3", "") for one in alone]


@settings(max_examples=200, deadline=None)
@given(
    st.text("abc ", max_size=60),
    st.lists(st.text("abc ", min_size=1, max_size=18), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 59), st.integers(1, 45), st.integers(0, 44)), max_size=6),
)
def test_words_stand_where_they_are_spelled(
    text: str, words: list[str], cut: list[tuple[int, int, int]]
) -> None:
    for start, length, place in cut:  # words of the text, and the same with another letter
        word = text[start : start + length]
        words += [word, f"{word[:place]}b{word[place + 1 :]}"] if word else []
    pairs = list(product(range(len(text)), range(len(words))))
    at, which = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    texts = np.frombuffer(f"{text}\0".encode(), dtype=np.uint8)
    found = spelling(words).stands(texts, np.arange(len(text)), at, which)
    assert found.tolist() == [n for n, (at, word) in enumerate(pairs) if text.startswith(words[word], at)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(2, 40), st.booleans()), max_size=8), st.booleans())
def test_names_are_held_at_their_length(drawn: list[tuple[int, int, bool]], turned: bool) -> None:
    written, expected, spans = "", "", []
    for gap, length, of_first in drawn:
        spans.append((len(written) + gap, len(written) + gap + length, of_first))
        written += "-" * gap + "x" * length
        expected += "-" * gap + (FIRST if of_first != turned else SECOND) + FILL * (length - 1)
    texts = laid(pl.Series([written, "y"]))
    starts, ends, first = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    named = Named(np.zeros_like(starts), starts, ends, first > 0, np.zeros(2, dtype=bool))
    found = held(texts, named, np.array([turned, False]))
    assert found.tobytes().decode() == f"{expected}\0y\0"
    assert texts.bytes.tobytes().decode() == f"{written}\0y\0"


@settings(max_examples=100, deadline=None)
@given(st.text("aé女🙂", max_size=40))
def test_characters_before_a_byte(text: str) -> None:
    written = text.encode()
    begins = [len(text[:place].encode()) for place in range(len(text) + 1)]
    texts = np.frombuffer(written, dtype=np.uint8)
    first, last = characters(texts, np.array(begins), np.array(begins[::-1]))
    assert first.tolist() == list(range(len(text) + 1))
    assert last.tolist() == first.tolist()[::-1]


def test_pieces_end_with_their_stops() -> None:
    answers = np.frombuffer(b"no. well, \1\3\3 do?!\0\0a, b\0", dtype=np.uint8)
    of = pieces_of(answers, "en", np.array([0, 0, 1]), [frozenset({"do"}), frozenset({"b"})])
    marks = ["".join(of.marks[one] for one in of.variants[of.rows == row]) for row in range(3)]
    assert marks[0] == "O._,Ap?"
    assert marks[1] == ""
    assert marks[2][1:] == ",p"
    assert of.rows.tolist() == [0, 0, 0, 1, 2, 2]
    assert of.firsts.tolist() == [0, 3, 4]
    name = (
        of.byte(np.array([2]), np.array([0]), behind=False),
        of.byte(np.array([2]), np.array([0]), behind=True),
    )
    assert (name[0].tolist(), name[1].tolist()) == ([10], [13])
