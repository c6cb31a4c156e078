"""Streams of events taken apart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.services.server_events import data_of, events


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_found_whatever_ends_a_line(end: str) -> None:
    lines = ["\ufeff: comment", "event: a", "data: 1", "data:2", "", "id: 7", "", "data", "", "data:  x", ""]
    assert list(data_of(end.join(lines))) == ["1\n2", "", " x"]


def test_the_word_at_the_end_and_what_is_no_event() -> None:
    assert list(events('data: {"a": 1}\n\ndata: [DONE]\n\n')) == [{"a": 1}, None]
    for wrong in ("data: {", "data: 5", "data: [1]", "data: " + "[" * 100_000):
        with pytest.raises(ValueError):  # noqa: PT011 - of json, or our own
            list(events(wrong))


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=5))
def test_what_is_streamed_comes_back(sent: list[dict[str, str | int]]) -> None:
    text = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\n\n" for one in sent)
    assert list(events(text)) == sent
