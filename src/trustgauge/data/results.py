"""Results of evaluations as one table: which system got which value for which item, by which metric.

`trustgauge import` writes it from the files of other tools; `compare --paired` and `gate` read it. A folder
holds `results.jsonl`, a row a result, and `import.json`, which says where they came from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.data.tables import fault
from trustgauge.errors import PlanError
from trustgauge.records import Json

SCHEMA = "trustgauge.import/1"
RESULTS = "results.jsonl"
MANIFEST = "import.json"
AT = "::"
"""Between a folder and the system in it that is meant."""
COLUMNS = pl.Schema(
    {
        "system": pl.String(),
        "metric": pl.String(),
        "item": pl.String(),
        "cluster": pl.String(),
        "run": pl.String(),
        "value": pl.Float64(),
        "label": pl.String(),
    }
)
"""Columns of a table of results; a value that is null is missing."""


@dataclass(frozen=True, slots=True)
class EvalResult:
    """One value that an evaluation gave.

    Attributes:
        system: what was evaluated: a model, a provider, a prompt.
        metric: what the value measures.
        item: what was asked, the same name for every system.
        value: a score, or 1 and 0 for pass and fail; None if there is none.
        cluster: items that depend on each other share it; "" for a cluster of its own.
        run: number of the repetition.
        label: the item in words.
        better: whether larger values are better.
    """

    system: str
    metric: str
    item: str
    value: float | None
    cluster: str = ""
    run: str = ""
    label: str = ""
    better: bool = True

    def row(self) -> dict[str, Json]:
        """The result as a row of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS} | {"cluster": self.cluster or self.item}


@dataclass(frozen=True)
class ResultTable:
    """The results of one system.

    Attributes:
        name: of the folder, with the system if it holds several.
        rows: columns `COLUMNS`.
        metrics: facts of each metric: `better` ("higher" or "lower"), `low` and `high` of its scale or None.
        source: what `import.json` says of the source.
    """

    name: str
    system: str
    rows: pl.DataFrame
    metrics: Mapping[str, Mapping[str, Any]]
    source: Mapping[str, Any]


def is_results(name: str) -> bool:
    """Whether a name on the command line is a folder of imported results."""
    return (Path(name.partition(AT)[0]) / RESULTS).is_file()


def manifest(folder: Path) -> dict[str, Any]:
    """What `import.json` says.

    Raises:
        PlanError: it cannot be read.
    """
    path = folder / MANIFEST
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA or "systems" not in found:
        raise fault(path, "ID", "no imported results", must=f"what `trustgauge import` wrote ({SCHEMA})")
    return found


def read_results(name: str) -> ResultTable:
    """The results of one system, from a folder or `FOLDER::SYSTEM`.

    Raises:
        PlanError: there is no such folder or system, or it holds several and none is named.
    """
    where, at, system = name.partition(AT)
    folder = Path(where)
    known = manifest(folder)
    there = list(known["systems"])
    if not at and len(there) == 1:
        system = there[0]
    if system not in there:
        what = f"no system {system!r}" if at else f"{len(there)} systems, and none is named"
        must = " or ".join(f"{where}{AT}{one}" for one in there[:8])
        raise PlanError.of(name, what, must=must)
    try:
        rows = pl.scan_ndjson(folder / RESULTS, schema=COLUMNS).filter(pl.col("system") == system).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        got = (str(error).splitlines() or [""])[0][:200]
        raise fault(folder / RESULTS, "ID", "the results cannot be read", got=got) from None
    return ResultTable(name, system, rows, known["metrics"], known["source"])
