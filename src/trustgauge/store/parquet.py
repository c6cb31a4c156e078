"""A store for millions of answers: a SQLite journal for what arrives, sealed into Parquet segments.

    store.parquet/
      journal.sqlite      answers that are not sealed yet, failed ones, documents, and the list of segments
      segments/           sealed answers (see `segments`)
      probes/             the texts of the plan

An answer is committed to the journal before it counts as acknowledged, as in `sqlite`. When the journal
holds enough usable answers they are written as a segment (written aside, synced, renamed), and one
transaction of the journal lists the segment and lets go of the answers. A kill at any moment leaves
either the journal's answers and perhaps a file that nobody lists, or the listed segment.

Files that hold the probes of a large plan: Parquet, in the columns that a store gives back.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.errors import IntegrityError, StoreError
from trustgauge.records import ANSWERED_AS, ESTIMATED, RESPONSE, Answer, Cost, canonical, digest
from trustgauge.store import BY_HAND, MOST_NAMES, Key, Packed, is_ascending, pack_keys
from trustgauge.store.folder import map_errors, private_folder
from trustgauge.store.sealing import SegmentJournal, create_store, sweep
from trustgauge.store.segments import (
    TYPES,
    Segment,
    Segments,
    changed_file,
    has_duplicate_keys,
    keys_of,
    write_parquet,
    write_segment,
    wrong_keys,
)

COLUMNS = ("id", "message", "session", "turn", "draw", "block")
_TYPES = {name: pl.Int64 if name in ("turn", "draw") else pl.String for name in (*COLUMNS, "factors")}


def write_probes(folder: Path, experiment: str, frame: pl.DataFrame) -> Segment:
    """Write probes to a file that is named after the experiment and the ids in it.

    Raises StoreError or DiskFullError; then there is no such file.
    """
    factors = [name for name in frame.columns if name not in COLUMNS]
    as_json = pl.struct(factors).struct.json_encode() if factors else pl.lit("{}")
    rows = frame.select(*COLUMNS, as_json.alias("factors")).cast(_TYPES)  # type: ignore[arg-type]
    ends = rows["id"].head(1).to_list() + rows["id"].tail(1).to_list()
    name = f"{digest('probes', [experiment, rows.height, *ends])}.parquet"
    return Segment(name, rows.height, write_parquet(folder / name, rows))


def read_probes(path: Path) -> pl.DataFrame:
    """The probes of a file. Raises StoreError if it is gone or damaged."""
    with map_errors(path):
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise IntegrityError(
                f"{path} is damaged", got=str(error)[:200], do="restore the folder from a copy"
            ) from error


SEAL = 250_000
"""Usable answers in the journal that are sealed together; a segment has at most so many rows."""

SMALL = 8
"""Neighbouring segments that are made one when they have at most `SEAL` rows together."""

JOURNAL, SEGMENTS, PROBES = "journal.sqlite", "segments", "probes"
_TRIES = 5  # a reader's segments may have been made one meanwhile
_ANSWERS = ("message", "draw", "text", *RESPONSE)
_BORROWED = 50_000  # keys that are copied at a time
_SORTED = 1_000_000  # rows that are sorted in one go for a hash
_Found = TypeVar("_Found")


class ParquetStore:
    """A `Store` of Parquet files in the folder at `path`, for large runs; made if it is absent.

    As with `SqliteStore` there is one writer, and any number of processes may read with `read_only`,
    also while it writes. May be used from several threads.

    Args:
        path: of the folder.
        read_only: nothing is made or changed.
        seal: usable answers that are sealed together.
        small: how many small segments in a row are made one.

    Raises:
        StoreError: the folder cannot be opened, is no store, is newer than this version or in use.
        DiskFullError: there is no room for it.
    """

    def __init__(self, path: Path, *, read_only: bool = False, seal: int = SEAL, small: int = SMALL) -> None:
        self.path = Path(path)
        self._seal_at, self._small = seal, small
        self._fresh = 0  # answers added since the journal was last counted
        self._segments = Segments(self.path / SEGMENTS)
        if not read_only:
            if not self.path.exists():
                create_store(self.path, JOURNAL, (SEGMENTS, PROBES))
            with map_errors(self.path):
                for folder in (SEGMENTS, PROBES):
                    private_folder(self.path / folder, exist_ok=True)
        elif not self.path.is_dir():
            raise StoreError(f"there is no store at {self.path}", do="name the folder of a run")
        self._journal = SegmentJournal(self.path / JOURNAL, read_only=read_only)
        try:
            if not read_only:
                sweep(self.path / SEGMENTS, self._journal.segments())
                sweep(self.path / PROBES, self._journal.probe_files())
                self._fresh = self._journal.good()
                self._segments.use(self._journal.segments())
        except BaseException:
            self.close()
            raise

    def _read(self, act: Callable[[], _Found]) -> _Found:
        """Do something with journal and segments as they are at one moment."""
        for tried in range(_TRIES):
            with self._journal.still():
                self._segments.use(self._journal.segments())
                try:
                    return act()
                except StoreError:
                    gone = any(not self._segments.path(one).exists() for one in self._segments.listed)
                    if not gone or tried == _TRIES - 1:
                        raise
        raise AssertionError("the last try returns or raises")

    # -- answers

    def add(self, answers: Sequence[Answer]) -> None:
        """As `Store.add`. Where there is no room to seal, the answers are in the journal all the same."""
        sealed = self._sealed([(one.fingerprint, (one.message, one.draw)) for one in answers])
        self._journal.add([one for one, known in zip(answers, sealed, strict=True) if not known])
        self._fresh += len(answers)
        if self._fresh >= self._seal_at:
            self._fresh = self._journal.good()
            if self._fresh >= self._seal_at:
                self.seal()

    def _sealed(self, keys: Sequence[tuple[str, Key]]) -> list[bool]:
        """Which keys stand in a segment."""
        if not self._segments.listed:
            return [False] * len(keys)
        found = np.zeros(len(keys), dtype=bool)
        for fingerprint in {one for one, _ in keys}:
            mine = [place for place, (one, _) in enumerate(keys) if one == fingerprint]
            found[mine] = self._located(fingerprint, [keys[place][1] for place in mine]) >= 0
        return [bool(one) for one in found]

    def _located(self, fingerprint: str, keys: Sequence[Key]) -> NDArray[np.int64]:
        return self._segments.locate(_packed(fingerprint, keys))[0]

    def seal(self) -> None:
        """Seal all usable answers of the journal, however few; then make small segments one."""
        rows = self._journal.unsealed_answers()
        if rows.height:
            number = self._next()
            for start in range(0, rows.height, self._seal_at):
                some = rows[start : start + self._seal_at]
                segment = write_segment(self._segments.folder, f"{number:06d}.parquet", some)
                self._journal.seal(segment, some)
                number += 1
            self._fresh = 0
            self._segments.use(self._journal.segments())
        self._make_one()

    def _next(self) -> int:
        """The number of a new segment: above those of all, also of those that were made one."""
        return 1 + max((int(one.name.split(".")[0]) for one in self._segments.listed), default=0)

    def _make_one(self) -> None:
        """Write small neighbouring segments as one: thousands of small files are slow to read."""
        listed = self._segments.listed
        for start in range(len(listed) - self._small + 1):
            some = listed[start : start + self._small]
            if sum(one.rows for one in some) > self._seal_at:
                continue
            whole = pl.concat([self._segments.read(one) for one in some])
            segment = write_segment(self._segments.folder, f"{self._next():06d}.parquet", whole)
            self._journal.replace(some, segment)
            self._segments.use(self._journal.segments())
            for one in some:
                self._segments.path(one).unlink(missing_ok=True)
            return

    def present(self, fingerprint: str) -> set[Key]:
        def found() -> set[Key]:
            keys = self._journal.present(fingerprint)
            for frame in self._sealed_rows(fingerprint, ("message", "draw")):
                keys.update(frame.iter_rows())
            return keys

        return self._read(found)

    def holds(self, fingerprint: str, keys: Sequence[Key]) -> list[bool]:
        def found() -> list[bool]:
            here = self._journal.holds(fingerprint, keys)
            sealed = self._located(fingerprint, keys) >= 0
            return [one or bool(other) for one, other in zip(here, sealed, strict=True)]

        return self._read(found)

    def by_hand(self, fingerprint: str) -> int:
        def found() -> int:
            rows = self._sealed_rows(fingerprint, ("detail",))
            sealed = sum(int(frame["detail"].str.starts_with(BY_HAND).sum()) for frame in rows)
            return self._journal.by_hand(fingerprint) + sealed

        return self._read(found)

    def answers(self, fingerprint: str) -> pl.DataFrame:
        def found() -> pl.DataFrame:
            sealed = list(self._sealed_rows(fingerprint, _ANSWERS))
            return pl.concat([self._journal.answers(fingerprint), *sealed]).sort("message", "draw")

        return self._read(found)

    def answers_to(self, fingerprint: str, keys: Sequence[Key]) -> pl.DataFrame:
        def found() -> pl.DataFrame:
            sealed = self._segments.rows(_packed(fingerprint, keys), _ANSWERS)
            return pl.concat([self._journal.answers_to(fingerprint, keys), *sealed])

        return self._read(found)

    def repeats(self, fingerprint: str) -> Iterator[pl.DataFrame]:
        yield from self._with_firsts(fingerprint, self._journal.repeats(fingerprint))
        seen: set[str] = set()
        while (rows := self._read(partial(self._unseen, seen))) is not None:
            mine = rows.filter(pl.col("fingerprint") == fingerprint)
            yield from self._with_firsts(fingerprint, [mine.select(_ANSWERS)])

    def _unseen(self, seen: set[str]) -> pl.DataFrame | None:
        """The rows of a segment that is not among those `seen`: others may have been made one meanwhile."""
        for segment in self._segments.listed:
            if segment.name not in seen:
                seen.add(segment.name)
                return self._segments.read(segment, ("fingerprint", *_ANSWERS))
        return None

    def _with_firsts(self, fingerprint: str, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The rows of further draws, with draw 0 of their messages from wherever it lies."""
        for frame in frames:
            further = frame.filter(pl.col("draw") > 0)
            if further.height:
                firsts = [(message, 0) for message in further["message"].unique()]
                yield pl.concat([further, self.answers_to(fingerprint, firsts)])

    def _sealed_rows(self, fingerprint: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Columns of all sealed rows of a service, segment by segment."""
        for segment in self._segments.listed:
            frame = self._segments.read(segment, tuple(dict.fromkeys(("fingerprint", *columns))))
            yield frame.filter(pl.col("fingerprint") == fingerprint).select(columns)

    def borrow(self, path: Path, fingerprint: str, wanted: Iterable[Key], origin: str) -> int:
        """As `Store.borrow`, from a store of either kind. Raises StoreError if it cannot be read."""
        other = ParquetStore(path, read_only=True) if path.is_dir() else None
        copied, keys = 0, iter(wanted)
        try:
            while some := list(islice(keys, _BORROWED)):
                left = [
                    key for key, known in zip(some, self.holds(fingerprint, some), strict=True) if not known
                ]
                if other is None:
                    copied += self._journal.borrow(path, fingerprint, left, origin)
                else:
                    copied += self._journal.take(other.usable(fingerprint, left), origin)
                if self._journal.good() >= self._seal_at:
                    self.seal()
        finally:
            if other is not None:
                other.close()
        self._fresh = self._journal.good()
        return copied

    def take(self, rows: Iterable[Sequence[object]], origin: str) -> int:
        """As `SqliteStore.take`."""
        given = list(rows)
        sealed = self._sealed([(str(row[0]), (str(row[1]), int(str(row[2])))) for row in given])
        kept = self._journal.take(
            (row for row, known in zip(given, sealed, strict=True) if not known), origin
        )
        self._fresh += kept
        return kept

    def usable(self, fingerprint: str, keys: Sequence[Key]) -> list[tuple[Any, ...]]:
        """Whole usable rows with these keys, in the order of `statements.COLUMNS`."""

        def found() -> list[tuple[Any, ...]]:
            sealed = self._segments.rows(_packed(fingerprint, keys), list(TYPES))
            return [*self._journal.usable(fingerprint, keys), *(row for one in sealed for row in one.rows())]

        return self._read(found)

    # -- sums

    def _all_rows(self, columns: Sequence[str], fingerprints: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Columns of all rows of some services: those of the journal, then segment by segment."""
        mine = pl.col("fingerprint").is_in(list(fingerprints))
        yield self._journal.every(fingerprints).select(columns)
        for segment in self._segments.listed:
            named = tuple(dict.fromkeys(("fingerprint", *columns)))
            yield self._segments.read(segment, named).filter(mine).select(columns)

    def answered_as(self, fingerprints: Iterable[str]) -> tuple[str, ...]:
        prints = list(fingerprints)
        good = (pl.col("status") != "failed") & pl.col("detail").str.starts_with(ANSWERED_AS)

        def found() -> tuple[str, ...]:
            names: set[str] = set()
            for frame in self._all_rows(("status", "detail"), prints):
                named = frame.filter(good)["detail"].str.slice(len(ANSWERED_AS)).str.strip_suffix(ESTIMATED)
                names |= set(named.unique().to_list())
            return tuple(sorted(names)[:MOST_NAMES])

        return self._read(found)

    def cost(self, fingerprints: Iterable[str]) -> Cost:
        columns = ("status", "millis", "attempts", "tokens", "usd", "origin", "detail")
        prints = list(fingerprints)

        def found() -> Cost:
            calls = tokens = estimated = 0
            usd: list[float] = []
            millis = []
            for frame in self._all_rows(columns, prints):
                own = frame.filter(pl.col("origin") == "")
                calls += int(own["attempts"].sum())
                tokens += int(own["tokens"].sum())
                estimated += int(own.filter(pl.col("detail").str.ends_with(ESTIMATED))["tokens"].sum())
                usd.append(math.fsum(own["usd"]))
                good = own.filter((pl.col("status") != "failed") & (pl.col("attempts") > 0))
                millis.append(good["millis"].to_numpy())
            times = np.concatenate(millis)
            middle = float(np.median(times)) if len(times) else None
            gone = self._journal.replaced_cost(prints)
            usd.append(gone.usd)
            sums = calls + gone.calls, math.fsum(usd), tokens + gone.tokens
            return Cost(*sums, latency_median_ms=middle, tokens_estimated=estimated)

        return self._read(found)

    def hash(self, fingerprints: Iterable[str]) -> str:
        prints = sorted(set(fingerprints))

        def found() -> str:
            tally = hashlib.blake2b(b"answers\0", digest_size=16)
            for fingerprint in prints:
                for frame in self._in_order(fingerprint):
                    for row in frame.iter_rows():
                        tally.update(canonical(row).encode() + b"\n")
            return tally.hexdigest()

        return self._read(found)

    def _in_order(self, fingerprint: str) -> Iterator[pl.DataFrame]:
        """The rows of a service sorted by key, as far as they fit, by the first letters of the key."""
        columns = ("fingerprint", "message", "draw", "status", "output", "trail")
        start = pl.col("message").str.slice(0, 1)
        counts: dict[str, int] = {}
        for frame in self._all_rows(("message",), [fingerprint]):
            for letter, rows in frame.group_by(start).len().iter_rows():
                counts[letter] = counts.get(letter, 0) + rows
        whole = sum(counts.values()) <= _SORTED
        for letters in [sorted(counts)] if whole else [[one] for one in sorted(counts)]:
            some = [one.filter(start.is_in(letters)) for one in self._all_rows(columns, [fingerprint])]
            yield pl.concat(some).sort("message", "draw")

    # -- documents and probes

    def put(self, name: str, text: str) -> str:
        return self._journal.put(name, text)

    def get(self, name: str) -> str | None:
        return self._journal.get(name)

    def add_probes(self, experiment: str, frame: pl.DataFrame) -> None:
        """As `Store.add_probes`: a file each time. The same rows again are written over their file."""
        file = write_probes(self.path / PROBES, experiment, frame)
        self._journal.list_probes(experiment, file)

    def probes(self, experiment: str) -> pl.DataFrame:
        frames = list(self.probe_slices(experiment))
        return pl.concat(frames) if frames else pl.DataFrame(schema=_TYPES)

    def probe_slices(self, experiment: str) -> Iterator[pl.DataFrame]:
        for file in self._journal.probe_files(experiment):
            yield read_probes(self.path / PROBES / file.name)

    # -- trust

    def integrity(self) -> None:
        self._journal.integrity()
        wrong: list[str] = []
        for file in self._journal.probe_files():
            wrong += changed_file(self.path / PROBES / file.name, file)

        def found() -> list[str]:
            seen = []
            for segment in self._segments.listed:
                wrong.extend(changed_file(self._segments.path(segment), segment))
                frame = self._segments.read(segment, ("fingerprint", "message", "draw", "text", "script"))
                keys = keys_of(frame)
                if frame.height != segment.rows or not is_ascending(keys):
                    wrong.append(f"{segment.name}: rows")
                wrong.extend(f"answer {message} draw {draw}" for message, draw in wrong_keys(frame))
                seen.append(keys)
            return [*wrong, *has_duplicate_keys(seen), *self._in_both()]

        content = self._read(found)
        if content:
            raise IntegrityError(
                f"{self.path} was changed after it was written",
                must="keys and hashes that follow from the content",
                got=f"{len(content)} that do not, first: {content[0]}",
                do="restore the folder from a copy",
            )

    def _in_both(self) -> list[str]:
        """Answers that are sealed and in the journal too."""
        rows = self._journal.unsealed_answers()
        which = self._segments.locate(keys_of(rows))[0]
        return [f"answer {message} twice" for message in rows["message"].filter(pl.Series(which >= 0))]

    def close(self) -> None:
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.close()
        return False


def _packed(fingerprint: str, keys: Sequence[Key]) -> Packed:
    return pack_keys(fingerprint, [message for message, _ in keys], [draw for _, draw in keys])
