"""What `integrity` looks for in sealed files: changed bytes, keys that do not follow, answers twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from trustgauge.store.error_mapping import map_errors
from trustgauge.store.keys import Packed
from trustgauge.store.segments import Segment, hash_of
from trustgauge.store.sqlite import is_key_of
from trustgauge.store.store import Key


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
