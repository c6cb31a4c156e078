"""Where answers are kept, as cache and as evidence: the protocol of a store, its keys, and opening one.

The stores are the plug-ins `trustgauge.stores`; a run folder holds one. A key is (fingerprint, message,
draw): sixteen bytes in arrays and sets that stay small.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trustgauge import plugins
from trustgauge.records import Answer, Cost, whole_characters

if TYPE_CHECKING:
    import polars as pl


Packed = NDArray[np.uint64]
"""Keys as an array [n, 2] of two numbers each."""

SIZE = 16  # bytes of a key
LOOSE = 100_000
"""Keys of a `KeySet` above which they are packed: a set of tuples takes twelve times the memory."""

_SERVICE = np.uint64(0xFFFF) << np.uint64(48)  # the bits of the first number that tell the service


COLUMNS = (
    *("fingerprint", "message", "draw", "text", "status", "output", "trail", "error", "detail"),
    *("millis", "attempts", "tokens", "usd", "at", "script", "origin"),
)
"""Columns of the table `response`, in order."""
CHUNKS = (128, 16, 1)
"""Rows a statement: one statement runs without Python's lock from end to end."""
SOUGHT = 1_000
"""Keys a statement looks up."""
INSERT = (
    f"INSERT INTO response ({', '.join(COLUMNS)}) VALUES ({','.join('?' * len(COLUMNS))}) "
    "ON CONFLICT (fingerprint, message, draw) DO NOTHING"
)
"""Insert a row unless there is one with its key."""
Key = tuple[str, int]
"""(message, draw): with the fingerprint of the service, the key of an answer."""
BY_HAND = "by hand"
"""How the `detail` of an answer begins that people collected and imported (social-bias 3.7)."""
MOST_NAMES = 50
"""Of models and versions that are reported of one service."""
USUAL = "sqlite"
"""The store of a run unless its plan or an option names another."""
_COPIED = 50_000  # keys that are copied at a time


def pack_keys(fingerprint: str, messages: Sequence[str], draws: Sequence[int]) -> Packed:
    """Keys of one service as numbers, in the given order.

    Args:
        fingerprint: of the service.
        messages: keys of messages, [n].
        draws: [n].
    """
    if not len(messages):
        return np.empty((0, 2), dtype=np.uint64)
    words = np.frombuffer(_raw(messages), dtype="<u8").astype(np.uint64).reshape(-1, 2)
    service = np.frombuffer(_hashed(fingerprint), dtype="<u8").astype(np.uint64)
    words ^= service
    words ^= np.asarray(draws, dtype=np.int64).view(np.uint64)[:, None]
    words[:, 0] = (words[:, 0] & ~_SERVICE) | (service[0] & _SERVICE)
    return words


def order_of(keys: Packed) -> NDArray[np.int64]:
    """The places of keys in ascending order: [n]."""
    return np.lexsort((keys[:, 1], keys[:, 0]))


def is_ascending(keys: Packed) -> bool:
    """Whether keys are sorted and none stands twice."""
    first, second = keys[1:], keys[:-1]
    more = (first[:, 0] > second[:, 0]) | ((first[:, 0] == second[:, 0]) & (first[:, 1] > second[:, 1]))
    return bool(more.all())


def _raw(messages: Sequence[str]) -> bytes:
    """The bytes that hex digits stand for; what is no hash of ours is hashed."""
    if set(map(len, messages)) == {2 * SIZE}:
        try:
            found = bytes.fromhex("".join(messages))
        except ValueError:
            found = b""
        if len(found) == SIZE * len(messages):
            return found
    return _hashed(messages[0]) if len(messages) == 1 else b"".join(_raw([one]) for one in messages)


def _hashed(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def positions_in(ordered: Packed, keys: Packed) -> NDArray[np.int64]:
    """Where each of `keys` stands in an ascending array, -1 where it does not: [n]."""
    found = np.full(len(keys), -1, dtype=np.int64)
    if not len(ordered):
        return found
    heads, tails = ordered[:, 0], ordered[:, 1]
    places = np.searchsorted(heads, keys[:, 0])
    left = np.arange(len(keys))
    while len(left):  # once, but for keys of which half is the same
        inside = places[left] < len(heads)
        left = left[inside]
        left = left[heads[places[left]] == keys[left, 0]]
        same = tails[places[left]] == keys[left, 1]
        found[left[same]] = places[left[same]]
        left = left[~same]
        places[left] += 1
    return found


class KeySet:
    """A growing set of (message, draw) of one service, small also when it holds millions.

    Up to `loose` keys at a time are kept as they are; more are packed.
    """

    def __init__(self, keys: Iterable[Key] = (), loose: int = LOOSE) -> None:
        self._most_loose = loose
        self._loose: set[Key] = set()
        self._packed: list[Packed] = []  # each sorted, each at least twice as long as the next
        self.add(keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Take keys in; those that are there already change nothing."""
        self._loose.update(keys)
        if len(self._loose) > self._most_loose:
            self._pack()

    def holds(self, keys: Sequence[Key]) -> list[bool]:
        """Which of `keys` are in the set, in their order."""
        loose = [key in self._loose for key in keys]
        if not self._packed or not keys:
            return loose
        wanted = pack_keys("", [message for message, _ in keys], [draw for _, draw in keys])
        found = np.array(loose)
        for run in self._packed:
            found |= positions_in(run, wanted) >= 0
        return found.tolist()  # type: ignore[no-any-return]

    def _pack(self) -> None:
        loose = list(self._loose)
        self._loose = set()
        keys = pack_keys("", [one for one, _ in loose], [draw for _, draw in loose])
        self._packed.append(np.asfortranarray(keys[order_of(keys)]))
        while len(self._packed) > 1 and 2 * len(self._packed[-1]) > len(self._packed[-2]):
            last = self._packed.pop()
            merged = np.concatenate([self._packed.pop(), last])
            self._packed.append(np.asfortranarray(merged[order_of(merged)]))


def _upsert(rows: int) -> str:
    """Insert rows; a failed row gives way and its costs are added, a good row stays."""
    one = "(" + ",".join("?" * len(COLUMNS)) + ")"
    replaced = ", ".join(
        f"{name} = excluded.{name}" for name in COLUMNS[3:] if name not in ("attempts", "tokens", "usd")
    )
    added = ", ".join(f"{name} = response.{name} + excluded.{name}" for name in ("attempts", "tokens", "usd"))
    return (
        f"INSERT INTO response ({', '.join(COLUMNS)}) VALUES {','.join([one] * rows)} "
        f"ON CONFLICT (fingerprint, message, draw) DO UPDATE SET {replaced}, {added} "
        "WHERE response.status = 'failed'"
    )


UPSERTS = {rows: _upsert(rows) for rows in CHUNKS}


def lookup(columns: str, keys: Sequence[Key]) -> str:
    """Rows of one service with these keys: takes the fingerprint, then message and draw of each."""
    pairs = ",".join(["(?,?)"] * len(keys))
    return (
        f"SELECT {columns} FROM (SELECT column1 AS m, column2 AS d FROM (VALUES {pairs})) "
        "CROSS JOIN response ON fingerprint = ? AND message = m AND draw = d"
    )


def row_of(answer: Answer) -> tuple[object, ...]:
    """An answer as a row of `COLUMNS`."""
    trail = json.dumps(answer.trail, ensure_ascii=False) if answer.trail else "[]"
    row = (
        *(answer.fingerprint, answer.message, answer.draw, answer.text, answer.status, answer.output),
        *(trail, answer.error, answer.detail, answer.millis, answer.attempts, answer.tokens, answer.usd),
        *(answer.at, answer.script, ""),
    )
    if answer.text.isascii() and (answer.output is None or answer.output.isascii()) and trail.isascii():
        return row
    return tuple(whole_characters(value) if isinstance(value, str) else value for value in row)


@runtime_checkable
class Store(Protocol):
    """The answers of one run and what was made of them.

    Resuming has no state: what is pending is what is wanted minus what is `present`. A failed
    row counts as pending and is replaced by the next attempt; a good row is never overwritten.
    Nor is a text asked again that a service rejected which answered others: if it were, a service that
    rejects some texts by chance would be rated as faithful once it was asked often enough.
    """

    def add(self, answers: Sequence[Answer]) -> None:
        """Keep answers. They are committed, so survive kill -9, when this returns.

        Raises DiskFullError or StoreError; then none of `answers` was kept.
        """

    def present(self, fingerprint: str) -> set[Key]:
        """Keys of the answers of one service that need not be asked again."""

    def holds(self, fingerprint: str, keys: Sequence[Key]) -> list[bool]:
        """Which of `keys` need not be asked again, in their order: `present` for some keys only."""

    def by_hand(self, fingerprint: str) -> int:
        """How many of the answers of one service that need not be asked again were imported by hand."""

    def answers(self, fingerprint: str) -> pl.DataFrame:
        """All rows of one service, sorted by key: message, draw, text and records.RESPONSE."""

    def answers_to(self, fingerprint: str, keys: Sequence[Key]) -> pl.DataFrame:
        """The rows of one service with these keys, in no order; columns as `answers`."""

    def repeats(self, fingerprint: str) -> Iterator[pl.DataFrame]:
        """The rows of draws above 0, some at a time, each time with draw 0 of their messages."""

    def borrow(self, path: Path, fingerprint: str, wanted: Iterable[Key], origin: str) -> int:
        """Copy usable answers from the store at `path`; `origin` names its run. Returns how many.

        Failed ones give way as in `take`.
        """

    def usable(self, fingerprint: str, keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        """Whole rows with these keys that need not be asked again, in the order of `statements.COLUMNS`."""

    def take(self, rows: Iterable[Sequence[object]], origin: str) -> int:
        """Keep whole rows that another store held; `origin` names its run. Returns how many.

        A failed row with the same key that would be asked again gives way, and its cost stays counted; else a
        row whose key is there already is passed over.
        """

    def answered_as(self, fingerprints: Iterable[str]) -> tuple[str, ...]:
        """What the answers of some services say they came from, each once, sorted; the first MOST_NAMES."""

    def cost(self, fingerprints: Iterable[str]) -> Cost:
        """What the kept answers cost, over all sittings of this run; borrowed ones cost nothing.

        Failed rows in whose place others were copied count too.
        """

    def hash(self, fingerprints: Iterable[str]) -> str:
        """Hash of what was answered, independent of order, times and attempts."""

    def put(self, name: str, text: str) -> str:
        """Keep a document (a summary, a rating, reasons) under a name. Returns its hash."""

    def get(self, name: str) -> str | None:
        """The document kept under a name, None if there is none."""

    def add_probes(self, experiment: str, frame: pl.DataFrame) -> None:
        """Keep the probes of an experiment: columns of records.PROBE and the method's factors."""

    def probes(self, experiment: str) -> pl.DataFrame:
        """The kept probes, in the order they were added; `factors` is one JSON object a row."""

    def probe_slices(self, experiment: str) -> Iterator[pl.DataFrame]:
        """The same, some at a time."""

    def integrity(self) -> None:
        """Check the file and re-derive every key and hash. Raises StoreError if anything differs."""

    def close(self) -> None:
        """Release the file and its lock. May be called twice."""


class OpenStore(Store, Protocol):
    """A store that closes itself at the end of a `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> Any: ...


def store_path(folder: Path, kind: str) -> Path:
    """Where a store of this kind lies in a run folder: "store.sqlite"."""
    return folder / f"store.{kind}"


def kind_of(folder: Path) -> str | None:
    """The kind of store that a run folder holds, None if there is none."""
    return next((kind for kind in plugins.names("stores") if store_path(folder, kind).exists()), None)


def open_store(folder: Path, kind: str | None = None, *, read_only: bool = True) -> OpenStore:
    """Open the store of a run folder.

    Args:
        folder: of the run.
        kind: of a store that is to be made; one that is there already is of the kind it is.
        read_only: nothing is made or changed.

    Raises StoreError if there is none to read, or it cannot be opened; PlanError for an unknown kind.
    """
    found = kind_of(folder) or kind or USUAL
    opened: OpenStore = plugins.load("stores", found, "run.store")(
        store_path(folder, found), read_only=read_only
    )
    return opened


def copy_stored_answers(folder: Path, store: Store, fingerprint: str, wanted: Iterable[Key]) -> int:
    """Copy usable answers from the store of another run folder. Returns how many.

    Raises StoreError if that store cannot be read.
    """
    path = store_path(folder, kind_of(folder) or USUAL)
    if path.is_file():
        return store.borrow(path, fingerprint, wanted, folder.name)
    copied, keys = 0, iter(wanted)
    with open_store(folder) as other:
        while some := list(islice(keys, _COPIED)):
            copied += store.take(other.usable(fingerprint, _lacking(store, fingerprint, some)), folder.name)
    return copied


def _lacking(store: Store, fingerprint: str, keys: Sequence[Key]) -> list[Key]:
    return [key for key, known in zip(keys, store.holds(fingerprint, keys), strict=True) if not known]


MOST_WAITING = 100_000
"""Answers that may wait for the disk; above it `keep` waits too, so that memory is bounded."""


class GroupSink(Protocol):
    """Where groups go: the one function of a store that the writer needs."""

    def add(self, answers: Sequence[Answer]) -> None: ...


def _nobody(answers: Sequence[Answer]) -> None:
    """Notify nobody."""


class GroupWriter:
    """Takes answers without waiting and commits them in groups, in one thread.

    A group is committed `every` so many seconds, or as soon as it has `rows` answers. An answer
    is *acknowledged* once its group is committed: `acknowledged` counts them, and `notify` is called
    with each group, in the writer's thread. The answers given to one `keep` (the turns of a
    session) are committed together or not at all.

    An error of the store is raised by the next `keep`, `flush` or `close`, and by all after it;
    what was acknowledged before is safe.
    """

    def __init__(
        self,
        store: GroupSink,
        *,
        every: float = 0.05,
        rows: int = 1_000,
        notify: Callable[[Sequence[Answer]], None] = _nobody,
    ) -> None:
        self.acknowledged = 0
        self._store, self._every, self._rows, self._notify = store, every, rows, notify
        self._waiting: list[Answer] = []
        self._taken = 0  # answers given to `keep` so far
        self._error: BaseException | None = None
        self._hurry = self._closing = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="trustgauge-writer", daemon=True)
        self._thread.start()

    def keep(self, *answers: Answer) -> None:
        """Take answers; they are committed soon. Costs a microsecond unless the disk lags behind."""
        with self._change:
            self._raise()
            if self._closing:
                raise RuntimeError("the writer is closed")
            before = len(self._waiting)
            self._waiting.extend(answers)
            self._taken += len(answers)
            if not before or before < self._rows <= len(self._waiting):
                self._change.notify_all()
            while len(self._waiting) > MOST_WAITING and self._error is None:
                self._change.wait()

    def flush(self) -> int:
        """Wait until all that was taken is committed. Returns the number acknowledged so far."""
        with self._change:
            taken = self._taken
            self._hurry = True
            self._change.notify_all()
            while self.acknowledged < taken and self._error is None:
                self._change.wait()
            self._raise()
            return self.acknowledged

    def close(self) -> None:
        """Commit what waits and end the thread. May be called twice."""
        with self._change:
            self._closing = True
            self._change.notify_all()
        self._thread.join()
        with self._change:
            self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _ready(self) -> bool:
        return self._hurry or self._closing or len(self._waiting) >= self._rows

    def _group(self) -> list[Answer] | None:
        """The next group, when it is due; None when closed and nothing waits."""
        with self._change:
            while not self._waiting:
                if self._closing:
                    return None
                self._hurry = False
                self._change.wait()
            self._change.wait_for(self._ready, self._every)
            group, self._waiting = self._waiting, []
            self._hurry = False
            return group

    def _work(self) -> None:
        while (group := self._group()) is not None:
            try:
                self._store.add(group)
                self._notify(group)
            except BaseException as error:  # whatever it is, the thread that asks must hear of it
                with self._change:
                    self._error = error
                    self._change.notify_all()
                return
            with self._change:
                self.acknowledged += len(group)
                self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> Literal[False]:
        try:
            self.close()
        except BaseException:
            if kind is None:  # else the error under way says more
                raise
        return False
