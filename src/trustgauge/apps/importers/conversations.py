"""Conversations from logged calls: which calls belong together, and what each side said in them.

Every call of a chat carries the turns before it. Calls that name a conversation belong to it; of the others
one continues the earlier call whose messages and reply it begins with. What a call carries besides (examples
in a prompt, turns that the log does not hold) is no evidence of what the bot says and is left out.

Calls are sorted by time on disk, so memory does not grow with the log. A call without a reply is a missing
answer, unless the same call was made again and answered. Of calls with one id only the last counts.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trustgauge.records import digest

Speaker = Literal["user", "bot"]
Said = tuple[Speaker, str]
ROLES: dict[str, Speaker] = {
    "user": "user",
    "human": "user",
    "assistant": "bot",
    "ai": "bot",
    "model": "bot",
    "bot": "bot",
}
"""Roles of messages, in small letters; all others (system, tool, ...) are neither side's words."""
MISSING = "failed"
"""Status of a reply that is not there."""
AGAIN = "again "
"""Before the name of a conversation: of a call without a reply, which may be made again."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One call of a chat.

    Attributes:
        messages: what was sent, in order, both sides; the last is the user's.
        reply: what the bot said; None if nothing came.
        conversation: name of the conversation, "" if the log does not tell.
        started: sorts calls by time: ISO 8601, or digits of equal length; "" keeps the order of the file.
        whole: the messages are the whole conversation, so those of the bot are its answers.
        id: the same each time that this call was made or written; "" if the log does not tell.
    """

    messages: Sequence[Said]
    reply: str | None
    conversation: str = ""
    started: str = ""
    whole: bool = False
    id: str = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one side said in a conversation; `missing` if the bot's reply is not there."""

    dialog: int
    speaker: Speaker
    text: str
    missing: bool
    source: str


@dataclass
class Conversations:
    """Calls as conversations, kept in a file beside the result until they are written.

    Attributes:
        counts: what became of the calls: calls, missing, retried, history (messages left out).
        dialogs: how many conversations they are.
    """

    place: Path
    dialogs: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def assemble(self, exchanges: Iterable[LoggedCall]) -> Iterator[Utterance]:
        """The utterances of all conversations, in order of their first call, each conversation together."""
        self.place.unlink(missing_ok=True)
        base = sqlite3.connect(self.place)
        try:
            base.executescript(_SCHEMA)
            self._take_in(base, exchanges)
            self._stitch(base)
            self.dialogs = base.execute("SELECT count(*) FROM dialog").fetchone()[0]
            yield from _utterances(base)
        finally:
            base.close()
            self.place.unlink(missing_ok=True)

    def _take_in(self, base: sqlite3.Connection, exchanges: Iterable[LoggedCall]) -> None:
        rows = (
            (one.conversation, one.started, json.dumps(one.messages), one.reply, one.whole, one.id)
            for one in exchanges
        )
        base.executemany(
            "INSERT INTO call (conversation, started, messages, reply, whole, id) VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
        base.execute("CREATE INDEX by_time ON call (started, number)")
        base.execute("CREATE INDEX by_id ON call (id, started, number) WHERE id != ''")
        base.commit()

    def _stitch(self, base: sqlite3.Connection) -> None:
        for conversation, messages, reply, whole, retried in base.execute(_CALLS):
            self.counts["calls"] += 1
            if retried:
                self.counts["retried"] += 1
                continue
            said: list[Said] = [(who, text) for who, text in json.loads(messages)]
            self.counts["missing"] += reply is None
            if whole:
                dialog, place, fresh = _new(base, conversation), 0, said
            else:
                dialog, place, fresh = self._continued(base, conversation, said)
            _add(base, dialog, place, fresh, reply)
            end = place + len(fresh) + 1
            if whole:
                continue
            if reply is not None:
                _open(base, _hash(conversation, [*said, ("bot", reply)]), dialog, end)
                continue
            _open(base, _hash(AGAIN + conversation, said), dialog, place)
            if len(fresh) < len(said):
                _open(base, _hash(conversation, said[: len(said) - len(fresh)]), dialog, end)
        base.commit()

    def _continued(
        self, base: sqlite3.Connection, conversation: str, said: list[Said]
    ) -> tuple[int, int, list[Said]]:
        """The dialog that a call goes on with, at which place, and what is new in the call."""
        before = _before(said)
        fresh = said[len(before) :]
        again = _opened(base, _hash(AGAIN + conversation, said))
        found = again or (_opened(base, _hash(conversation, before)) if before else None)
        if found is None and conversation:
            # its history was cut or changed on the way: it goes on at its end
            found = base.execute(
                "SELECT dialog, max(place) + 1 FROM said WHERE dialog = "
                "(SELECT number FROM dialog WHERE source = ? ORDER BY number DESC LIMIT 1) GROUP BY dialog",
                (conversation,),
            ).fetchone()
        if found is None:
            self.counts["history"] += len(before)
            return _new(base, conversation), 0, fresh
        dialog, place = found
        base.execute("DELETE FROM opened WHERE dialog = ?", (dialog,))
        if again:
            base.execute("DELETE FROM said WHERE dialog = ? AND place >= ?", (dialog, place))
            self.counts["retried"] += 1
            self.counts["missing"] -= 1
        return dialog, place, fresh


_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
CREATE TABLE call (number INTEGER PRIMARY KEY, conversation TEXT, started TEXT, messages TEXT, reply TEXT,
  whole INTEGER, id TEXT);
CREATE TABLE dialog (number INTEGER PRIMARY KEY, source TEXT);
CREATE INDEX by_source ON dialog (source);
CREATE TABLE said (dialog INTEGER, place INTEGER, speaker TEXT, text TEXT, PRIMARY KEY (dialog, place))
  WITHOUT ROWID;
CREATE TABLE opened (hash TEXT, dialog INTEGER, place INTEGER);
CREATE INDEX by_hash ON opened (hash);
CREATE INDEX by_dialog ON opened (dialog);
"""
_CALLS = """
SELECT conversation, messages, reply, whole, id != '' AND EXISTS (
  SELECT 1 FROM call AS later WHERE later.id = call.id AND later.id != ''
  AND (later.started, later.number) > (call.started, call.number))
FROM call ORDER BY started, number
"""


def _before(said: Sequence[Said]) -> list[Said]:
    """The messages up to the bot's last word: the history of a call."""
    last = max((place for place, (who, _) in enumerate(said) if who == "bot"), default=-1)
    return list(said[: last + 1])


def _hash(conversation: str, said: Sequence[Said]) -> str:
    return digest("conversation", [conversation, [list(one) for one in said]])


def _new(base: sqlite3.Connection, conversation: str) -> int:
    number = base.execute("INSERT INTO dialog (source) VALUES (?)", (conversation,)).lastrowid
    assert number is not None
    return number


def _open(base: sqlite3.Connection, name: str, dialog: int, place: int) -> None:
    """A later call whose messages have this hash goes on with this dialog, at this place."""
    base.execute("INSERT INTO opened VALUES (?, ?, ?)", (name, dialog, place))


def _opened(base: sqlite3.Connection, name: str) -> tuple[int, int] | None:
    """Dialog and place of the earliest call that one with this hash goes on with."""
    query = "SELECT dialog, place FROM opened WHERE hash = ? ORDER BY rowid LIMIT 1"
    found: tuple[int, int] | None = base.execute(query, (name,)).fetchone()
    return found


def _add(base: sqlite3.Connection, dialog: int, place: int, fresh: Sequence[Said], reply: str | None) -> None:
    rows = [(dialog, place + n, who, text) for n, (who, text) in enumerate(fresh)]
    rows.append((dialog, place + len(fresh), "bot", reply))  # type: ignore[arg-type]
    base.executemany("INSERT INTO said VALUES (?, ?, ?, ?)", rows)


def _utterances(base: sqlite3.Connection) -> Iterator[Utterance]:
    rows = base.execute(
        "SELECT said.dialog, speaker, text, source FROM said JOIN dialog ON dialog.number = said.dialog "
        "ORDER BY said.dialog, place"
    )
    for dialog, speaker, text, source in rows:
        yield Utterance(dialog, speaker, text or "", text is None, source)
