"""Conversations from logged calls: which calls belong together, and what each side said in them.

Every call of a chat carries the turns before it. Calls that name a conversation belong to it; of the others
one continues the earlier call whose messages and reply it begins with. What a call carries besides (examples
in a prompt, turns that the log does not hold) is no evidence of what the bot says and is left out.

Calls are sorted by time on disk, so memory does not grow with the log. A call without a reply is a missing
answer, unless the same call was made again and answered: in the same conversation, else in the same trace,
else within minutes. Of calls with one id only the last counts. A call that contains another with the same
question is the same call seen from outside, as of a gateway, and is left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from trustgauge.errors import PlanError
from trustgauge.records import digest

Speaker = Literal["user", "bot"]
Said = tuple[Speaker, str]
Lack = Literal["", "prompt", "reply", "tool"]
"""What a call lacks: a prompt, or a reply, that can be read; or a reply since the model called a tool."""
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
TOOL = "tool "
"""Before the name of a conversation: of a call whose model called a tool, so that another call goes on."""
RETRY_SECONDS = 300.0
"""A call that names neither conversation nor trace is made again within this time, or not at all."""


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
        trace: names the piece of work that the call was part of, such as one request to an application.
        parent: id of what made the call, if that may be a call too.
        model: name of the model; "" if the log does not tell.
        service: name of the application; "" if the log does not tell.
        lack: a call without a readable prompt is left out, one without a readable reply is missing.
    """

    messages: Sequence[Said]
    reply: str | None
    conversation: str = ""
    started: str = ""
    whole: bool = False
    id: str = ""
    trace: str = ""
    parent: str = ""
    model: str = ""
    service: str = ""
    lack: Lack = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one side said in a conversation; `missing` if the bot's reply is not there."""

    dialog: int
    speaker: Speaker
    text: str
    missing: bool
    source: str


class _Call(NamedTuple):
    """A call as it comes back from the disk."""

    conversation: str
    trace: str
    started: str
    messages: str
    reply: str | None
    whole: int
    lack: Lack
    model: str
    service: str
    superseded: int
    nested: int

    @property
    def said(self) -> list[Said]:
        return [(who, text) for who, text in json.loads(self.messages)]

    @property
    def retry(self) -> str:
        """Name of what the call belongs to when it is made again."""
        return AGAIN + (self.conversation or f"\n{self.trace}")

    @property
    def is_tied(self) -> bool:
        """Whether the log tells what the call belongs to."""
        return bool(self.conversation or self.trace)


@dataclass
class Conversations:
    """Calls as conversations, kept in a file beside the result until they are written.

    Attributes:
        only: "model" or "service" -> the one whose calls are taken; "" for all.
        counts: what became of the calls: calls, missing, retried, history (messages left out); and where
            there are any, unreadable, cut (replies that cannot be read), nested, others (of other models).
        dialogs: how many conversations they are.
        models: model -> its calls; "" for those whose model the log does not tell.
        services: as `models`.
    """

    place: Path
    only: Mapping[str, str] = field(default_factory=dict)
    dialogs: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    services: Counter[str] = field(default_factory=Counter)

    def assemble(self, exchanges: Iterable[LoggedCall]) -> Iterator[Utterance]:
        """The utterances of all conversations, in order of their first call, each conversation together.

        Raises:
            PlanError: no call can be read, or none is of the model or service that `only` names.
        """
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

    def origins(self) -> dict[str, dict[str, int]]:
        """Models and services with their calls, as far as the log names any."""
        found = {"models": self.models, "services": self.services}
        return {kind: dict(counts) for kind, counts in found.items() if any(counts)}

    def _take_in(self, base: sqlite3.Connection, exchanges: Iterable[LoggedCall]) -> None:
        rows = (
            (
                *(one.conversation, one.trace, one.started, json.dumps(one.messages), one.reply, one.whole),
                *(one.lack, one.model, one.service, one.id, one.parent, _question(one.messages)),
            )
            for one in self._usable(exchanges)
        )
        base.executemany(
            "INSERT INTO call (conversation, trace, started, messages, reply, whole, lack, model, service, "
            "id, parent, question) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        self._refuse_unreadable(base)
        base.execute("CREATE INDEX by_time ON call (started, number)")
        base.execute("CREATE INDEX by_id ON call (id, started, number) WHERE id != ''")
        base.execute("CREATE INDEX by_parent ON call (parent) WHERE parent != ''")
        base.commit()

    def _refuse_unreadable(self, base: sqlite3.Connection) -> None:
        """Say so where there would be answers if they could be read, since an outage looks the same."""
        query = (
            "SELECT coalesce(sum(reply IS NOT NULL OR whole), 0), coalesce(sum(lack = 'reply'), 0) FROM call"
        )
        answered, cut = base.execute(query).fetchone()
        if not answered and (broken := cut + self.counts["unreadable"]):
            what = f"{broken:,} calls have messages that cannot be read, and no other has a reply"
            do = "If they were cut off, raise the limit on the length of attributes where they are recorded"
            raise PlanError.of("FILE", what, "messages that are whole", do=do)

    def _usable(self, exchanges: Iterable[LoggedCall]) -> Iterator[LoggedCall]:
        """The calls that can be read, of the model and the service that are wanted."""
        names: dict[str, dict[str, None]] = {kind: {} for kind, name in self.only.items() if name}
        for one in exchanges:
            own = {"model": one.model, "service": one.service}
            for kind, known in names.items():
                known.setdefault(own[kind])
            if any(own[kind] != self.only[kind] for kind in names):
                self.counts["others"] += 1
            elif one.lack == "prompt":
                self.counts["unreadable"] += 1
            else:
                yield one
        for kind, known in names.items():
            if self.only[kind] not in known:
                listed = ", ".join(sorted(filter(None, known)))
                must = f"one of: {listed}" if listed else f"left out, since the log names no {kind}"
                raise PlanError.of(f"--{kind}", f"no call of this {kind}", must, self.only[kind])

    def _stitch(self, base: sqlite3.Connection) -> None:
        for call in map(_Call._make, base.execute(_CALLS)):
            self.counts["calls"] += 1
            if call.superseded:
                self.counts["retried"] += 1
            elif call.nested:
                self.counts["nested"] += 1
            else:
                self._count(call)
                self._place(base, call)
        base.commit()

    def _count(self, call: _Call) -> None:
        self.models[call.model] += 1
        self.services[call.service] += 1
        self.counts["missing"] += call.reply is None
        if call.lack == "reply":
            self.counts["cut"] += 1

    def _place(self, base: sqlite3.Connection, call: _Call) -> None:
        """Put what is new in a call where it belongs, and note what may go on with it."""
        said = call.said
        if call.whole:
            _add(base, _new(base, call.conversation), 0, said, call.reply)
            return
        dialog, place, fresh = self._continued(base, call, said)
        _add(base, dialog, place, fresh, call.reply)
        end = place + len(fresh) + 1
        if call.reply is not None:
            _open(base, _hash(call.conversation, [*said, ("bot", call.reply)]), dialog, end)
            return
        if call.lack == "tool":
            _open(base, _hash(TOOL + call.conversation, said), dialog, place)
        elif call.lack != "reply":  # what came but cannot be read is no failure
            _open(base, _hash(call.retry, said), dialog, place, call.started)
        if len(fresh) < len(said):
            _open(base, _hash(call.conversation, said[: len(said) - len(fresh)]), dialog, end)

    def _continued(
        self, base: sqlite3.Connection, call: _Call, said: list[Said]
    ) -> tuple[int, int, list[Said]]:
        """The dialog that a call goes on with, at which place, and what is new in the call."""
        before = _before(said)
        fresh = said[len(before) :]
        again = _made_before(base, call, said)
        found = again or (_opened(base, _hash(call.conversation, before)) if before else None)
        if found is None and call.conversation:
            # its history was cut or changed on the way: it goes on at its end
            found = base.execute(
                "SELECT dialog, max(place) + 1 FROM said WHERE dialog = "
                "(SELECT number FROM dialog WHERE source = ? ORDER BY number DESC LIMIT 1) GROUP BY dialog",
                (call.conversation,),
            ).fetchone()
        if found is None:
            self.counts["history"] += len(before)
            return _new(base, call.conversation), 0, fresh
        dialog, place = found
        base.execute("DELETE FROM opened WHERE dialog = ?", (dialog,))
        if again:
            base.execute("DELETE FROM said WHERE dialog = ? AND place >= ?", (dialog, place))
            self.counts["retried"] += 1
            self.counts["missing"] -= 1
        return dialog, place, fresh


_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;
CREATE TABLE call (number INTEGER PRIMARY KEY, conversation TEXT, trace TEXT, started TEXT, messages TEXT,
  reply TEXT, whole INTEGER, lack TEXT, model TEXT, service TEXT, id TEXT, parent TEXT, question TEXT);
CREATE TABLE dialog (number INTEGER PRIMARY KEY, source TEXT);
CREATE INDEX by_source ON dialog (source);
CREATE TABLE said (dialog INTEGER, place INTEGER, speaker TEXT, text TEXT, PRIMARY KEY (dialog, place))
  WITHOUT ROWID;
CREATE TABLE opened (hash TEXT, dialog INTEGER, place INTEGER, started TEXT);
CREATE INDEX by_hash ON opened (hash);
CREATE INDEX by_dialog ON opened (dialog);
"""
# Of a call and what it contains that which has a reply is kept, the inner one where both have.
_CALLS = """
SELECT conversation, trace, started, messages, reply, whole, lack, model, service,
  id != '' AND EXISTS (
    SELECT 1 FROM call AS later WHERE later.id = call.id AND later.id != ''
    AND (later.started, later.number) > (call.started, call.number)),
  id != '' AND EXISTS (
    SELECT 1 FROM call AS child WHERE child.parent = call.id AND child.parent != '' AND child.id != call.id
    AND child.question = call.question AND (child.reply IS NOT NULL OR call.reply IS NULL))
  OR parent != '' AND reply IS NULL AND EXISTS (
    SELECT 1 FROM call AS holder WHERE holder.id = call.parent AND holder.id != '' AND holder.id != call.id
    AND holder.question = call.question AND holder.reply IS NOT NULL)
FROM call ORDER BY started, number
"""


def _question(messages: Sequence[Said]) -> str:
    """The user's last words, in short."""
    return digest("question", [next((text for who, text in reversed(messages) if who == "user"), "")])


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


def _open(base: sqlite3.Connection, name: str, dialog: int, place: int, started: str = "") -> None:
    """A later call whose messages have this hash goes on with this dialog, at this place."""
    base.execute("INSERT INTO opened VALUES (?, ?, ?, ?)", (name, dialog, place, started))


def _opened(base: sqlite3.Connection, name: str) -> tuple[int, int] | None:
    """Dialog and place of the earliest call that one with this hash goes on with."""
    query = "SELECT dialog, place FROM opened WHERE hash = ? ORDER BY rowid LIMIT 1"
    found: tuple[int, int] | None = base.execute(query, (name,)).fetchone()
    return found


def _made_before(base: sqlite3.Connection, call: _Call, said: Sequence[Said]) -> tuple[int, int] | None:
    """Dialog and place of the call without a reply that this one makes again, or follows after a tool."""
    query = "SELECT dialog, place, started FROM opened WHERE hash = ? ORDER BY rowid DESC LIMIT 1"
    row = base.execute(query, (_hash(call.retry, said),)).fetchone()
    if row is not None and (call.is_tied or _is_soon(row[2], call.started)):
        return row[0], row[1]
    return _opened(base, _hash(TOOL + call.conversation, said))


def _is_soon(first: str, second: str) -> bool:
    """Whether two calls are so near in time that one may be the other made again; no if nobody knows."""
    times = _seconds(first), _seconds(second)
    return times[0] is not None and times[1] is not None and times[1] - times[0] <= RETRY_SECONDS


def _seconds(started: str) -> float | None:
    """A time since 1970; of digits the first ten are seconds, whatever the unit."""
    if started.isascii() and started.isdigit():
        return float(f"{started[:10]}.{started[10:]}")
    try:
        moment = datetime.fromisoformat(started)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


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
