"""Sessions with bots that keep their own state: rebuilt from the earlier turns, or kept by a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

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


class RunNames:
    """Names of conversations and people that no other run gives to a bot that remembers them.

    A live chat goes on under its own names.
    """

    def __init__(self) -> None:
        self._run = uuid4().hex[:8]

    def conversation(self, message: Message) -> str:
        """See `conversation`."""
        return self._of_this_run(conversation(message), message)

    def person(self, message: Message) -> str:
        """See `person`."""
        return self._of_this_run(person(message), message)

    def with_person(self, message: Message) -> Message:
        """The message of a scene with such a name in the place of its user's."""
        return replace(message, user=self._of_this_run(message.user, message))

    def _of_this_run(self, name: str, message: Message) -> str:
        is_live_chat = message.session and not message.script
        return name if is_live_chat or not name else f"{name}-{self._run}"
