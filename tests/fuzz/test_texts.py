"""Every reader of a line that somebody writes: a result, or one of its errors in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import damaged, fuzzed, odd_texts, raises_only
from tests.fuzz.texts import LINES, Written

by_name = pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)


@by_name
def test_a_usual_line_is_read(line: Written) -> None:
    line.read(line.usual)


@by_name
def test_an_odd_line_is_read_or_refused_in_words(line: Written) -> None:
    broken = damaged(line.usual.encode()).map(lambda data: data.decode("utf-8", "surrogateescape"))

    @fuzzed
    @given(text=st.one_of(odd_texts, broken))
    def holds(text: str) -> None:
        with raises_only(*line.errors, size=len(text)):
            line.read(text)

    holds()
