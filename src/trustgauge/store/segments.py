"""Sealed answers: Parquet files that are written once, whole or not at all, and never changed.

A segment holds usable answers only, so no row of it ever gives way to another. Its rows are sorted by
their packed keys (`keys.packed`), so that an answer is found by bisection. Which segments count is not
listed by the folder but by the journal (`parquet.ParquetStore`): a file that it does not list is what a
kill left behind.

What `integrity` looks for in sealed files: changed bytes, keys that do not follow, answers twice.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.errors import IntegrityError, StoreError
from trustgauge.store import COLUMNS, Key, Packed, order_of, pack_keys, positions_in
from trustgauge.store.folder import map_errors, write_file
from trustgauge.store.sqlite import is_key_of


def changed_file(path: Path, file: Segment) -> list[str]:
    """The name of a file whose bytes are not those that were written."""
    with map_errors(path):
        return [] if hash_of(path) == file.hash else [file.name]


def wrong_keys(frame: pl.DataFrame) -> Iterator[Key]:
    """Keys that do not follow from the text, or from the script of their session."""
    for message, draw, text, script in frame.select("message", "draw", "text", "script").iter_rows():
        if not is_key_of(message, text, script):
            yield message, draw


def has_duplicate_keys(tables: Sequence[Packed]) -> list[str]:
    """Whether a key stands in two segments. Half of each key tells, but for chance; then all of it."""
    halves = [one[:, 0] for one in tables]
    words = np.sort(np.concatenate(halves)) if halves else np.empty(0, dtype=np.uint64)
    again = words[1:][words[1:] == words[:-1]]
    if not len(again):
        return []
    keys = np.concatenate([one[np.isin(half, again)] for one, half in zip(tables, halves, strict=True)])
    _, counts = np.unique(keys, axis=0, return_counts=True)
    return [f"{int((counts > 1).sum())} answers twice"] if (counts > 1).any() else []


SCHEMA = 1
"""Version of the columns of a segment. A later one adds a line to `FILLED` and raises this number."""

MOST_KEYS = 12_000_000
"""Keys of segments that are held in memory (192 MB); those of further ones are read again each time."""

GROUP = 25_000
"""Rows of a segment that are read together."""

_NUMBERS = {
    "draw": pl.Int64,
    "attempts": pl.Int64,
    "tokens": pl.Int64,
    "millis": pl.Float64,
    "usd": pl.Float64,
}
TYPES: dict[str, type[pl.DataType]] = {name: _NUMBERS.get(name, pl.String) for name in COLUMNS}
"""Columns of a segment in this version, beside `schema`."""

FILLED: dict[str, object] = {"script": "", "origin": ""}
"""Column -> what stands for it in segments that were written before there was one."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A sealed file: its name, how many rows it has, and the hash of its bytes."""

    name: str
    rows: int
    hash: str


def keys_of(frame: pl.DataFrame) -> Packed:
    """The packed keys of rows of any services, in their order."""
    keys = np.empty((frame.height, 2), dtype=np.uint64)
    places = frame.select("fingerprint", place=pl.int_range(pl.len()))
    for (fingerprint,), rows in places.group_by("fingerprint"):
        at = rows["place"].to_numpy()
        mine = frame[at]
        keys[at] = pack_keys(str(fingerprint), mine["message"].to_list(), mine["draw"].to_list())
    return keys


def write_segment(folder: Path, name: str, rows: pl.DataFrame) -> Segment:
    """Write rows (columns `TYPES`) as a segment: to a file aside, synced, then renamed.

    Raises StoreError or DiskFullError; then there is no such segment.
    """
    ordered = rows.select(list(TYPES))[order_of(keys_of(rows))]
    whole = ordered.with_columns(schema=pl.lit(SCHEMA, pl.Int16))
    return Segment(name, whole.height, write_parquet(folder / name, whole))


def write_parquet(path: Path, frame: pl.DataFrame) -> str:
    """Write a frame whole or not at all: to a file aside, synced, then renamed. Returns its hash.

    Raises StoreError or DiskFullError; then there is no such file.
    """
    buffer = io.BytesIO()  # Python's own writing tells a full disk apart
    frame.write_parquet(buffer, compression="zstd", compression_level=1, row_group_size=GROUP)
    data = buffer.getbuffer()
    write_file(path, data)
    return hashlib.blake2b(b"segment\0" + data, digest_size=16).hexdigest()


def hash_of(path: Path) -> str:
    """BLAKE2b of the bytes of a file, 32 hex digits."""
    tally = hashlib.blake2b(b"segment\0", digest_size=16)
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            tally.update(part)
    return tally.hexdigest()


def read_segment(
    path: Path, columns: Sequence[str] | None = None, first: int = 0, count: int | None = None
) -> pl.DataFrame:
    """The rows of a segment of any version so far; columns it lacks are filled in.

    Args:
        path: of the segment.
        columns: of `TYPES`; all if not said.
        first: row to begin with.
        count: of rows; all that are left if not said.

    Raises:
        StoreError: it is gone, no segment, or written by a newer version.
    """
    wanted = list(columns or TYPES)
    with map_errors(path):
        try:
            there = pl.read_parquet_schema(path)
            if "schema" not in there:
                must = "a file sealed by a store"
                raise IntegrityError(f"{path} is not a segment", must=must, do="restore it")
            lacking = [name for name in wanted if name not in there]
            read = [name for name in wanted if name in there]
            unlike = [name for name in ("schema", *read) if there[name] != TYPES.get(name, pl.Int16)]
            if unlike:
                raise _damaged(path, f"another type of {', '.join(unlike)}")
            frame = pl.scan_parquet(path).slice(first, count).select("schema", *read).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _damaged(path, str(error)[:200]) from error
    _check_schema(path, frame, lacking)
    fills = [pl.lit(FILLED[name], TYPES[name]).alias(name) for name in lacking]
    return frame.with_columns(fills).select(wanted)


def _check_schema(path: Path, frame: pl.DataFrame, lacking: Sequence[str]) -> None:
    newest = int(frame["schema"].max() or 0)  # type: ignore[arg-type]
    if newest > SCHEMA:
        raise StoreError(
            f"{path} was written by a newer trustgauge",
            must=f"schema version {SCHEMA} or older",
            got=f"schema version {newest}",
            do="update trustgauge",
        )
    unknown = [name for name in lacking if name not in FILLED]
    if unknown:
        raise _damaged(path, f"no column {', '.join(unknown)}")
    holes = [name for name in frame.columns if name != "output" and frame[name].null_count()]
    if holes:
        raise _damaged(path, f"no value in {', '.join(holes)}")


def _damaged(path: Path, got: str) -> IntegrityError:
    return IntegrityError(
        f"{path} is damaged",
        got=got,
        do="restore the folder from a copy, or move it away and run the plan again",
    )


class Segments:
    """The segments that count, and where in them a key stands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listed: list[Segment] = []
        self._tables: dict[str, Packed] = {}
        self._last = 0  # the segment that held what was sought last: neighbours are asked together

    def use(self, listed: Sequence[Segment]) -> None:
        """From now on these segments count, in this order."""
        if list(listed) != self.listed:
            self.listed = list(listed)
            names = {one.name for one in listed}
            self._tables = {name: one for name, one in self._tables.items() if name in names}

    def path(self, segment: Segment) -> Path:
        return self.folder / segment.name

    def read(self, segment: Segment, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows of a segment, sorted by packed key."""
        return read_segment(self.path(segment), columns)

    def locate(self, keys: Packed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where keys stand: index of the segment in `listed`, -1 for none, and row in it. [n], [n]."""
        which = np.full(len(keys), -1, dtype=np.int64)
        rows = np.full(len(keys), -1, dtype=np.int64)
        left = np.arange(len(keys))
        near = self._last
        for index in sorted(range(len(self.listed)), key=lambda one: (abs(one - near), -one)):
            if not len(left):
                break
            found = positions_in(self._table(self.listed[index]), keys[left])
            hit = found >= 0
            which[left[hit]], rows[left[hit]] = index, found[hit]
            if hit.any():
                self._last = index
            left = left[~hit]
        return which, rows

    def rows(self, keys: Packed, columns: Sequence[str]) -> list[pl.DataFrame]:
        """The rows with these keys, a frame from each segment that holds any."""
        which, rows = self.locate(keys)
        return [
            self._some(self.listed[index], columns, np.sort(rows[which == index]))
            for index in np.unique(which[which >= 0]).tolist()
        ]

    def _some(self, segment: Segment, columns: Sequence[str], rows: NDArray[np.int64]) -> pl.DataFrame:
        """Some rows of a segment; those of one service stand together, so others are hardly read."""
        first, count = int(rows[0]), int(rows[-1] - rows[0]) + 1
        return read_segment(self.path(segment), columns, first, count)[rows - first]

    def _table(self, segment: Segment) -> Packed:
        """The sorted keys of a segment, held in memory as long as there is room."""
        known = self._tables.get(segment.name)
        if known is not None:
            return known
        # Each column in one piece, so that searching it copies nothing.
        table = np.asfortranarray(keys_of(self.read(segment, ["fingerprint", "message", "draw"])))
        if sum(map(len, self._tables.values())) + len(table) <= MOST_KEYS:
            self._tables[segment.name] = table
        return table
