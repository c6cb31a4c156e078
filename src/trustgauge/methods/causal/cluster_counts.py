"""How many clusters the answers of a part come from, and what too few of them leave open."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from trustgauge.methods.causal import observational
from trustgauge.methods.causal.measures import FEWEST_CLUSTERS, ROUNDING
from trustgauge.methods.causal.part_assessment import Assessment
from trustgauge.records import Json, Reason


def _clusters(assessment: Assessment) -> Iterator[tuple[str, int]]:
    """Strata in words and the number of their clusters; of adjusted differences also each layer."""
    chat = assessment.measured.data.startswith("conversation")
    yield from assessment.panel.clusters(
        assessment.grouping, "conversations" if chat else "clusters of texts"
    )
    if assessment.measured.measure == "adjusted":
        yield from observational.thin(assessment.panel, assessment.grouping)


def too_few(assessment: Assessment) -> Iterator[Reason]:
    """Strata with fewer than 10 clusters (methods 0.5 (b))."""
    for where, clusters in _clusters(assessment):
        if clusters < FEWEST_CLUSTERS:
            yield Reason("too-few-clusters", {"clusters": clusters, "where": where})


def cap(assessment: Assessment) -> float:
    """The most that can be certain without spread over K clusters: (K + 1) / (K + 2) (methods 0.5 (d))."""
    assert assessment.effects is not None
    if float(np.ptp(assessment.effects)) > ROUNDING:
        return 1.0
    _, fewest = _fewest(assessment)
    return (fewest + 1) / (fewest + 2)


def _fewest(assessment: Assessment) -> tuple[str, int]:
    """The kind of clusters of which there are fewest, those of all strata together, and how many."""
    chat = assessment.measured.data.startswith("conversation")
    kinds: dict[str, int] = {}
    for where, clusters in assessment.panel.clusters(
        assessment.grouping, "conversations" if chat else "clusters of texts"
    ):
        kind = where.partition(" (")[0]
        kinds[kind] = kinds.get(kind, 0) + clusters
    return min(kinds.items(), key=lambda one: one[1])


def clusters_to_settle(settle: float) -> int:
    """The clusters that settle a level without spread: the smallest K with (K + 1) / (K + 2) >= settle."""
    return math.ceil(round((2 * settle - 1) / (1 - settle), 9))


def too_few_without_spread(assessment: Assessment, settle: float) -> Iterator[Reason]:
    """That the clusters are too few to settle a level of scores that show no spread between them."""
    if cap(assessment) < settle:
        where, clusters = _fewest(assessment)
        facts: dict[str, Json] = {"where": where, "clusters": clusters, "needed": clusters_to_settle(settle)}
        yield Reason("causal.too-few-without-spread", facts)
