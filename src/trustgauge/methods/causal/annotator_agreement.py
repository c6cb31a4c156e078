"""Agreement of the people whose labels were rated (causal 2.3)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from trustgauge.methods.causal.measures import finite_or_none
from trustgauge.records import Json, Reason
from trustgauge.stats import agreement as measures

LABELS = ("labels_below", "labels_zero", "labels_above")
FEWEST = 2  # labels that an item needs for a score


def agreement_reasons(agreed: Mapping[str, Json] | None) -> tuple[Reason, ...]:
    """What a reader must know of scores that people gave; () for software."""
    if agreed is None:
        return ()
    people = Reason("causal.people", {"annotators": agreed["most"], "equal": agreed["equal"]})
    return (people, Reason("causal.ties-random", {"n": agreed["drawn"]})) if agreed["drawn"] else (people,)


def agreement(rows: pl.DataFrame) -> dict[str, Json] | None:
    """Agreement over the items that were labelled, None for a service that is no group of people.

    Args:
        rows: of the summary, of one service. A text that stands in several data sets is one item.

    Returns:
        `items`; `labels` in all; `most`, the most that an item has; `few`, items with fewer than two
        (somebody skipped them); `ties`, items on which no label is given most often; `drawn`, those
        of them that have a score all the same, which was drawn; and the measures of causal 2.3, None
        where undefined.
    """
    items = (
        rows.filter(pl.sum_horizontal(LABELS) > 0)
        .group_by("part", "frame", "person", "word")
        .agg(pl.col(*LABELS, "n").first())
        .sort("part", "frame", "person", "word")
    )
    if items.is_empty():
        return None
    counts = items.select(LABELS).to_numpy()
    given, top = counts.sum(axis=1), counts.max(axis=1, keepdims=True)
    tied = (given >= FEWEST) & ((counts == top).sum(axis=1) > 1)
    return {
        "items": items.height,
        "labels": int(given.sum()),
        "most": int(given.max()),
        "few": int((given < FEWEST).sum()),
        "ties": int(tied.sum()),
        "drawn": int((tied & (items["n"] > 0).to_numpy()).sum()),
        "equal": finite_or_none(measures.equal_share(counts)),
        "pairwise": finite_or_none(measures.pairwise_agreement(counts)),
        "fleiss_kappa": finite_or_none(measures.fleiss_kappa(counts)),
        "krippendorff_alpha": finite_or_none(measures.krippendorff_alpha(counts, (-1.0, 0.0, 1.0))),
    }
