"""Group commit: answers are taken at once and committed together, by one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, Self

from trustgauge.records import Answer

MOST_WAITING = 100_000
"""Answers that may wait for the disk; above it `keep` waits too, so that memory is bounded."""


class GroupSink(Protocol):
    """Where groups go: the one function of a store that the writer needs."""

    def add(self, answers: Sequence[Answer]) -> None: ...


def _nobody(answers: Sequence[Answer]) -> None:
    """Nobody wants to be told."""


class GroupWriter:
    """Takes answers without waiting and commits them in groups, in one thread.

    A group is committed `every` so many seconds, or as soon as it has `rows` answers. An answer
    is *acknowledged* once its group is committed: `acknowledged` counts them, and `told` is called
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
        told: Callable[[Sequence[Answer]], None] = _nobody,
    ) -> None:
        self.acknowledged = 0
        self._store, self._every, self._rows, self._told = store, every, rows, told
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
                self._told(group)
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
