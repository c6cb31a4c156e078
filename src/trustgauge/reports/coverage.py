"""What became of the questions: how many answers can be used, and whether any are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trustgauge.reports.document_model import CoverageEntry


def usable(cover: CoverageEntry) -> int:
    """How many answers of a coverage a rating can use (methods 0.4)."""
    return cover["answered"] + cover["refused"] + cover["empty"]


def unread(cover: CoverageEntry) -> int:
    """How many answers came and were not understood: neither used nor lost (methods 0.10 (3))."""
    return cover.get("unread", 0)  # ratings of earlier versions have no such count


def lossy(cover: CoverageEntry) -> bool:
    """Whether answers are missing; else what has no level has none for another reason."""
    return usable(cover) + unread(cover) < cover["planned"]
