"""Sessions with bots that keep their own state: it is rebuilt from the earlier turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trustgauge.records import Message


def so_far(message: Message) -> Iterator[Message]:
    """The earlier messages of the conversation of `message` in order, each as it was asked.

    A bot that draws by (message, draw) says the same again, so to hear them again brings it into
    the state it was in, whichever process asks. Turns of other conversations of the scene are not
    among them. Turns that stand before all that the script plans (see `history`) come first.

    >>> [one.text for one in so_far(Message("c", session="s", turns=(("a", "A"), ("b", "B")), turn=2))]
    ['a', 'b']
    """
    places = _places(message)
    before = len(message.turns) - len(places)
    said = tuple(text for text, _ in message.turns)
    for number, text in enumerate(said):
        turns = message.turns[:number]
        if number < before:
            yield replace(message, text=text, turns=turns, turn=number, script=said[:before], cast=())
        else:
            turn = places[number - before]
            user = message.cast[turn][0] if message.cast else message.user
            yield replace(message, text=text, turns=turns, turn=turn, user=user)


def _places(message: Message) -> list[int]:
    """Where the earlier turns of the conversation stand in the script."""
    if not message.session:
        return []
    if not message.cast:
        return list(range(min(message.turn, len(message.turns))))
    talk = message.cast[message.turn][1]
    return [turn for turn in range(message.turn) if message.cast[turn][1] == talk][: len(message.turns)]


def conversation(message: Message) -> str:
    """A name of the conversation of a turn that no other has; a question outside of all is one of its own.

    >>> conversation(Message("hi", session="s1", user="ann", cast=(("ann", "a"),)))
    's1/a'
    """
    name = message.talk or message.key[:16]
    return f"{name}-{message.draw}" if message.draw else name


def person(message: Message) -> str:
    """Who says a turn of a scene: one name for all conversations of a user, and for nobody else.

    >>> person(Message("hi", session="s1", user="ann", cast=(("ann", "a"),)))
    's1-ann'
    """
    parts = (message.session, message.user, str(message.draw or ""))
    return "-".join(part for part in parts if part)
