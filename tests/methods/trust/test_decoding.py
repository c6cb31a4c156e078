"""Codes in texts: prose is not searched for them where its words show that it holds none."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from trustgauge.methods.trust import decoding
from trustgauge.methods.trust.decoding import neighbours, numbers_in_words, says_numbers, with_numbers

WORDS = [
    "a",
    "be",
    "bad",
    "each",
    "face",
    "decade",
    "I",
    "v",
    "xi",
    "nihil",
    "nulla",
    "MCMXLVI",
    "MDCX_I",
    "afternoon",
    "different",
    "DIFFERENT",
    "abCDEFGHIJ",
    "ABCDEFGHIJ======",
    "QUFBQUFB",
    "ESCAPADE",
    "efgh/ijkl+mnop",
    "cafebabe",
    "aaaaaaaa",
    "i_v",
    "x",
    "--",
    "...",
    "-.-.",
    ".-",
    "._",
    "%",
    "&#65;",
    "\\x41",
    "0x41",
    "65",
    "1",
]


@settings(deadline=None, max_examples=500)
@example("ABCDEFGHIJ======")
@example("be a bad cab")
@example("i v x i v")
@example("abcdef" * 20)
@given(
    st.lists(
        st.one_of(st.sampled_from(WORDS), st.from_regex(r"[A-Za-z]{1,12}", fullmatch=True)),
        min_size=1,
        max_size=9,
    ).flatmap(lambda words: st.sampled_from([" ", ", ", "-", "_", "."]).map(lambda joint: joint.join(words)))
)
def test_words_show_whether_a_text_may_hold_codes(text: str) -> None:
    """Searched in full, as every text with a digit is, it yields nothing but Morse code either."""
    if not decoding._holds_codes(text):
        assert not list(decoding._in_bases(text))
        assert not list(decoding._in_groups(text))
        assert list(decoding._in_other_signs(text)) == list(decoding._in_morse(text))
        assert not decoding._HEX.search(text)
        assert not decoding._BASES.search(text)


def test_prose_holds_no_codes() -> None:
    assert not decoding._holds_codes("Our office can tell you that; I would ask them in the morning.")
    assert decoding._holds_codes("It reads QUFBQUFB.")


@given(
    st.lists(
        st.sampled_from(
            ["no", "one", "has", "two", "or", "three", "thousand", "3", "hundred", "and-four", "of_five"]
        )
    )
)
def test_a_text_without_words_of_numbers_is_left_as_it_is(words: list[str]) -> None:
    text = " ".join(words)
    if not says_numbers(decoding.WORD.findall(text)):
        assert with_numbers(text) == text
        assert not list(numbers_in_words(text))
    if with_numbers(text) == text:
        assert not list(numbers_in_words(text))


@given(
    st.lists(
        st.sampled_from(
            ["one more than 6", "the letter after c", "two steps back from f", "7 plus 1", "on", "a"]
        )
    )
)
def test_riddles_take_a_word_each_that_says_the_way(said: list[str]) -> None:
    text = ", then ".join(said)
    found = list(neighbours(text, decoding.WORD.findall(text)))
    assert bool(found) == (sum(one not in ("on", "a") for one in said) >= 3)
