"""What was said before in a conversation, for bots that keep their state themselves."""

from __future__ import annotations

import pytest

from trustgauge.records import Message
from trustgauge.services.session_replay import person, so_far

CAST = (("ann", "x"), ("bob", "y"), ("ann", "x"), ("bob", "x"), ("ann", "x"))
SCRIPT = tuple("abcde")


def scene(turn: int, **changes: object) -> Message:
    """A turn as an engine asks it."""
    talk = CAST[turn][1]
    turns = tuple((SCRIPT[at], SCRIPT[at].upper()) for at in range(turn) if CAST[at][1] == talk)
    facts = {"user": CAST[turn][0], "turns": turns, "script": SCRIPT, "turn": turn, "cast": CAST, **changes}
    return Message(SCRIPT[turn], 2, "s", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("turn", range(5))
def test_earlier_turns_of_the_same_talk_come_back_as_they_were_asked(turn: int) -> None:
    expected = [scene(at) for at in range(turn) if CAST[at][1] == CAST[turn][1]]
    assert list(so_far(scene(turn))) == expected


def test_a_session_of_one_user() -> None:
    turns = (("a", "A"), ("b", "B"))
    message = Message("c", 1, "s", "ann", turns=turns, script=("a", "b", "c"), turn=2)
    assert list(so_far(message)) == [
        Message("a", 1, "s", "ann", script=("a", "b", "c"), turn=0),
        Message("b", 1, "s", "ann", turns=turns[:1], script=("a", "b", "c"), turn=1),
    ]
    assert list(so_far(Message("alone"))) == []


def test_a_history_comes_first_and_has_keys_of_its_own() -> None:
    history = (("h", "H"), ("i", "I"))
    planned = scene(2)
    first, second, third = so_far(scene(2, turns=(*history, *planned.turns)))
    assert [first.text, second.text, third.text] == ["h", "i", "a"]
    assert (second.turns, second.turn, second.script, second.cast) == (history[:1], 1, ("h", "i"), ())
    assert third.key == scene(0).key
    assert third.turns == history
    assert len({first.key, second.key, third.key}) == 3
    assert [one.text for one in so_far(Message("alone", turns=history))] == ["h", "i"]


def test_a_person_is_the_same_in_all_conversations_and_nobody_else() -> None:
    assert person(scene(0)) == person(scene(4)) == "s-ann-2"
    assert person(scene(1)) != person(scene(0))
    others = {"session": "t"}, {"draw": 0}
    for change in others:
        known = {"draw": 2, "session": "s", "user": "ann"} | change
        assert person(Message("a", **known)) != "s-ann-2"  # type: ignore[arg-type]
