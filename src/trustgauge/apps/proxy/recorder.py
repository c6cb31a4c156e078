"""What passed becomes a transcript, off the path: a thread reads; a full queue loses rows, not traffic."""

from __future__ import annotations

import queue
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes
from typing import Any

from trustgauge.apps.proxy.exchange import Exchange
from trustgauge.apps.proxy.exchange_parser import ParsedExchange, UnratableError, parse_exchange
from trustgauge.errors import StoreError
from trustgauge.run.transcript import Transcript

ROOM = 2_000
"""Exchanges that may wait to be read."""
ROOM_BYTES = 64_000_000
"""Bytes that they may hold together."""
_GROUP = 200  # exchanges that are made durable together


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
    what they have looked up, into it again with each request.
    """
    digest = blake2b(user.encode("utf-8", "replace"), digest_size=16)
    for role, text in messages:
        if role in ("user", "assistant"):
            words = " ".join(text.split()).encode("utf-8", "replace")
            digest.update(f"\0{role}\0{len(words)}\0".encode() + words)
    return digest.digest()


@dataclass(slots=True)
class TrafficCounts:
    """What became of the conversations that passed.

    Attributes:
        read: exchanges in the transcript.
        utterances: of the bot among them, the empty ones left out.
        missed: why the others are not in it -> how many. Beside the reasons of `hearing.Missed`:
            "unwritten", as the disk took no more. "lost" are also those that found too many waiting.
        statuses: of failed ones, status -> how many.
        models: that answered -> how many times.
        refused: requests that did not pass: code of `answers.Refusal` -> how many.
        faults: of the proxy itself, each of which ended a connection: kind -> how many.
    """

    read: int = 0
    utterances: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def facts(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "read": self.read,
            "utterances": self.utterances,
            "missed": dict(sorted(self.missed.items())),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "models": dict(sorted(self.models.items())),
            "refused": dict(sorted(self.refused.items())),
            "faults": dict(sorted(self.faults.items())),
        }


class Recorder:
    """Takes exchanges from the path without ever waiting, and writes what was said in them."""

    def __init__(self, transcript: Transcript, prefix: str = "", room: int = ROOM) -> None:
        self.counts, self.error = TrafficCounts(), ""
        self._transcript, self._salt = transcript, token_bytes(16)
        self._conversations = ConversationTracker(prefix)
        self._queue: queue.Queue[Exchange | threading.Event | None] = queue.Queue()
        self._room, self._held, self._waiting, self._lock = room, 0, 0, threading.Lock()
        self._thread = threading.Thread(target=self._work, name="transcript", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def offer(self, exchange: Exchange) -> None:
        """Take an exchange to be read; if there is no room it is lost, and counted. Never waits."""
        with self._lock:
            full = self._waiting >= self._room or self._held + exchange.size > ROOM_BYTES
            if full:
                self.counts.missed["lost"] += 1
                return
            self._waiting, self._held = self._waiting + 1, self._held + exchange.size
        self._queue.put(exchange)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until all that was offered so far is written. Returns whether it is."""
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(timeout)

    def close(self) -> None:
        """Write what waits, and close the transcript."""
        self._queue.put(None)
        self._thread.join()
        try:
            self._transcript.close()
        except StoreError as error:
            self.error = self.error or str(error)

    def _work(self) -> None:
        going_on = True
        while going_on:
            group = [self._queue.get()]
            while len(group) < _GROUP and not self._queue.empty():
                group.append(self._queue.get())
            going_on = None not in group
            self._write([one for one in group if isinstance(one, Exchange)])
            for one in group:
                if isinstance(one, threading.Event):
                    one.set()

    def _write(self, group: list[Exchange]) -> None:
        """Write a group and make it durable; without a disk it is counted, and traffic goes on."""
        before = self.counts.read
        for exchange in group:
            self._add(exchange)
        try:
            if self.counts.read > before:
                self._transcript.flush()
        except StoreError as error:
            self.error = self.error or str(error)
        with self._lock:
            self._waiting -= len(group)
            self._held -= sum(one.size for one in group)

    def _add(self, exchange: Exchange) -> None:
        counts = self.counts
        if self.error:  # half a conversation after a gap would be recorded wrongly
            counts.missed["unwritten"] += 1
            return
        try:
            self._keep(parse_exchange(exchange), exchange)
        except UnratableError as missed:
            counts.missed[missed.why] += 1
            if missed.why == "failed":
                counts.statuses[exchange.status] += 1
        except StoreError as error:
            self.error = str(error)
            counts.missed["unwritten"] += 1
        except Exception:  # what passes is hostile: whatever it does to the reader, the next is read
            counts.missed["unreadable"] += 1

    def _keep(self, heard: ParsedExchange, exchange: Exchange) -> None:
        dialog, turn = self._conversations.place(heard)
        facts: dict[str, Any] = {"user": self._mask(heard.user)} if heard.user else {}
        for text in heard.asked:
            self._transcript.add(dialog, turn, "user", text, **facts)
        self._transcript.add(dialog, turn, "bot", heard.answer, **facts, **_call_facts(heard, exchange))
        self.counts.read += 1
        self.counts.utterances += bool(heard.answer.strip())
        self.counts.models[heard.model] += 1

    def _mask(self, user: str) -> str:
        """A name for a user that tells users apart, and nobody who they are."""
        return blake2b(user.encode("utf-8", "replace"), key=self._salt, digest_size=6).hexdigest()


def _call_facts(heard: ParsedExchange, exchange: Exchange) -> Mapping[str, Any]:
    status = "refused" if heard.refused else "answered" if heard.answer.strip() else "empty"
    return {"status": status, "millis": exchange.millis, **({"model": heard.model} if heard.model else {})}
