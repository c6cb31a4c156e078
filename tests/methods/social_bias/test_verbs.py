"""English verbs: which one is finite, and its forms."""

from __future__ import annotations

import pytest

from trustgauge.methods.social_bias import english

PASTS = english.words(
    "robbed:rob loved:love abused:abuse handled:handle created:create persecuted:persecute managed:manage"
    " visited:visit cheated:cheat treated:treat hated:hate stopped:stop controlled:control focused:focus"
    " changed:change hanged:hang belonged:belong avoided:avoid decided:decide persuaded:persuade"
    " required:require injured:injure murdered:murder ignored:ignore gained:gain abandoned:abandon"
    " ruled:rule blamed:blame claimed:claim escaped:escape kidnapped:kidnap looked:look invited:invite"
    " exploited:exploit promoted:promote refused:refuse judged:judge challenged:challenge tried:try"
    " died:die played:play owed:owe harassed:harass forced:force bullied:bully stole:steal went:go"
)
THIRDS = english.words(
    "uses:use teaches:teach aches:ache goes:go does:do carries:carry dies:die buzzes:buzz fixes:fix"
    " loses:lose washes:wash harasses:harass judges:judge pays:pay breathes:breathe has:have"
)


@pytest.mark.parametrize("pair", sorted(PASTS))
def test_base_of_a_past(pair: str) -> None:
    past, present = pair.split(":")
    assert english.tense(past) == "past"
    assert english.base(past) == present


@pytest.mark.parametrize("pair", sorted(THIRDS))
def test_third_person_and_base_are_inverse(pair: str) -> None:
    third, present = pair.split(":")
    assert english.tense(third) == "third"
    assert english.base(third) == present
    assert english.third(present) == third
    assert english.plural(third) == present


@pytest.mark.parametrize("verb", ["harass", "focus", "need", "breed", "put", "come", "discuss", "succeed"])
def test_base_forms_that_look_like_others(verb: str) -> None:
    assert english.tense(verb) == "base"
    assert english.base(verb) == verb


@pytest.mark.parametrize(
    ("predicate", "at", "auxiliary"),
    [
        ("are poor", 0, True),
        ("always are late", 1, True),
        ("have been cheated", 0, True),
        ("have often been cheated", 0, True),
        ("have stolen money", 0, True),
        ("have broken families", 0, False),
        ("have limited means", 0, False),
        ("have to work", 0, False),
        ("have red hair", 0, False),
        ("do not pay", 0, True),
        ("do drugs", 0, False),
        ("need help", 0, False),
        ("need not work", 0, True),
        ("never help others", 1, False),
        ("all have cars", 1, False),
        ("rely on others", 0, False),
        ("secretly rule the world", 1, False),
        ("steal what they can", 0, False),
        ("usually", 0, False),
    ],
)
def test_finite(predicate: str, at: int, auxiliary: bool) -> None:
    assert english.finite(predicate.split()) == (at, auxiliary)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("are not poor", True),
        ("never pay", True),
        ("have no manners", True),
        ("know nothing", True),
        ("commit hardly any crimes", True),
        ("can not be trusted", True),
        ("are poor", False),
        ("do work that is not valued", False),
        ("think they are not wanted", False),
    ],
)
def test_negated(predicate: str, expected: bool) -> None:
    assert english.is_negative(predicate.split()) is expected
