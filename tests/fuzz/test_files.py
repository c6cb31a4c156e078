"""Every reader of files that people bring: damage gives an error in words, never another exception.

Each case is a whole file and its reader (`readers.py`). The whole file must be read, so that the cases cannot
rot; then it is damaged.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import damaged, fuzzed, raises_only
from tests.fuzz.readers import CASES, TOLD, Case

by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@by_name
def test_the_whole_file_is_read(case: Case, tmp_path: Path) -> None:
    path = case.place(tmp_path)
    path.write_bytes(case.data)
    case.read(path)


@by_name
def test_damage_is_told_in_words(case: Case, tmp_path: Path) -> None:
    path = case.place(tmp_path)

    @fuzzed
    @given(data=damaged(case.data))
    def holds(data: bytes) -> None:
        path.write_bytes(data)
        with raises_only(*TOLD, size=len(data)):
            case.read(path)

    holds()


@by_name
def test_any_bytes_are_told_in_words(case: Case, tmp_path: Path) -> None:
    path = case.place(tmp_path)

    @fuzzed
    @given(data=st.binary(max_size=200))
    def holds(data: bytes) -> None:
        path.write_bytes(data)
        with raises_only(*TOLD, size=len(data)):
            case.read(path)

    holds()
