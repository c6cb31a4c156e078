"""Sessions with bots that keep their state themselves: it is built anew from what was said before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trustgauge.records import Message


def so_far(message: Message) -> Iterator[Message]:
    """The earlier messages of the session of `message` in order, each as it was asked.

    A bot that draws by (message, draw) says the same again, so to hear them again brings it into
    the state it was in, whichever process asks.

    >>> [one.text for one in so_far(Message("c", session="s", turns=(("a", "A"), ("b", "B"))))]
    ['a', 'b']
    """
    for turn, (text, _) in enumerate(message.turns):
        yield replace(message, text=text, turns=message.turns[:turn])
