"""Which conversation an exchange belongs to: clients send the earlier turns along, and these tell.

A request whose earlier messages are those of a conversation so far continues it. Nothing else is asked of
the client: no session, no header.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from trustgauge.apps.proxy.exchange_parser import ParsedExchange

MOST = 100_000
"""States of conversations that are known; beyond it the one that was longest not seen is forgotten."""


@dataclass(slots=True)
class TrackedConversation:
    """A conversation, and how many turns of it have passed."""

    name: str
    turns: int = 0


class _State:
    """Conversations that said the same so far: those not continued yet, and the one continued last."""

    __slots__ = ("continued", "fresh")

    def __init__(self) -> None:
        self.fresh: deque[TrackedConversation] = deque(maxlen=1000)
        self.continued: TrackedConversation | None = None

    def next(self) -> TrackedConversation | None:
        """The conversation that a request from here belongs to."""
        if self.fresh:
            self.continued = self.fresh.popleft()
        return self.continued  # other ways on from here belong to it, too


class ConversationTracker:
    """The conversations that have passed. What they said is not kept, only digests of it."""

    def __init__(self, prefix: str = "", most: int = MOST) -> None:
        self._prefix, self._most, self._count = prefix, most, 0
        self._at: OrderedDict[bytes, _State] = OrderedDict()

    def place(self, heard: ParsedExchange) -> tuple[str, int]:
        """Name of the conversation and number of the turn, from 0, that an exchange is.

        Two conversations that said the same so far are continued in the order in which they got there.
        An answer that is asked for again is a further turn of its conversation. One that brings a
        past of which nothing is known begins a new one.
        """
        known = self._at.get(_state(heard.user, heard.earlier)) if heard.earlier else None
        dialog = known.next() if known is not None else None
        if dialog is None:
            self._count += 1
            dialog = TrackedConversation(f"{self._prefix}{self._count}")
        turn, dialog.turns = dialog.turns, dialog.turns + 1
        said = [("user", text) for text in heard.asked]
        self._note(_state(heard.user, [*heard.earlier, *said, ("assistant", heard.answer)]), dialog)
        return dialog.name, turn

    def _note(self, state: bytes, dialog: TrackedConversation) -> None:
        self._at.setdefault(state, _State()).fresh.append(dialog)
        self._at.move_to_end(state)
        if len(self._at) > self._most:
            self._at.popitem(last=False)


def _state(user: str, messages: Iterable[tuple[str, str]]) -> bytes:
    """A digest of who talks and what the two sides said.

    Spaces do not count, nor what tools said, nor the system prompt: many programs write the time of day, or
    what they have looked up, into it anew with each request.
    """
    digest = blake2b(user.encode("utf-8", "replace"), digest_size=16)
    for role, text in messages:
        if role in ("user", "assistant"):
            words = " ".join(text.split()).encode("utf-8", "replace")
            digest.update(f"\0{role}\0{len(words)}\0".encode() + words)
    return digest.digest()
