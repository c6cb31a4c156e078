"""The probes of a plan in the order they are sent, some at a time: millions never lie in memory as a whole.

The order is a seeded shuffle over blocks, groups and parts that keeps sessions whole (methods 0.3), so that
drift of a service is not mistaken for a difference between blocks. `segment` says in which tenth of the
order a probe stands: its planned place, not the clock, so a resumed run has the segments of an unbroken one.

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
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from trustgauge.errors import MethodError
from trustgauge.records import Task

BATCH_ROWS = 50_000
"""Probes of a slice."""

SEGMENTS = 10
"""Equal parts of a run in time, each a cluster of the design effect (methods 0.3)."""

RETEST_LAG = "retest_lag"
"""Column of probes: of one that is asked again, how far from the first time, as a share of the run."""

SECOND = 1_000_000
"""Added to the draw of a probe that is asked a second time, so that it is a draw of its own."""

AGAIN = " again"
"""Added to the id and the session of a probe that is asked a second time."""

_GOLDEN = (5**0.5 - 1) / 2
_BUCKETS = 64  # files to which the probes of several slices are dealt out to be shuffled
_DEAL = 4  # slices that are dealt out together

ExperimentTask = tuple[int, Task]
"""An experiment and a task of it: what a design is made for."""

Probes = Mapping[ExperimentTask, pl.DataFrame]


class ProbeBatches(Mapping[ExperimentTask, pl.DataFrame]):
    """The probes of every experiment and task.

    As a mapping it gives them whole, for plans that are known to be small.

    Args:
        rows: of a slice, at most, but for sessions that are longer.
        folder: where slices lie while they are in use; the temporary folder (TMPDIR) if not said.
    """

    def __init__(self, rows: int = BATCH_ROWS, folder: Path | None = None) -> None:
        self.rows, self._place = rows, folder
        self._kept: dict[ExperimentTask, list[pl.DataFrame | Path]] = {}
        self._folder: Path | None = None
        self._files = 0

    def add(
        self,
        place: ExperimentTask,
        frames: Iterable[pl.DataFrame],
        finish: Callable[[pl.DataFrame], pl.DataFrame],
        *,
        order: np.random.Generator | None = None,
        retest: float = 0.0,
        whole: bool = False,
    ) -> int:
        """Take the probes of a place. Returns how many there are.

        Args:
            place: an experiment and a task.
            frames: its probes, in order.
            finish: adds columns to each slice.
            order: draws the order they are sent in; None to keep that of `frames`.
            retest: share of them that is sent a second time, where an order is drawn.
            whole: however many there are, they are one slice.

        Raises MethodError if a session is not designed in one piece.
        """
        kept = self._kept.setdefault(place, [])
        total = 0
        before: pl.DataFrame | None = None
        pieces = cut(frames, sys.maxsize if whole else self.rows)
        for frame in pieces if order is None else self._shuffle(pieces, order, retest):
            total += frame.height
            if before is not None:
                kept.append(self._put(before))
            before = finish(frame)
        if before is not None:
            kept.append(self._put(before) if kept else before)
        return total

    def _shuffle(
        self, frames: Iterator[pl.DataFrame], order: np.random.Generator, retest: float
    ) -> Iterator[pl.DataFrame]:
        """The same probes sorted by a random number for each unit, in slices of equal size.

        The number belongs to the unit's place in the design, so the size of slices does not change the order.
        Of several slices the units are dealt out to files by their number, and sorted file by file.
        """
        first, second = next(frames, None), next(frames, None)
        if first is None:
            return
        if second is None:
            yield shuffle(first, order, retest)
            return
        places = _Places(order, retest)
        dealt: list[list[Path]] = [[] for _ in range(_BUCKETS)]
        total, waiting = 0, []
        for frame in chain([first, second], frames):
            waiting.append(places.keyed(frame))
            total += waiting[-1].height
            if len(waiting) == _DEAL:
                self._deal(waiting, dealt)
                waiting = []
        if waiting:
            self._deal(waiting, dealt)
        unit = pl.col("_unit")
        for frame in _cut(self._sorted(dealt, total), self.rows, unit != unit.shift(-1)):
            yield frame.drop("_unit")

    def _deal(self, frames: list[pl.DataFrame], dealt: list[list[Path]]) -> None:
        """Put units into the files of their buckets, which are equal ranges of the random numbers."""
        bucket = pl.col("_unit") // pl.lit(2**64 // _BUCKETS, pl.UInt64)
        parts = pl.concat(frames).with_columns(_bucket=bucket).partition_by("_bucket", as_dict=True)
        for (number,), part in parts.items():
            dealt[number].append(self._put(part.drop("_bucket")))

    def _sorted(self, dealt: list[list[Path]], total: int) -> Iterator[pl.DataFrame]:
        """The buckets one after the other, each sorted, with the segment of each probe."""
        before = 0
        for paths in dealt:
            if not paths:
                continue
            frame = pl.concat([pl.read_parquet(path) for path in paths]).sort("_unit", maintain_order=True)
            for path in paths:
                path.unlink()
            yield _segmented(frame, before, total)
            before += frame.height

    def _put(self, frame: pl.DataFrame) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="trustgauge-", dir=self._place))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._files += 1
        path = self._folder / f"{self._files:06d}.parquet"
        frame.write_parquet(path, compression="zstd", compression_level=1)
        return path

    def slices(self, place: ExperimentTask) -> Iterator[pl.DataFrame]:
        """The probes of a place, slice by slice."""
        for one in self._kept[place]:
            yield pl.read_parquet(one) if isinstance(one, Path) else one

    def count(self, place: ExperimentTask) -> int:
        """How many slices a place has."""
        return len(self._kept[place])

    def __getitem__(self, place: ExperimentTask) -> pl.DataFrame:
        frames = list(self.slices(place))
        return frames[0] if len(frames) == 1 else pl.concat(frames)

    def __iter__(self) -> Iterator[ExperimentTask]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def batches_of(probes: Probes, place: ExperimentTask) -> Iterator[pl.DataFrame]:
    """The probes of a place, slice by slice; those of an ordinary mapping are one."""
    if isinstance(probes, ProbeBatches):
        yield from probes.slices(place)
    else:
        yield probes[place]


def is_one_batch(probes: Probes, place: ExperimentTask) -> bool:
    """Whether a place has one slice only."""
    return not isinstance(probes, ProbeBatches) or probes.count(place) == 1


def count_blocks(probes: Probes, place: ExperimentTask) -> int:
    """How many different blocks a place has."""
    found: set[str] = set()
    for frame in batches_of(probes, place):
        found.update(frame["block"].unique())
    return len(found)


def shuffle(frame: pl.DataFrame, rng: np.random.Generator, retest: float = 0.0) -> pl.DataFrame:
    """Probes of one frame in the order they are sent, sessions whole, with their segments.

    A share `retest` of the units is there a second time, marked by `LAG`.
    """
    whole = _Places(rng, retest).keyed(frame).sort("_unit", maintain_order=True)
    return _segmented(whole, 0, whole.height).drop("_unit")


def with_segments(frame: pl.DataFrame) -> pl.DataFrame:
    """Probes that keep their order, as those of a log, with their segments."""
    return frame.with_columns(segment=_begins(frame) * SEGMENTS // max(1, frame.height))


def _begins(frame: pl.DataFrame) -> pl.Series:
    """The row in which the unit of each row begins: the turns of a draw of a session are one unit."""
    numbered = frame.select("session", "draw", row=pl.int_range(pl.len(), dtype=pl.Int64))
    first = pl.col("row").min().over("session", "draw")
    return numbered.select(pl.when(pl.col("session") == "").then("row").otherwise(first)).to_series()


class _Places:
    """Draws the place of each unit in the order, and which units are sent a second time, and at which place.

    Two numbers are drawn for each row, so they are the same in however many frames the rows come. A unit is
    sent again if the fractional part of its number times the golden ratio is below the share: so these are
    that share of all units and of those of each block almost exactly, whatever its rows repeat (Weyl 1916).
    """

    def __init__(self, rng: np.random.Generator, retest: float) -> None:
        self._rng, self._retest = rng, retest
        self._start, self._units = rng.random(), 0

    def keyed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The probes with their random number `_unit`, those that are sent a second time behind them."""
        begins = _begins(frame).to_numpy()
        drawn = self._rng.bit_generator.random_raw(2 * frame.height).reshape(-1, 2)[begins]
        units = self._units + np.cumsum(begins == np.arange(frame.height))[begins]
        self._units = units.max(initial=self._units)
        is_again = (self._start + units * _GOLDEN) % 1.0 < self._retest
        first = frame.with_columns(_unit=pl.Series(drawn[:, 0], dtype=pl.UInt64))
        if not self._retest:
            return first
        lag = np.abs(drawn[:, 0].astype(np.float64) - drawn[:, 1].astype(np.float64)) / 2.0**64
        session = pl.col("session")
        second = frame.with_columns(
            pl.col("id") + AGAIN,
            pl.when(session != "").then(session + AGAIN).otherwise(session),
            pl.col("draw") + SECOND,
            pl.Series("_unit", drawn[:, 1], dtype=pl.UInt64),
            pl.Series(RETEST_LAG, lag),
        ).filter(pl.Series(is_again))
        return pl.concat(
            [first.with_columns(pl.lit(None, pl.Float64).alias(RETEST_LAG)), second], how="diagonal"
        )


def _segmented(frame: pl.DataFrame, before: int, total: int) -> pl.DataFrame:
    """Sorted probes with `segment`; `before` of all `total` are sent before them."""
    placed = frame.with_columns(segment=pl.int_range(before, before + pl.len(), dtype=pl.Int64))
    return placed.with_columns(pl.col("segment").min().over("_unit") * SEGMENTS // total)


def cut(frames: Iterable[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Frames of other sizes with the same rows in the same order: `rows` each, sessions whole.

    Raises MethodError if the turns of a session do not stand together.
    """
    gone: set[str] = set()
    session = pl.col("session")
    for frame in _cut(frames, rows, (session != session.shift(-1)) | (session == "")):
        yield _checked(frame, gone)


def _cut(frames: Iterable[pl.DataFrame], rows: int, between: pl.Expr) -> Iterator[pl.DataFrame]:
    """As `cut`; `between` is true of rows that need not stay with the next one."""
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        waiting.append(frame)
        while sum(one.height for one in waiting) > rows:
            whole = pl.concat(waiting)
            end = _end(whole.select(between).to_series(), rows)
            if not end:
                waiting = [whole]
                break
            yield whole[:end]
            waiting = [whole[end:]]
    if waiting and (last := pl.concat(waiting)).height:
        yield last


def _end(between: pl.Series, rows: int) -> int:
    """Where to cut: not inside a unit; 0 if it may go on behind the end of the frame."""
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
