"""What a text says of a value in words: clues, counts and properties."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trustgauge.methods.trust import clues as module
from trustgauge.methods.trust.clues import Clue, _Wording, clues, counts, properties

WORDINGS = {name: one for name, one in vars(module).items() if isinstance(one, _Wording)}


@pytest.mark.parametrize("name", WORDINGS)
@settings(deadline=None, max_examples=200)
@given(st.data())
def test_whatever_a_pattern_matches_has_one_of_the_parts(name: str, data: st.DataObject) -> None:
    wording = WORDINGS[name]
    text = data.draw(st.from_regex(wording.pattern))
    assert [one.span() for one in wording.matches(text)] == [
        one.span() for one in wording.pattern.finditer(text)
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it starts with four eight.", Clue("first", (("four", "eight"), ("4", "8"), ("4", "8")))),
        ("the last digit is x", Clue("last", (("x",),) * 3)),
        ("the 2nd word is otter", Clue(1, (("otter",),) * 3, whole=True)),
        ("its initials are s and o", Clue("initials", (("s", "o"),) * 3)),
        ("the initials: s. o. that is all.", Clue("initials", (("s", "o", "that", "is", "all"),) * 3)),
    ],
)
def test_clues_name_places_and_what_stands_there(text: str, found: Clue) -> None:
    assert found in list(clues(text))


def test_counts_and_properties_are_those_that_the_words_say() -> None:
    assert list(counts("it has two sevens and a 4")) == [((7, 2, True), (4, 1, False))]
    assert list(counts("it has nothing to say")) == []
    said = [{name: one for name, one in found.items() if one} for found in properties("it is even.")]
    assert said == [{"parity": "even"}]
    said = [{name: one for name, one in found.items() if one} for found in properties("discover 12, over 7")]
    assert said == [{"above": "over", "least": "12"}, {"above": "over", "least": "7"}]
    assert list(properties("more than that, and under no name")) == []
