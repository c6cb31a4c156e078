"""The probes of a plan, some at a time: a plan of millions of texts never lies in memory as a whole.

Every stage after the design goes through the slices: asking, checking and summing up. Summaries add up
and keys of answers are found slice by slice, so it changes no rating how many slices there are. Turns of
one session are always in one slice. Probes of one slice stay in memory; more are kept in the temporary
folder (TMPDIR) as long as the plan is in use.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from trustgauge.errors import MethodError
from trustgauge.records import Task

SLICE = 50_000
"""Probes of a slice."""

Place = tuple[int, Task]
"""An experiment and a task of it: what a design is made for."""

Probes = Mapping[Place, pl.DataFrame]


class Slices(Mapping[Place, pl.DataFrame]):
    """The probes of every experiment and task.

    As a mapping it gives them whole, for plans that are known to be small.

    Args:
        rows: of a slice, at most, but for sessions that are longer.
        folder: where slices lie while they are in use; the temporary folder (TMPDIR) if not said.
    """

    def __init__(self, rows: int = SLICE, folder: Path | None = None) -> None:
        self.rows, self._place = rows, folder
        self._kept: dict[Place, list[pl.DataFrame | Path]] = {}
        self._folder: Path | None = None

    def add(
        self,
        place: Place,
        frames: Iterable[pl.DataFrame],
        finish: Callable[[pl.DataFrame], pl.DataFrame],
        *,
        whole: bool = False,
    ) -> int:
        """Take the probes of a place. Returns how many there are.

        Args:
            place: an experiment and a task.
            frames: its probes, in order.
            finish: adds columns to each slice.
            whole: however many there are, they are one slice.

        Raises MethodError if a session is not designed in one piece.
        """
        kept = self._kept.setdefault(place, [])
        total = 0
        before: pl.DataFrame | None = None
        for frame in cut(frames, sys.maxsize if whole else self.rows):
            total += frame.height
            if before is not None:
                kept.append(self._put(before))
            before = finish(frame)
        if before is not None:
            kept.append(self._put(before) if kept else before)
        return total

    def _put(self, frame: pl.DataFrame) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="trustgauge-", dir=self._place))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / f"{sum(map(len, self._kept.values())):06d}-{id(frame)}.parquet"
        frame.write_parquet(path, compression="zstd", compression_level=1)
        return path

    def slices(self, place: Place) -> Iterator[pl.DataFrame]:
        """The probes of a place, slice by slice."""
        for one in self._kept[place]:
            yield pl.read_parquet(one) if isinstance(one, Path) else one

    def count(self, place: Place) -> int:
        """How many slices a place has."""
        return len(self._kept[place])

    def __getitem__(self, place: Place) -> pl.DataFrame:
        frames = list(self.slices(place))
        return frames[0] if len(frames) == 1 else pl.concat(frames)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def slices_of(probes: Probes, place: Place) -> Iterator[pl.DataFrame]:
    """The probes of a place, slice by slice; those of an ordinary mapping are one."""
    if isinstance(probes, Slices):
        yield from probes.slices(place)
    else:
        yield probes[place]


def is_whole(probes: Probes, place: Place) -> bool:
    """Whether a place has one slice only."""
    return not isinstance(probes, Slices) or probes.count(place) == 1


def blocks(probes: Probes, place: Place) -> int:
    """How many different blocks a place has."""
    found: set[str] = set()
    for frame in slices_of(probes, place):
        found.update(frame["block"].unique())
    return len(found)


def cut(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Frames of other sizes with the same rows in the same order: `rows` each, sessions whole.

    Raises MethodError if the turns of a session do not stand together.
    """
    waiting: list[pl.DataFrame] = []
    gone: set[str] = set()
    for frame in frames:
        waiting.append(frame)
        while sum(one.height for one in waiting) > rows:
            whole = pl.concat(waiting)
            end = _end(whole, rows)
            if not end:
                waiting = [whole]
                break
            yield _checked(whole[:end], gone)
            waiting = [whole[end:]]
    if waiting and (last := pl.concat(waiting)).height:
        yield _checked(last, gone)


def _end(frame: pl.DataFrame, rows: int) -> int:
    """Where to cut: not inside a session; 0 if it may go on behind the end of the frame."""
    session = frame["session"]
    between = (session != session.shift(-1)) | (session == "")
    places = between[:-1].arg_true()
    before = places.filter(places < rows)
    if len(before):
        return int(before[-1]) + 1
    return int(places[0]) + 1 if len(places) else 0


def _checked(frame: pl.DataFrame, gone: set[str]) -> pl.DataFrame:
    """The frame, if none of its sessions was in an earlier one. `gone` is carried on."""
    names = set(frame["session"].unique()) - {""}
    if names & gone:
        raise MethodError(
            "a session is not designed in one piece",
            must="the turns of a session one after the other",
            got=f"session {min(names & gone)!r} in two places",
        )
    gone |= names
    return frame
