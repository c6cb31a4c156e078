"""From run folders into the catalogue: every `rating.json` of a folder of runs, with its evidence."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.catalogue import explaining_errors, index, read
from trustgauge.errors import TrustgaugeError
from trustgauge.reports.components import view_of, views_of
from trustgauge.reports.document import fingerprint
from trustgauge.reports.document_model import RatingEntry, RunDocument
from trustgauge.reports.html import MOST_QUOTATIONS
from trustgauge.run.verify import evidence_of_run

MOST_ROWS = 100_000
"""Rows of evidence that are kept of each service of a run, the first ones."""


class FolderReader:
    """Takes in what is new or has changed in a folder of runs since it last looked.

    Args:
        store: where it goes.
        ratings: the folder.
        announce: is given the number of new runs before they are read, which takes seconds for each.
        refuse: is given the name of each folder that is passed over until it changes, and why.
    """

    def __init__(
        self,
        store: CatalogueStore,
        ratings: Path,
        announce: Callable[[int], None] = lambda runs: None,
        refuse: Callable[[str, str], None] = lambda name, why: None,
    ) -> None:
        self.store, self.ratings, self.announce, self.refuse = store, ratings, announce, refuse
        self._seen: dict[str, tuple[int, int]] = {}

    def take_in(self) -> list[str]:
        """Returns the ids of ratings that are new or changed. Runs that cannot be read are passed over."""
        changed: list[str] = []
        unseen = [
            (name, run)
            for name, run in sorted(index(self.ratings).items(), key=lambda one: (one[1].started, one[0]))
            if self._seen.get(name) != (run.mtime, run.size)
        ]
        if new := sum(bool(run.started) and not self.store.run_hash(name) for name, run in unseen):
            self.announce(new)
        for name, run in unseen:
            try:
                changed += take_in_folder(self.store, self.ratings / name)
            except TrustgaugeError as error:
                self.refuse(name, str(error))
            self._seen[name] = (run.mtime, run.size)
        return changed


def take_in_folder(store: CatalogueStore, folder: Path) -> list[str]:
    """Take in one run folder. Returns the ids of ratings that are new or changed.

    Raises:
        StoreError: it holds no rating that can be read or shown.
    """
    document = read(folder)
    if not document["ratings"] or store.run_hash(document["run"]["id"]) == fingerprint(document):
        return []
    rows = _evidence(folder)
    with explaining_errors(folder):
        quotations = [quotations_of(rating, document, rows) for rating in document["ratings"]]
    actor = str(document["run"]["assessor"]["name"])
    evidence = _parquet(rows)
    return store.add(
        document, actor=actor, folder=str(folder.resolve()), evidence=evidence, quotations=quotations
    )


def _evidence(folder: Path) -> pl.DataFrame | None:
    """What was sent and received, where the answers lie beside the document."""
    try:
        return evidence_of_run(folder)
    except (TrustgaugeError, OSError):
        return None


def _parquet(rows: pl.DataFrame | None) -> bytes | None:
    if rows is None:
        return None
    buffer = io.BytesIO()
    rows.group_by("service", maintain_order=True).head(MOST_ROWS).write_parquet(buffer)
    return buffer.getvalue()


def quotations_of(
    rating: RatingEntry, document: RunDocument, rows: pl.DataFrame | None
) -> Sequence[dict[str, Any]]:
    """The exchanges of the first screen, as plain data."""
    if rows is None or rows.is_empty() or rating["state"] != "rated":
        return []
    for view in views_of(document["ratings"]):
        rows = view.prepare_evidence(document["ratings"], rows)
    mine = rows.filter(rows["service"] == rating["service"]["key"])
    return [
        {
            "sent": {"quote": one.sent.quote, "language": one.sent.language, "offensive": one.sent.offensive},
            "back": {"quote": one.back.quote, "language": one.back.language, "offensive": one.back.offensive},
            "why": one.why,
        }
        for one in islice(view_of(rating).quotations(rating, mine), MOST_QUOTATIONS)
    ]
