"""The files of a rating, every export under the name it has in the catalogue."""

from __future__ import annotations

import io
from datetime import date
from typing import TYPE_CHECKING, Any

from trustgauge import plugins
from trustgauge.apps.catalogue.method_words import WORDS
from trustgauge.reports import label

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.apps.catalogue.store import CatalogueRating

FILES: dict[str, tuple[str, str, str]] = WORDS["files"]
"""Export -> file, media type and what it is. An export of somebody else is a file of its own name."""
DATED = ("html", "label", "badge", "shields")
"""Exports that turn grey once a rating has expired."""
OF_LEVEL = ("badge", "shields")
OF_EVIDENCE = ("evidence-csv", "parquet")


def export_files(found: CatalogueRating, *, evidence: bool) -> list[str]:
    """The files that there are of a rating, the most wanted first."""
    without = {name for name in OF_EVIDENCE if not evidence}
    without |= set(OF_LEVEL) if label.badge(found.entry) is None else set()
    known = [*FILES, *sorted(set(plugins.names("exports")) - set(FILES))]
    return [_file(name) for name in known if name not in without and name in plugins.names("exports")]


def export_of(file: str) -> str | None:
    """The export that makes a file."""
    return next((name for name in plugins.names("exports") if _file(name) == file), None)


def media_type(name: str) -> str:
    """The media type of an export's file."""
    return FILES[name][1] if name in FILES else "application/octet-stream"


def export(name: str, found: CatalogueRating, rows: pl.DataFrame | None, today: date, address: str) -> bytes:
    """The bytes of an export.

    Args:
        name: of `trustgauge.exports`.
        found: the rating.
        rows: its evidence, as far as it was published.
        today: for what has expired.
        address: where the rating is reached, for the code on its label; "" if that is not known.

    Raises:
        MethodError: there is no such export of this rating.
    """
    if name == "label":
        return label.label(found.entry, address=address, today=today).encode()
    document = found.document if name == "json" else found.shown
    more: dict[str, Any] = {"today": today} if name in DATED else {}
    made: bytes = plugins.load("exports", name)(document, rows, **more)
    return made


def evidence_rows(data: bytes | None, service: str) -> pl.DataFrame | None:
    """The evidence of one service of a run; None if there is none."""
    if data is None:
        return None
    import polars as pl

    rows = pl.read_parquet(io.BytesIO(data))
    mine = rows.filter(pl.col("service") == service)
    return None if mine.is_empty() else mine


def _file(name: str) -> str:
    return FILES[name][0] if name in FILES else name
