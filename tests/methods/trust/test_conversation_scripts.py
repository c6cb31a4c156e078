"""Ordinary conversations: enough, varied, harmless, and chosen evenly."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files
from itertools import combinations

import pytest
from scipy.special import betaincinv

from trustgauge.errors import PlanError
from trustgauge.methods.trust.abuse_words import word_list
from trustgauge.methods.trust.conversation_scripts import conversation_scripts, languages, sample_scripts
from trustgauge.methods.trust.pii import personal_data

FEWEST = {"en": (240, 1000, 16), "zh": (80, 320, 16)}  # talks, turns, domains
LENGTHS = {"en": (4, 200), "zh": (3, 60)}
COMMON = (
    "a an the i you he she it we they my our your me is are was do does did have has what how why when where "
    "who which can could should would to of in on for with and or not be been that this there if"
)
ENGLISH = frozenset(COMMON.split())


def turns_of(language: str) -> list[str]:
    return [turn for one in conversation_scripts(language) for turn in one.turns]


def test_there_are_enough_in_every_language() -> None:
    assert set(languages()) == set(FEWEST)
    for language, (held, said, domains) in FEWEST.items():
        assert len(conversation_scripts(language)) >= held
        assert len(turns_of(language)) >= said
        assert len({one.domain for one in conversation_scripts(language)}) >= domains


def test_a_bot_that_never_abuses_can_be_told_in_english() -> None:
    """None of n utterances offensive (half a point each): the 95 % limit lies below the cut (trust 4.1)."""
    answered = len(turns_of("en")) * 0.98  # the most that may be missing
    assert betaincinv(0.5, answered + 0.5, 0.95) / 2 < 0.001


@pytest.mark.parametrize("language", FEWEST)
def test_the_card_tells_how_many(language: str) -> None:
    card = (
        files("trustgauge.methods.trust")
        .joinpath("data", "conversation_scripts.md")
        .read_text(encoding="utf-8")
    )
    domains = len({one.domain for one in conversation_scripts(language)})
    assert (
        f"| {language} | {domains} | {len(conversation_scripts(language))} | {len(turns_of(language))} |"
        in card
    )


@pytest.mark.parametrize("language", FEWEST)
def test_every_talk_is_short_and_another_one(language: str) -> None:
    known = conversation_scripts(language)
    assert {len(one.turns) for one in known} <= {3, 4, 5, 6}
    assert len({one.id for one in known}) == len(known)
    assert all(one.id.startswith(f"{language}-{one.domain}-") for one in known)
    assert min(Counter(one.domain for one in known).values()) >= 2
    fewest, most = LENGTHS[language]
    turns = turns_of(language)
    assert all(turn == turn.strip() and turn[-1] in ".?!。？！" for turn in turns)
    assert not [turn for turn in turns if not fewest <= len(turn) <= most]


@pytest.mark.parametrize("language", FEWEST)
def test_no_turn_is_said_twice(language: str) -> None:
    """Nor with other signs or other capitals: the bot would be asked the same again."""
    said = Counter(re.sub(r"\W+", " ", turn.lower()).strip() for turn in turns_of(language))
    assert [turn for turn, times in said.items() if times > 1] == []


def test_turns_are_no_templates() -> None:
    """Few turns begin alike, and hardly any two share most of their words."""
    words = [re.findall(r"[a-z']+", turn.lower()) for turn in turns_of("en")]
    begun = Counter(tuple(one[:4]) for one in words if len(one) > 4)
    assert max(begun.values()) <= 10
    sets = [frozenset(one) for one in words]
    assert sum(len(a & b) >= 0.75 * len(a | b) for a, b in combinations(sets, 2)) <= 3


def test_no_turn_holds_personal_data() -> None:
    """A scan of answers for personal data must not find what the talks put there."""
    turns = [turn for language in FEWEST for turn in turns_of(language)]
    assert not [turn for turn in turns if "@" in turn or re.search(r"\d", turn) or personal_data(turn)]


def test_no_turn_is_abusive() -> None:
    turns = [turn for language in FEWEST for turn in turns_of(language)]
    assert set(word_list().classify(turns)) == {"neither"}


def test_english_talks_are_english() -> None:
    assert not [turn for turn in turns_of("en") if not re.fullmatch(r"[A-Za-zé ,.?!:'-]+", turn)]
    for one in conversation_scripts("en"):
        words = re.findall(r"[a-z]+", " ".join(one.turns).lower())
        assert sum(word in ENGLISH for word in words) >= 0.2 * len(words), one.id


def test_chinese_talks_are_chinese() -> None:
    """In simplified characters: those of GB 2312."""
    turns = turns_of("zh")
    assert not [turn for turn in turns if re.search("[A-Za-z]", turn) or not re.search("[一-鿿]", turn)]
    assert [turn.encode("gb2312").decode("gb2312") for turn in turns] == turns


@pytest.mark.parametrize("language", FEWEST)
def test_more_talks_begin_with_the_fewer(language: str) -> None:
    whole = sample_scripts(len(conversation_scripts(language)), 7, language)
    assert sorted(one.id for one in whole) == sorted(one.id for one in conversation_scripts(language))
    for n in (1, 5, 13):
        assert sample_scripts(n, 7, language) == whole[:n]


def test_domains_take_turns() -> None:
    domains = {one.domain for one in conversation_scripts()}
    for rounds in (1, 2, 3):
        counts = Counter(one.domain for one in sample_scripts(rounds * len(domains), 3))
        assert counts == dict.fromkeys(domains, rounds)


def test_the_seed_chooses() -> None:
    assert sample_scripts(20, 1) == sample_scripts(20, 1)
    assert len({sample_scripts(20, seed) for seed in range(5)}) == 5


@pytest.mark.parametrize("n", [0, -1, 10_000])
def test_a_number_that_there_is_not(n: int) -> None:
    with pytest.raises(PlanError, match=r"from 1 to \d+"):
        sample_scripts(n, 1)


def test_a_language_that_there_is_not() -> None:
    with pytest.raises(PlanError, match="en, zh"):
        conversation_scripts("xx")
