"""Files that hold the probes of a large plan: Parquet, in the columns that a store gives back."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trustgauge.errors import StoreError
from trustgauge.records import digest
from trustgauge.store.error_mapping import map_errors
from trustgauge.store.segments import Segment, write_parquet

COLUMNS = ("id", "message", "session", "turn", "draw", "block")
_TYPES = {name: pl.Int64 if name in ("turn", "draw") else pl.String for name in (*COLUMNS, "factors")}


def no_probes() -> pl.DataFrame:
    """No probes."""
    return pl.DataFrame(schema=_TYPES)


def write(folder: Path, experiment: str, frame: pl.DataFrame) -> Segment:
    """Write probes to a file that is named after the experiment and the ids in it.

    Raises StoreError or DiskFullError; then there is no such file.
    """
    factors = [name for name in frame.columns if name not in COLUMNS]
    as_json = pl.struct(factors).struct.json_encode() if factors else pl.lit("{}")
    rows = frame.select(*COLUMNS, as_json.alias("factors")).cast(_TYPES)  # type: ignore[arg-type]
    ends = rows["id"].head(1).to_list() + rows["id"].tail(1).to_list()
    name = f"{digest('probes', [experiment, rows.height, *ends])}.parquet"
    return Segment(name, rows.height, write_parquet(folder / name, rows))


def read(path: Path) -> pl.DataFrame:
    """The probes of a file. Raises StoreError if it is gone or damaged."""
    with map_errors(path):
        try:
            return pl.read_parquet(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise StoreError(
                f"{path} is damaged", got=str(error)[:200], do="restore the folder from a copy"
            ) from error
