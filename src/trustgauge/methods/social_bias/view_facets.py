"""What evidence about groups can be filtered by: attribute, group, category, kind of question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.methods.social_bias import group_names
from trustgauge.methods.social_bias.view_sentences import MESSAGES
from trustgauge.reports.facets import Facet, Value, values
from trustgauge.reports.names import name

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry

Facts = Mapping[str, Any]
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "attribute": ("attribute",),
    "group": ("group_a", "group_b"),
    "category": ("categories",),
    "question": ("kind",),
}
"""Facet -> the columns of the evidence that hold its values."""


def facets(ratings: Sequence[RatingEntry], frame: pl.DataFrame) -> tuple[Facet, ...]:
    """The facets by which these rows differ; none for evidence that is not about groups.

    Args:
        ratings: they name the groups, and say which names may offend.
        frame: the evidence.
    """
    if not all(column in frame.columns for columns in COLUMNS.values() for column in columns):
        return ()
    names = {key: one for rating in ratings for key, one in group_names.group_names(rating).items()}
    invented = {key for rating in ratings for key in group_names.invented_groups(rating)}
    found = []
    for key, columns in COLUMNS.items():
        keys = _distinct(frame, columns)
        titles = {one: _title(key, one, names, invented) for one in keys}
        if key == "group":
            keys.sort(key=lambda one: (one in invented, titles[one].casefold()))
        options = [
            Value(f"hidden-{place}" if key == "group" and _hidden(one, names) else one, titles[one])
            for place, one in enumerate(keys)
        ]
        if len(options) > 1:
            found.append(Facet(key, columns, options, {one: place for place, one in enumerate(keys)}))
    return tuple(found)


def _distinct(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The values of columns of texts or of lists of texts, in order of their first row."""
    seen: dict[str, None] = {}
    for column in columns:
        for value in frame[column].unique(maintain_order=True).to_list():
            seen |= dict.fromkeys(values(value))
    return list(seen)


def _hidden(key: str, names: Mapping[str, group_names.GroupName]) -> bool:
    return key in names and names[key].offensive


def _title(facet: str, key: str, names: Mapping[str, group_names.GroupName], invented: set[str]) -> str:
    """A value in words."""
    if facet == "question":
        return MESSAGES.table("questions").get(key, name(key))
    if facet == "group" and key in names:
        return names[key].drawn + (" (invented)" if key in invented else "")
    return name(key).replace("-", " ")
