"""Talking with a bot, turn by turn: every utterance is on disk before the talk continues (trust 4.6).

A conversation is a transcript with a bot at its other end. It may hold several dialogs, of which each
knows nothing of the others. Taking a turn back tells the bot nothing of it any more; what the bot said
then stays in the transcript and is scored, since it did say it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from trustgauge.errors import GarbledError, ServiceError, StoreError, UnavailableError
from trustgauge.records import Message, Reply
from trustgauge.run.transcript import Transcript, lines
from trustgauge.services import Service, ServiceSpec, environment_secrets, redact, storable

Outcome = Literal["answered", "refused", "empty", "failed", "interrupted"]
SPOKE: tuple[Outcome, ...] = ("answered", "refused")
TAKEN_BACK = "undone"
"""Status of a line without text: the turn before it was taken back."""
USER = "user"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One turn: what the user said, and what became of it.

    Attributes:
        number: from 1, over all dialogs.
        dialog: its name; `turn` counts from 0 within it.
        said: by the user; `generated` names the issue whose generator wrote it, "" if a person did.
        answer: "" unless the bot spoke.
        outcome: `refused` answers are answers; the bot spoke no word in the others.
        error: why it failed, in words without secrets.
        taken_back: whether it was removed from the bot's context.
    """

    number: int
    dialog: str
    turn: int
    said: str
    answer: str = ""
    outcome: Outcome = "interrupted"
    millis: float = 0.0
    error: str = ""
    generated: str = ""
    taken_back: bool = False

    @property
    def spoke(self) -> bool:
        """Whether there is something to score."""
        return self.outcome in SPOKE


@dataclass(slots=True)
class ChatCost:
    """What the calls of this invocation cost, as far as it is known."""

    usd: float = 0.0
    tokens: int = 0


class Conversation:
    """An open conversation: a live service, a transcript, and all exchanges so far.

    Opening a transcript that already exists continues it and sends no requests.
    """

    def __init__(self, description: ServiceSpec, transcript: Path) -> None:
        self.exchanges: list[ChatTurn] = read_turns(transcript) if transcript.exists() else []
        self.spent = ChatCost()
        self._about = description
        self._place = transcript.parent.name
        self._transcript = Transcript(transcript)
        self._live: Service | None = None
        if self.exchanges and self.exchanges[-1].outcome == "interrupted":
            self._close_up(self.exchanges[-1], transcript)
        self.dialog = self._last_of_the_user() or self.next_dialog("talk")

    def next_dialog(self, kind: str) -> str:
        """The name of the next new dialog of a kind: "talk-2"."""
        known = {one.dialog for one in self.exchanges if one.dialog.rpartition("-")[0] == kind}
        return f"{kind}-{len(known) + 1}"

    def begin(self) -> str:
        """Begin a new dialog, of which the bot knows nothing yet; returns its name."""
        if any(one.dialog == self.dialog for one in self.exchanges):
            self.dialog = self.next_dialog("talk")
        return self.dialog

    async def ask(self, text: str, *, dialog: str = "", generated: str = "") -> ChatTurn:
        """Say something to the bot and hear what it answers. Its faults are outcomes, not exceptions.

        Args:
            text: what is said.
            dialog: where; in the user's own unless given.
            generated: issue whose generator wrote the text.

        Raises:
            StoreError: the transcript cannot be written.
            asyncio.CancelledError: the user would not wait; that is on disk too.
        """
        dialog = dialog or self.dialog
        mine = [one for one in self.exchanges if one.dialog == dialog]
        asked = ChatTurn(
            len(self.exchanges) + 1, dialog, len(mine), storable(text), "", "interrupted", generated=generated
        )
        self._write(asked, "user", asked.said)
        message = self._message(asked, mine)
        began = time.perf_counter()
        try:
            heard = await self._heard(asked, message)
        except (asyncio.CancelledError, KeyboardInterrupt):
            self._keep(replace(asked, millis=_since(began)))
            raise
        self._keep(heard)
        return heard

    def undo(self) -> ChatTurn | None:
        """Take the user's last turn back, out of the bot's context. None if there is none to take."""
        for place in reversed(range(len(self.exchanges))):
            one = self.exchanges[place]
            if one.dialog == self.dialog and not one.taken_back:
                self._transcript.add(one.dialog, one.turn, "user", "", status=TAKEN_BACK)
                self._transcript.flush()
                self.exchanges[place] = replace(one, taken_back=True)
                return one
        return None

    async def close(self) -> None:
        """Let go of the service and the transcript."""
        self._transcript.close()
        if self._live is not None:
            await self._live.close()

    def count_repeats(self) -> int:
        """How often in a row the bot gave its last answer; 0 if it did not speak."""
        said = [" ".join(one.answer.split()).casefold() for one in self.exchanges if one.spoke]
        count = 0
        for one in reversed(said):
            if one != said[-1]:
                break
            count += 1
        return count if self.exchanges and self.exchanges[-1].spoke else 0

    def _message(self, asked: ChatTurn, before: Iterable[ChatTurn]) -> Message:
        """The turn as the service gets it. Turns that failed are none of its past.

        It tells no script, since nobody knows what will be said: so a bot that draws by the key of a turn
        draws the same when it hears the turn again. Dialogs are draws of their own.
        """
        past = tuple((one.said, one.answer) for one in before if _heard_of(one))
        dialogs = list(dict.fromkeys(one.dialog for one in self.exchanges))
        draw = dialogs.index(asked.dialog) if asked.dialog in dialogs else len(dialogs)
        # Every chat has a "talk-1": a bot that remembers must not take one for another.
        session = f"{self._place}/{asked.dialog}"
        return Message(asked.said, draw, session, USER, past, turn=len(past))

    async def _heard(self, asked: ChatTurn, message: Message) -> ChatTurn:
        began = time.perf_counter()
        try:
            if self._live is None:
                self._live = self._about.open()
            began = time.perf_counter()  # a bot that has to be read first is not slow to answer
            self.spent.usd += self._declared(message)
            async with asyncio.timeout(self._about.timeout):
                replies = await self._live.ask([message])
            heard = self._answered(asked, replies[0])
        except TimeoutError:
            late = UnavailableError(f"no answer within {self._about.timeout:g} s", timed_out=True)
            heard = replace(asked, outcome="failed", error=str(late))
        except ServiceError as error:
            heard = replace(asked, outcome="failed", error=redact(str(error)))
        except Exception as error:  # a service of somebody else's may raise anything
            said = redact(f"{type(error).__name__}: {error}")
            heard = replace(asked, outcome="failed", error=said[:200])
        return replace(heard, millis=_since(began))

    def _answered(self, asked: ChatTurn, reply: Reply) -> ChatTurn:
        if not isinstance(reply.output, str):
            raise GarbledError("the answer is not text", must="a text", got=type(reply.output).__name__)
        if not self._declared(Message(asked.said)):
            self.spent.usd += reply.usd
        self.spent.tokens += reply.tokens
        text = redact(storable(reply.output), environment_secrets())
        if not text.strip():
            return replace(asked, outcome="empty")
        return replace(asked, answer=text, outcome="refused" if reply.refused else "answered")

    def _declared(self, message: Message) -> float:
        """The price of a call as the plan states it."""
        by_length = len(message.text) * self._about.usd_per_million_characters / 1e6
        return self._about.usd_per_call + by_length

    def _keep(self, one: ChatTurn) -> None:
        facts: dict[str, Any] = {"status": one.outcome, "millis": round(one.millis, 1)}
        if one.error:
            facts["error"] = one.error
        self._write(one, "bot", one.answer, **facts)
        self.exchanges.append(one)

    def _write(self, one: ChatTurn, speaker: Literal["user", "bot"], text: str, **facts: Any) -> None:
        if one.generated:
            facts["generated"] = one.generated
        self._transcript.add(one.dialog, one.turn, speaker, text, **facts)
        self._transcript.flush()

    def _close_up(self, one: ChatTurn, transcript: Path) -> None:
        """The last turn of a process that died while it waited is ended, so that turns stay apart."""
        rows = list(lines(transcript))
        if rows[-1]["speaker"] == "user" and rows[-1].get("status") != TAKEN_BACK:
            self._write(one, "bot", "", status="interrupted", millis=0.0)

    def _last_of_the_user(self) -> str:
        """The dialog in which a person spoke last, "" if none did."""
        return next((one.dialog for one in reversed(self.exchanges) if not one.generated), "")


def read_turns(transcript: Path) -> list[ChatTurn]:
    """The exchanges of a transcript. A turn without an answer was interrupted.

    Raises:
        StoreError: it cannot be read, or its lines are not those of a conversation.
    """
    found: list[ChatTurn] = []
    for number, row in enumerate(lines(transcript), 1):
        if row.get("status") == TAKEN_BACK:
            _take_back(found, row)
        elif row["speaker"] == "user":
            generated = str(row.get("generated", ""))
            found.append(
                ChatTurn(len(found) + 1, row["dialog"], row["turn"], row["text"], generated=generated)
            )
        elif found and (found[-1].dialog, found[-1].turn) == (row["dialog"], row["turn"]):
            found[-1] = _completed(found[-1], row)
        else:
            got = f"{transcript}, line {number}"
            raise StoreError("the bot answers nothing", must="an answer after its turn", got=got)
    return found


def _completed(one: ChatTurn, row: Mapping[str, Any]) -> ChatTurn:
    usual: Outcome = "answered" if row["text"] else "empty"
    return replace(
        one,
        answer=row["text"],
        outcome=row.get("status", usual),
        millis=float(row.get("millis", 0.0)),
        error=str(row.get("error", "")),
    )


def _take_back(found: list[ChatTurn], row: Mapping[str, Any]) -> None:
    for place, one in enumerate(found):
        if (one.dialog, one.turn) == (row["dialog"], row["turn"]):
            found[place] = replace(one, taken_back=True)


def _heard_of(one: ChatTurn) -> bool:
    """Whether a turn is in the bot's context when it is asked the next one."""
    return not one.taken_back and (one.spoke or one.outcome == "empty")


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
